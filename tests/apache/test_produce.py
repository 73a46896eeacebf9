"""Producing: acks, errors, old formats, idempotent producers, timestamps, codecs; the log afterwards is compared byte by byte."""

from __future__ import annotations

import struct
import time
from typing import Any

import pytest

from broker_core.protocol.api import ApiKey
from broker_core.records.batch import Codec, Record, build_batch
from tests.apache.comparison import Case, Pair, Script
from tests.apache.side import TIME_MS, Side, batch, records_of

DAY_MS = 24 * 60 * 60 * 1000


def into(name: str, *sent: bytes | None, version: int = 9, acks: int = -1, partition: int = 0, **configs: str) -> Case:
    """Sends one after the other into a topic of that case's own; then reads the whole log."""
    topic = "p-" + "".join(char if char.isalnum() else "-" for char in name)

    def script(side: Side) -> Any:
        side.create(topic, **configs)
        answers = [side.produce(topic, data, acks=acks, version=version, partition=partition) for data in sent]
        return answers, side.fetch(topic, version=11)

    return Case(name, script)


def damaged(data: bytes, position: int) -> bytes:
    changed = bytearray(data)
    changed[position] ^= 0x55
    return bytes(changed)


def patched(data: bytes, layout: str, position: int, value: int) -> bytes:
    changed = bytearray(data)
    struct.pack_into(layout, changed, position, value)
    return bytes(changed)


def idempotent(*values: str, sequence: int, epoch: int = 0, producer_id: int = 7) -> bytes:
    return batch(*values, producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence)


def with_key(key: bytes | None, value: bytes | None) -> bytes:
    return build_batch([Record(0, TIME_MS, key, value, ())])


def silent(topic: str, data: bytes) -> Script:
    """acks=0: nothing comes back; the next answer on the connection is the next request's."""

    def script(side: Side) -> Any:
        side.create(topic)
        connection = side.connect()
        rows = [{"name": topic, "partition_data": [{"index": 0, "records": data}]}]
        connection.send(ApiKey.PRODUCE, 9, {"transactional_id": None, "acks": 0, "timeout": 1000, "topic_data": rows})
        connection.send(ApiKey.METADATA, 9, {"topics": [{"name": topic}]})
        after = side.plain(connection.receive(ApiKey.METADATA, 9))
        return after if isinstance(after, str) else after["topics"][0]["name"], records_of(bytes.fromhex(_records(side, topic)))

    return script


def _records(side: Side, topic: str) -> str:
    answer = side.fetch(topic)
    found: str = answer["responses"][0]["partitions"][0]["records"] or ""
    return found


def timed(name: str, offset_ms: int, **configs: str) -> Case:
    """Records made so long from now; what is stored is compared without its times."""

    def script(side: Side) -> Any:
        topic = "p-" + name.replace(" ", "-")
        side.create(topic, **configs)
        answer = side.produce(topic, batch("a", "b", time_ms=int(time.time() * 1000) + offset_ms))
        fetched = records_of(bytes.fromhex(_records(side, topic)))
        same_time = len({stamp for _, stamp, _, _ in fetched}) == 1
        return answer, [(offset, value) for offset, _, _, value in fetched], same_time

    return Case(name, script)


def two_topics(side: Side) -> Any:
    side.create("p-two")
    rows = [{"name": name, "partition_data": [{"index": index, "records": batch("x")} for index in (0, 1)]} for name in ("p-two", "p-none")]
    return side.ask(ApiKey.PRODUCE, 9, {"transactional_id": None, "acks": -1, "timeout": 1000, "topic_data": rows})


TRANSACTIONAL = batch("a", producer_id=9, producer_epoch=0, base_sequence=0, transactional=True)
ONE, TWO = batch("one"), batch("two", "three")

