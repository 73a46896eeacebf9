"""Fetching, sessions, offsets by time and by epoch."""

from __future__ import annotations

import time
import uuid
from typing import Any

import pytest

from broker_core.protocol.api import ApiKey
from tests.apache.comparison import Case, Pair, Script
from tests.apache.side import TIME_MS, Side, batch

UNKNOWN_ID = uuid.UUID(int=7 << 64 | 7)


def filled(topic: str, then: Script, **configs: str) -> Script:
    """Ten batches of two records, a second apart, then what is compared."""

    def script(side: Side) -> Any:
        side.create(topic, **configs)
        for number in range(10):
            side.produce(topic, batch(f"{number}-a", f"{number}-b", time_ms=TIME_MS + 1000 * number))
        return then(side)

    return script


def fetched(name: str, offset: int = 0, **request: Any) -> Case:
    topic = "f-" + name.replace(" ", "-")
    return Case(name, filled(topic, lambda side: side.fetch(topic, offset, **request)))


def by_id(name: str, version: int = 13, unknown: bool = False, **request: Any) -> Case:
    topic = "f-" + name.replace(" ", "-")

    def then(side: Side) -> Any:
        topic_id = UNKNOWN_ID if unknown else side.topic_id(topic)
        row = {"partition": 0, "fetch_offset": 2, "partition_max_bytes": 100, "current_leader_epoch": -1, **request}
        return side.fetch(topic, version=version, topics=[{"topic_id": topic_id, "topic": topic, "partitions": [row]}])

    return Case(name, filled(topic, then))


def session(name: str, *rounds: dict[str, Any], produce_between: bool = False) -> Case:
    """One full fetch that opens a session, then these; "session" stands for its id."""
    topic = "f-" + name.replace(" ", "-")

    def then(side: Side) -> Any:
        row = {"partition": 0, "fetch_offset": 20, "partition_max_bytes": 1 << 20, "current_leader_epoch": -1}
        fields = {"replica_id": -1, "max_wait": 100, "min_bytes": 0, "max_bytes": 1 << 20, "isolation_level": 0, "rack_id": ""}
        full = {"session_id": 0, "session_epoch": 0, "topics": [{"topic": topic, "partitions": [row]}], "forgotten_topics_data": []}
        opened = side.raw(ApiKey.FETCH, 11, fields | full)
        answers = [side.plain(opened)]
        for number, fetch in enumerate(rounds):
            if produce_between:
                side.produce(topic, batch(f"more {number}"))
            again = fields | {"session_id": opened.session_id, "topics": [], "forgotten_topics_data": []} | fetch
            answers.append(side.ask(ApiKey.FETCH, 11, again))
        return answers

    return Case(name, filled(topic, then))


def offsets(name: str, *timestamps: int, version: int = 9, epoch: int = -1, isolation: int = 0, topic: str = "", **configs: str) -> Case:
    wanted = topic or "o-" + name.replace(" ", "-")

    def then(side: Side) -> Any:
        found = []
        for timestamp in timestamps:
            row = {"partition_index": 0, "timestamp": timestamp, "current_leader_epoch": epoch, "max_num_offsets": 10}
            asked = {"replica_id": -1, "isolation_level": isolation, "topics": [{"name": wanted, "partitions": [row]}], "timeout": 1000}
            found.append(side.ask(ApiKey.LIST_OFFSETS, version, asked))
        return found

    return Case(name, then if topic else filled(wanted, then, **configs))


def epoch_ends(name: str, *epochs: int, current: int = -1, version: int = 4, topic: str = "") -> Case:
    wanted = topic or "e-" + name.replace(" ", "-")

    def then(side: Side) -> Any:
        rows = [{"partition": 0, "current_leader_epoch": current, "leader_epoch": epoch} for epoch in epochs]
        asked = [{"replica_id": -1, "topics": [{"topic": wanted, "partitions": [row]}]} for row in rows]
        return [side.ask(ApiKey.OFFSET_FOR_LEADER_EPOCH, version, one) for one in asked]

    return Case(name, then if topic else filled(wanted, then))


def deletion(*offsets: int, topic: str) -> Script:
    def script(side: Side) -> Any:
        found = []
        for offset in offsets:
            rows = [{"name": topic, "partitions": [{"partition_index": 0, "offset": offset}]}]
            found.append(side.ask(ApiKey.DELETE_RECORDS, 2, {"topics": rows, "timeout": 10_000}))
        return found, side.fetch(topic, 0), side.fetch(topic, 6), offsets_of(side, topic)

    return script


