"""A topic that was deleted and made anew has another id: a fetch session may name both for a while (KIP-227, KIP-516)."""

from __future__ import annotations

import itertools
from uuid import UUID

from broker_core.errors import ErrorCode
from broker_core.model import TopicPartition
from broker_core.protocol.hot_fetch import FetchPartitionResult
from broker_core.replication.delayed_operations import DelayedOperations
from broker_core.replication.serving.fetch_session import Answer, FetchSession, SessionWatch, WantedPartition
from broker_core.replication.serving.fetch_session_cache import FetchSessionCache
from tests.support.log_world import ManualClock

TP = TopicPartition("t", 0)


def test_each_id_is_watched_and_given_up_for_itself() -> None:
    delayed = DelayedOperations(ManualClock(), fetch_purge_interval=1, produce_purge_interval=1, deletion_purge_interval=1)
    ids = itertools.count(1)

    def gained(session: FetchSession, wanted: WantedPartition) -> bool:
        return delayed.gained(session, "t", wanted)

    cache = FetchSessionCache(lambda: 10, lambda: next(ids), SessionWatch(gained, delayed.lost))
    old, new = (WantedPartition("t", UUID(int=number), 0, 0, 1_000) for number in (7, 8))

    def ask(session_id: int, epoch: int, *wanted: WantedPartition, forgotten: tuple[WantedPartition, ...] = ()) -> int:
        keys = [each.key for each in forgotten]
        context = cache.context(13, session_id, epoch, partitions=list(wanted), forgotten=keys, now_ms=0, from_follower=False)
        answers = [Answer(each, FetchPartitionResult(0, ErrorCode.NONE, 0, 0, 0), settled=True) for each in context.wanted()]
        return context.answer(answers).session_id

    session_id = ask(0, 0, old)
    ask(session_id, 1, new)
    ask(session_id, 2, forgotten=(old,))
    assert delayed.sessions_of(TP) == [session_id]
    session = cache.get(session_id)
    assert session is not None and session.wanted() == []
    delayed.role_changed(TP)
    assert session.wanted() == [new]
    cache.close(session_id)
    assert delayed.sessions_of(TP) == []