CASES = [
    into("acks all", ONE, TWO),
    into("acks one", ONE, TWO, acks=1),
    into("acks two", ONE, acks=2),
    into("acks minus two", ONE, acks=-2),
    Case("acks none", silent("p-silent", ONE)),
    Case("acks none and corrupt", silent("p-silent-bad", damaged(ONE, 65))),
    *(into(f"version {v}", ONE, version=v) for v in (3, 5, 7, 8, 10, 11)),
    Case("unknown topic", lambda side: side.produce("p-unknown", ONE)),
    Case("unknown topic v11", lambda side: side.produce("p-unknown", ONE, version=11)),
    into("unknown partition", ONE, partition=5),
    into("negative partition", ONE, partition=-1),
    Case("known and unknown", two_topics),
    Case("invalid topic name", lambda side: side.produce("a b", ONE)),
    into("corrupt value", damaged(ONE, 65)),
    into("corrupt CRC", damaged(ONE, 17)),
    into("good then corrupt in one", ONE + damaged(TWO, 65)),
    into("cut short", ONE[:-3]),
    into("trailing bytes", ONE + b"\0\0\0"),
    into("length too small", patched(ONE, ">i", 8, 10)),
    into("two batches in one", ONE + TWO),
    into("two batches in one v2 format", ONE + TWO, version=3),
    into("no bytes", b""),
    into("no records in the batch", build_batch([])),
    into("wrong record count", patched(ONE, ">i", 57, 9)),
    into("magic 1 in a new request", patched(ONE, ">b", 16, 1)),
    into("magic 3", patched(ONE, ">b", 16, 3)),
    into("control batch", build_batch([Record(0, TIME_MS, b"\0\0\0\1", b"\0\0\0\0\0\0", ())], control=True)),
    into("base offset not zero", patched(ONE, ">q", 0, 77)),
    into("leader epoch of the producer's", patched(ONE, ">i", 12, 77)),
    into("larger than allowed", batch("v" * 2000), max_message_bytes="1000"),
    into("as large as allowed", batch("v" * 900), max_message_bytes="1000"),
    into("larger than a segment", batch("v" * 3000), segment_bytes="2000", max_message_bytes="100000"),
    into("no key in a compacted topic", with_key(None, b"v"), cleanup_policy="compact"),
    into("key in a compacted topic", with_key(b"k", b"v"), with_key(b"k", None), cleanup_policy="compact"),
    into("tombstone", with_key(b"k", None)),
    into("empty key and value", with_key(b"", b"")),
    into("null everything", with_key(None, None)),
    into("headers", build_batch([Record(0, TIME_MS, None, b"v", (("name", b"value"), ("null", None)))])),
    *(into(f"{codec.name.lower()}", batch(*["compress me"] * 20, compression=codec)) for codec in list(Codec)[1:]),
    into("zstd before it was known", batch("x" * 99, compression=Codec.ZSTD), version=6),
    into("codec that does not exist", patched(ONE, ">h", 21, 6)),
    into("topic of another codec", batch(*["compress me"] * 20), compression_type="uncompressed"),
    into("uncompressed topic takes gzip", batch(*["compress me"] * 20, compression=Codec.GZIP), compression_type="uncompressed"),
    into("sequences", idempotent("a", sequence=0), idempotent("b", "c", sequence=1), idempotent("d", sequence=3)),
    into("duplicate", idempotent("a", sequence=0), idempotent("a", sequence=0)),
    into("older duplicate", *(idempotent(str(n), sequence=n) for n in range(4)), idempotent("1", sequence=1)),
    into("duplicate too old to be known", *(idempotent(str(n), sequence=n) for n in range(7)), idempotent("0", sequence=0)),
    into("out of order", idempotent("a", sequence=0), idempotent("c", sequence=2)),
    into("first sequence not zero", idempotent("a", sequence=5)),
    into("overlapping sequences", idempotent("a", "b", sequence=0), idempotent("b", "c", sequence=1)),
    into("new epoch", idempotent("a", sequence=0), idempotent("b", sequence=0, epoch=1)),
    into("new epoch with a sequence not zero", idempotent("a", sequence=0), idempotent("b", sequence=1, epoch=1)),
    into("old epoch", idempotent("a", sequence=0, epoch=3), idempotent("b", sequence=1, epoch=2)),
    into("sequence wraps", idempotent("a", sequence=2**31 - 1), idempotent("b", sequence=0)),
    into("producer without a sequence", batch("a", producer_id=7, producer_epoch=0, base_sequence=-1)),
    into("producer without an epoch", batch("a", producer_id=7, producer_epoch=-1, base_sequence=0)),
    into("two idempotent batches in one", idempotent("a", sequence=0) + idempotent("b", sequence=1)),
    into("transactional without an id", TRANSACTIONAL),
    timed("CreateTime", 0),
    timed("LogAppendTime", -DAY_MS, message_timestamp_type="LogAppendTime"),
    timed("too old", -2 * DAY_MS, message_timestamp_before_max_ms=str(DAY_MS)),
    timed("too new", 2 * DAY_MS, message_timestamp_after_max_ms=str(DAY_MS)),
    timed("in the future", 2 * DAY_MS),
    timed("append time whatever the producer says", 2 * DAY_MS, message_timestamp_type="LogAppendTime", message_timestamp_after_max_ms="1"),
    into("no timestamp", build_batch([Record(0, -1, None, b"v", ())])),
    into("batch that says LogAppendTime", patched(ONE, ">h", 21, 8)),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_produce(pair: Pair, case: Case) -> None:
    pair.compare(case)
