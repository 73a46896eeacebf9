"""Clients from before record batches: message sets of magic 0 and 1 are taken and given as Kafka does."""

from __future__ import annotations

import time
from typing import Any

import pytest

from broker_core.records.batch import Codec, Record, iter_headers, read_records
from broker_core.records.legacy import build_message_set
from tests.apache.comparison import Case, Pair
from tests.apache.side import AN_HOUR_MS, TIME_MS, Side, batch

pytestmark = pytest.mark.spec("S3")

OLD_FETCHES = (0, 1, 2, 3)


def messages(magic: int, codec: int = Codec.NONE, *values: bytes | None) -> bytes:
    """A message set with offsets from 0, each record with a key."""
    records = [Record(offset, TIME_MS + offset, b"k%d" % offset, value, ()) for offset, value in enumerate(values or (b"a", b"", None))]
    return build_message_set(records, magic, codec, 0)


def read(side: Side, topic: str, version: int, offset: int = 0) -> Any:
    """What was fetched, its records decoded: two compressors need not make the same bytes of them."""
    answer = side.fetch(topic, offset, version=version)
    (partition,) = answer["responses"][0]["partitions"]
    data = bytes.fromhex(partition.pop("records") or "")
    found = [
        (header.magic, header.compression, header.timestamp_type, record.offset, recent(record.timestamp_ms), record.key, record.value)
        for position, header in iter_headers(data)
        for record in read_records(data, position, header)
    ]
    return answer, found


def recent(time_ms: int) -> Any:
    return "now" if abs(time_ms - time.time() * 1000) < AN_HOUR_MS else time_ms


def old(name: str, *sent: bytes, version: int = 2, **configs: str) -> Case:
    """What an old producer sent, read by new consumers and by old ones."""
    topic = "l-" + "".join(char if char.isalnum() else "-" for char in name)

    def script(side: Side) -> Any:
        side.create(topic, **configs)
        answers = [side.produce(topic, data, version=version) for data in sent]
        return answers, read(side, topic, 11), [read(side, topic, each) for each in OLD_FETCHES]

    return Case(name, script)


def down(name: str, *sent: bytes, offset: int = 0, **configs: str) -> Case:
    """What a new producer sent, read by old consumers."""
    topic = "l-" + "".join(char if char.isalnum() else "-" for char in name)

    def script(side: Side) -> Any:
        side.create(topic, **configs)
        for data in sent:
            side.produce(topic, data)
        return [read(side, topic, version, offset) for version in OLD_FETCHES]

    return Case(name, script)


CASES = [
    *(old(f"magic {magic} by version {version}", messages(magic), version=version) for magic in (0, 1) for version in (0, 1, 2)),
    *(old(f"magic 1 {codec.name}", messages(1, codec)) for codec in (Codec.GZIP, Codec.SNAPPY, Codec.LZ4)),
    old("magic 0 GZIP", messages(0, Codec.GZIP), version=1),
    old("two message sets", messages(1), messages(1), version=1),
    old("batch by version 2", batch("new")),
    old("magic 1 by version 3", messages(1), version=3),
    old("corrupt message", messages(1)[:-1] + b"\xff"),
    old("message set cut short", messages(1)[:-1]),
    old("log append time", messages(1), message_timestamp_type="LogAppendTime"),
    down("plain batches", batch("a", "b"), batch("c")),
    down("from the middle", batch("a", "b", "c"), batch("d"), offset=1),
    *(down(f"batch {codec.name}", batch("a", "b", compression=codec)) for codec in (Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD)),
    down("down conversion switched off", batch("a"), message_downconversion_enable="false"),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_old_clients(pair: Pair, case: Case) -> None:
    pair.compare(case)
