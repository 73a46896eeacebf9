"""A follower may fetch before the leader knows the topic id: its session must hear of appends once it does (KIP-227, KIP-516)."""

from __future__ import annotations

import itertools
from uuid import UUID

from broker_core.errors import ErrorCode
from broker_core.protocol.hot_fetch import FetchPartitionResult
from broker_core.replication.serving.fetch_session import Answer, FetchSession, SessionWatch, WantedPartition
from broker_core.replication.serving.fetch_session_cache import FetchSessionCache

TOPIC_ID = UUID(int=7)


def test_a_topic_id_that_gets_its_name_later_is_watched_from_then_on() -> None:
    names: dict[UUID, str] = {}
    watched: list[str] = []

    def gained(session: FetchSession, wanted: WantedPartition) -> bool:
        if wanted.topic_id in names:
            watched.append(names[wanted.topic_id])
        return wanted.topic_id in names

    ids = itertools.count(1)
    cache = FetchSessionCache(lambda: 10, lambda: next(ids), SessionWatch(gained, lambda session, wanted: None))
    wanted = WantedPartition(None, TOPIC_ID, 0, 0, 1_000)

    def ask(session_id: int, epoch: int, partitions: list[WantedPartition]):
        return cache.context(15, session_id, epoch, partitions=partitions, forgotten=[], now_ms=0, from_follower=True)

    refused = FetchPartitionResult(0, ErrorCode.UNKNOWN_TOPIC_ID, -1, -1, -1, None, -1, None, [], 0, None)
    reply = ask(0, 0, [wanted]).answer([Answer(wanted, refused, settled=False)])
    assert watched == []
    names[TOPIC_ID] = "t"
    ask(reply.session_id, 1, [])
    assert watched == ["t"]
    ask(reply.session_id, 2, [])
    assert watched == ["t"]
