"""What a leader refuses: a few hundred malformed batches get the same errors from both, and leave logs of the same length."""

from __future__ import annotations

import time
from typing import Any

import pytest

from broker_core.protocol.api import ApiKey
from tests.apache.comparison import Pair
from tests.apache.poison import Poison, poisons
from tests.apache.side import Side

SEED = 7
DAY_MS = 24 * 60 * 60 * 1000
TOPICS: dict[str, tuple[int, dict[str, str]]] = {
    "plain": (0, {}),
    "compacted": (0, {"cleanup_policy": "compact"}),
    "append-time": (0, {"message_timestamp_type": "LogAppendTime"}),
    "limited": (0, {"message_timestamp_before_max_ms": str(DAY_MS), "message_timestamp_after_max_ms": str(DAY_MS)}),
    "old": (-2 * DAY_MS, {"message_timestamp_before_max_ms": str(DAY_MS), "message_timestamp_after_max_ms": str(DAY_MS)}),
    "recompressed": (0, {"compression_type": "gzip"}),
}
"""By a topic's name how old its records are, and its settings."""


STRICTER = {
    "a record's length": "Kafka looks past a record's own length where the batch is compressed, and every client fails at it",
    "a bit of the records flipped": "as above, where the bit is one of the length's",
}
FAILS_INSIDE = {
    "length 2147483647": "Kafka fails with an internal error, adding to the largest number",
    "another base timestamp": "Kafka fails with an internal error where it has to compress records from before 1970 anew",
    "producer -2": "as above, with a sequence below zero that is no idempotent producer's",
}
"""Where a verdict may be another one, and why."""


def verdicts(side: Side, topic: str, configs: dict[str, str], sent: list[Poison]) -> list[tuple[str, int]]:
    """The error of each batch, and the log's end after it."""
    side.create(topic, **configs)
    found, end = [], 0
    for poison in sent:
        answer = side.produce(topic, poison.data)
        code = answer if isinstance(answer, str) else answer["responses"][0]["partition_responses"][0]["error_code"]
        now = log_end(side, topic)
        found.append((code, now - end))
        end = now
    return found


def log_end(side: Side, topic: str) -> int:
    row = {"partition_index": 0, "timestamp": -1, "current_leader_epoch": -1}
    answer: Any = side.raw(
        ApiKey.LIST_OFFSETS, 5, {"replica_id": -1, "isolation_level": 0, "topics": [{"name": topic, "partitions": [row]}]}
    )
    end: int = answer.topics[0].partitions[0].offset
    return end


@pytest.mark.parametrize("topic", TOPICS)
def test_poison(pair: Pair, topic: str) -> None:
    age_ms, configs = TOPICS[topic]
    sent = poisons(SEED, int(time.time() * 1000) + age_ms)
    kafka, ours = pair.both(lambda side: verdicts(side, f"poison-{topic}", configs, sent))
    rows = zip(sent, kafka, ours, strict=True)
    different = [f"{poison.name}: Kafka {theirs}, ours {mine}" for poison, theirs, mine in rows if not equal(poison, theirs, mine)]
    assert not different, "\n".join(different)
    assert {code for code, _ in ours} >= {"NONE", "CORRUPT_MESSAGE", "INVALID_RECORD", "UNKNOWN_SERVER_ERROR"}


def equal(poison: Poison, kafka: tuple[str, int], ours: tuple[str, int]) -> bool:
    codec, _, kind = poison.name.partition(": ")
    stricter = codec != "none" and kind in STRICTER and ours == ("INVALID_RECORD", 0)
    fails_inside = kind.startswith(tuple(FAILS_INSIDE)) and kafka == ("UNKNOWN_SERVER_ERROR", 0)
    return kafka == ours or stricter or fails_inside