def offsets_of(side: Side, topic: str) -> Any:
    rows = [{"partition_index": 0, "timestamp": timestamp, "current_leader_epoch": -1} for timestamp in (-2, -1)]
    return [
        side.ask(ApiKey.LIST_OFFSETS, 5, {"replica_id": -1, "isolation_level": 0, "topics": [{"name": topic, "partitions": [row]}]})
        for row in rows
    ]


def waits(side: Side) -> Any:
    """A fetch at the end is held until there is a record, and no longer."""
    side.create("f-waits")
    connection = side.connect()
    row = {"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1 << 20, "current_leader_epoch": -1}
    fields = {"replica_id": -1, "max_wait": 20_000, "min_bytes": 1, "max_bytes": 1 << 20, "isolation_level": 0, "rack_id": ""}
    session = {"session_id": 0, "session_epoch": -1, "topics": [{"topic": "f-waits", "partitions": [row]}], "forgotten_topics_data": []}
    connection.send(ApiKey.FETCH, 11, fields | session)
    side.produce("f-waits", batch("at last"))
    started = time.monotonic()
    found = side.plain(connection.receive(ApiKey.FETCH, 11))
    return found, time.monotonic() - started < 10


FETCH = [
    fetched("from the start"),
    fetched("from the middle of a batch", 3),
    fetched("at the end", 20),
    fetched("after the end", 21),
    fetched("far after the end", 2**40),
    fetched("negative", -1),
    fetched("one byte at most", 4, max_bytes=1),
    fetched("no byte at most", 4, max_bytes=0),
    fetched("response of one byte at most", 4, partition_partition_max_bytes=1000, max_bytes=1),
    fetched("half a batch at most", 0, max_bytes=200),
    *(fetched(f"fetch version {v}", 2, version=v, max_bytes=100) for v in (4, 5, 7, 9, 10, 11, 12)),
    fetched("right epoch", 18, partition_current_leader_epoch=0),
    fetched("newer epoch", 18, partition_current_leader_epoch=1),
    fetched("last fetched epoch", 18, version=12, partition_current_leader_epoch=0, partition_last_fetched_epoch=0),
    fetched("last fetched epoch beyond", 18, version=12, partition_current_leader_epoch=0, partition_last_fetched_epoch=3),
    fetched("last fetched at a later offset", 25, version=12, partition_current_leader_epoch=0, partition_last_fetched_epoch=0),
    fetched("committed only", 18, isolation_level=1),
    fetched("more than there is", 18, min_bytes=1 << 20, max_wait=200),
    fetched("as a replica that is none", 18, replica_id=7),
    fetched("as the debugging consumer", 18, replica_id=-2),
    fetched("with a rack", 18, rack_id="r"),
    fetched("unknown partition of a topic", 0, partition_partition=9),
    fetched("log start of a follower", 18, partition_log_start_offset=5),
    Case("fetch unknown topic", lambda side: side.fetch("f-unknown")),
    Case("fetch unknown topic v12", lambda side: side.fetch("f-unknown", version=12)),
    Case(
        "nothing to fetch",
        lambda side: side.ask(
            ApiKey.FETCH,
            11,
            {
                "replica_id": -1,
                "max_wait": 0,
                "min_bytes": 0,
                "max_bytes": 10,
                "isolation_level": 0,
                "session_id": 0,
                "session_epoch": -1,
                "topics": [],
                "forgotten_topics_data": [],
                "rack_id": "",
            },
        ),
    ),
    by_id("by topic id"),
    *(by_id(f"by id version {v}", v) for v in (14, 15, 16, 17)),
    by_id("by unknown id", unknown=True),
    by_id("by id with a newer epoch", 16, current_leader_epoch=5),
    by_id("by id an unknown partition", partition=4),
    session("session with nothing new", {"session_epoch": 1}, {"session_epoch": 2}),
    session("session with news", {"session_epoch": 1}, {"session_epoch": 2}, produce_between=True),
    session("session epoch skipped", {"session_epoch": 5}),
    session("session epoch repeated", {"session_epoch": 1}, {"session_epoch": 1}),
    session("session closed", {"session_epoch": -1}, {"session_epoch": 1}),
    session("session unknown", {"session_id": 12345678, "session_epoch": 1}),
    session(
        "session begun anew",
        {
            "session_epoch": 0,
            "topics": [
                {
                    "topic": "f-session-begun-anew",
                    "partitions": [{"partition": 0, "fetch_offset": 18, "partition_max_bytes": 1000, "current_leader_epoch": -1}],
                }
            ],
        },
    ),
    session(
        "session forgets",
        {"session_epoch": 1, "forgotten_topics_data": [{"topic": "f-session-forgets", "partitions": [0]}]},
        {"session_epoch": 2},
        produce_between=True,
    ),
    session(
        "session gains an unknown topic",
        {
            "session_epoch": 1,
            "topics": [
                {
                    "topic": "f-none",
                    "partitions": [{"partition": 0, "fetch_offset": 0, "partition_max_bytes": 100, "current_leader_epoch": -1}],
                }
            ],
        },
        {"session_epoch": 2},
    ),
    session(
        "session moves its offset",
        {
            "session_epoch": 1,
            "topics": [
                {
                    "topic": "f-session-moves-its-offset",
                    "partitions": [{"partition": 0, "fetch_offset": 18, "partition_max_bytes": 1000, "current_leader_epoch": -1}],
                }
            ],
        },
        {"session_epoch": 2},
    ),
    Case("fetch waits for a record", waits),
]

OFFSETS = [
    offsets("ends", -1, -2),
    *(offsets(f"ends version {v}", -1, -2, version=v) for v in (1, 2, 3, 4, 5, 6, 7, 8)),
    offsets("ends version 0", -1, -2, TIME_MS, TIME_MS + 4000, version=0),
    offsets("latest with its timestamp", -3),
    offsets("latest with its timestamp in version 6", -3, version=6),
    offsets("latest tiered and earliest local", -4, -5, version=9),
    offsets("unknown special times", -6, -7),
    offsets("by time", TIME_MS - 1, TIME_MS, TIME_MS + 1, TIME_MS + 2, TIME_MS + 8500, TIME_MS + 9001, TIME_MS + 9002),
    offsets("time zero", 0),
    offsets("offsets committed only", -1, -2, TIME_MS, isolation=1),
    offsets("with the right epoch", -1, epoch=0),
    offsets("with a newer epoch", -1, TIME_MS, epoch=3),
    offsets("of an unknown topic", -1, topic="o-unknown"),
    offsets("of an unknown topic version 0", -1, topic="o-unknown", version=0),
    offsets("in many segments", -1, -2, -3, TIME_MS + 4000, segment_bytes="200"),
    offsets("in many segments version 0", -1, -2, TIME_MS + 4000, segment_bytes="200", version=0),
    Case(
        "the same partition twice",
        filled(
            "o-twice",
            lambda side: side.ask(
                ApiKey.LIST_OFFSETS,
                5,
                {
                    "replica_id": -1,
                    "isolation_level": 0,
                    "topics": [
                        {
                            "name": "o-twice",
                            "partitions": [{"partition_index": 0, "timestamp": stamp, "current_leader_epoch": -1} for stamp in (-1, -2)],
                        }
                    ],
                },
            ),
        ),
    ),
    Case("ends of an empty log", lambda side: (side.create("o-empty"), offsets("", -1, -2, -3, TIME_MS, topic="o-empty").script(side))),
]

EPOCHS = [
    epoch_ends("epochs", 0, 1, 5, -1),
    *(epoch_ends(f"epochs version {v}", 0, 1, version=v) for v in (2, 3)),
    epoch_ends("epochs with the right current", 0, 1, current=0),
    epoch_ends("epochs with a newer current", 0, current=2),
    epoch_ends("epochs of an unknown topic", 0, topic="e-unknown"),
]

DELETE_RECORDS = [
    Case("delete records", filled("x-some", deletion(5, topic="x-some"))),
    Case("delete all records", filled("x-all", deletion(-1, topic="x-all"))),
    Case("delete records twice", filled("x-twice", deletion(7, 3, topic="x-twice"))),
    Case("delete records after the end", filled("x-after", deletion(21, topic="x-after"))),
    Case("delete records at a negative offset", filled("x-negative", deletion(-7, topic="x-negative"))),
    Case("delete records of an unknown topic", deletion(1, topic="x-unknown")),
    Case("delete records of a compacted topic", filled("x-compact", deletion(5, topic="x-compact"), cleanup_policy="compact")),
]


@pytest.mark.parametrize("case", [*FETCH, *OFFSETS, *EPOCHS, *DELETE_RECORDS], ids=lambda case: case.name)
def test_fetch(pair: Pair, case: Case) -> None:
    pair.compare(case)
