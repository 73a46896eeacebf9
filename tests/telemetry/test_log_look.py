"""A look at a replica's log: the lookup that is told is the one that is made, and what is told is bounded."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest

from broker_core.contract.log_look import LogLook, Look, Trace
from broker_core.errors import ErrorCode, KafkaError, ProtocolViolation
from broker_core.outside.log_look import look
from broker_core.records.batch import Record, build_batch
from broker_core.records.budget import Budget
from broker_core.records.steps import finish
from broker_core.seams import Node
from broker_core.storage.log import AppendOrigin, PartitionLog
from broker_core.telemetry.log_look import EPOCHS_MAX, PRODUCERS_MAX, SEGMENTS_MAX, checkpoints, producer_rows, segment_rows, trace
from broker_core.telemetry.log_looks import LOG_LOOK_KEY, LOG_LOOK_VERSION, LOOKS_AT_ONCE, LogLooks, parse_answer, parse_look
from tests.support.broker_cluster import PORT, BrokerCluster
from tests.support.log_world import START_MS, World
from tests.support.logs import STEP_MS, append, four_segments


def traced(log: PartitionLog, **asked: int) -> Trace:
    found = finish(trace(log, Look(topic="events", partition=0, **asked), Budget()))
    assert found is not None
    return found


@pytest.mark.spec("S2")
async def test_the_way_to_every_offset_ends_where_a_read_begins() -> None:
    log = await four_segments()
    for offset in range(log.log_end_offset):
        told = traced(log, offset=offset)
        (step,) = told.steps
        log.reader.forget()
        read = log.read(offset, 100, log.log_end_offset, min_one_batch=True)
        assert read.records is not None and step.batch is not None
        assert (told.outcome, step.batch.position, step.batch.base_offset) == ("found", read.records.position, read.first_offset)
        assert step.segment == log.segments[log.segments.floor_index(offset)].base_offset
        assert step.position + step.bytes_passed == step.batch.position
        assert step.position == (step.entry.position if step.entry else 0)
        assert step.entry is None or step.entry.offset <= offset
        if step.entry is not None:
            later = [entry for entry in step.entries if entry.number == step.entry.number + 1]
            assert all(entry.offset > offset for entry in later), "the entry is the last one that may be used"


@pytest.mark.spec("S2")
async def test_the_way_to_a_time_is_that_of_a_search_by_time() -> None:
    log = await four_segments()
    for offset in range(log.log_end_offset):
        told = traced(log, at_ms=START_MS + offset * STEP_MS)
        step = told.steps[-1]
        assert (told.outcome, told.record_offset, told.record_at_ms) == ("found", offset, START_MS + offset * STEP_MS)
        assert told.segments_passed == log.segments.floor_index(offset)
        assert step.batch is not None and step.batch.base_offset <= offset <= step.batch.last_offset
        assert step.position + step.bytes_passed == step.batch.position
        assert step.time_entry is None or (step.time_entry.at_ms < START_MS + offset * STEP_MS and step.wanted == step.time_entry.offset)
    assert traced(log, at_ms=START_MS + 10**9).outcome == "nothing"
    assert any(traced(log, at_ms=START_MS + offset * STEP_MS).steps[-1].time_entry for offset in range(log.log_end_offset))


async def test_what_no_segment_has_is_told_as_that() -> None:
    log = await four_segments()
    assert traced(log, offset=log.log_end_offset).outcome == "at_end"
    assert traced(log, offset=log.log_end_offset + 1).outcome == "out_of_range"
    log.advance_log_start(70)
    assert [traced(log, offset=offset).outcome for offset in (69, 70)] == ["out_of_range", "found"]


async def test_segments_are_told_in_pages() -> None:
    log = await World().open()
    for _ in range(SEGMENTS_MAX + 3):
        append(log, 1)
        log.roll(START_MS)
    first, older = finish(segment_rows(log, None))
    second, end = finish(segment_rows(log, older))
    assert (len(first), len(second), end) == (SEGMENTS_MAX, 4, None)
    assert [row.base_offset for row in (*first, *second)] == log.segments.bases[::-1]
    assert [row.active for row in (*first, *second)] == [True] + [False] * (SEGMENTS_MAX + 3)
    assert (first[1].end_offset, first[1].size_bytes) == (first[0].base_offset, log.segments[-2].size_bytes)
    assert finish(segment_rows(log, 0)) == ((), None)


async def test_producers_are_told_up_to_a_limit_and_those_in_a_transaction_first() -> None:
    log = await World().open()
    for number in range(PRODUCERS_MAX + 5):
        append(log, 1, records=1, producer=(number, 2))
    rows = finish(producer_rows(log))
    assert [row.producer_id for row in rows] == list(range(PRODUCERS_MAX + 4, 4, -1))
    assert (rows[0].epoch, rows[0].last_sequence, rows[0].last_offset, rows[0].txn_first_offset) == (2, 54, 54, None)
    began = log.log_end_offset
    data = build_batch([Record(0, START_MS, None, b"x", ())], producer_id=3, producer_epoch=3, base_sequence=0, transactional=True)
    log.append_as_leader(data, 0, AppendOrigin.REPLICATION, START_MS)
    first = finish(producer_rows(log))[0]
    assert (first.producer_id, first.txn_first_offset, log.last_stable_offset <= began) == (3, began, True)


async def test_checkpoints_are_told_beside_what_is_in_memory() -> None:
    log = await four_segments()
    for epoch in range(1, EPOCHS_MAX + 3):
        log.epochs.assign(epoch, log.log_end_offset + epoch)
    told = checkpoints(log, (7, None, None))
    assert (told.recovery_point, told.recovery_point_written, told.log_start_written) == (log.recovery.point, 7, None)
    assert (len(told.epochs), told.epochs_total) == (EPOCHS_MAX, EPOCHS_MAX + 3)
    await log.side_files.save()
    written = checkpoints(log, (7, None, None)).epochs_written
    assert written == told.epochs


@pytest.mark.parametrize(
    "body", [b"", b"[]", b'{"topic": 3}', b'{"topic": "t", "partition": 0, "else": 1}', b'{"topic": "t"}', b"[" * 4000]
)
def test_what_is_no_question_is_refused(body: bytes) -> None:
    with pytest.raises(KafkaError, match="malformed"):
        parse_look(body)


def test_a_question_has_a_limit_and_an_answer_is_json() -> None:
    with pytest.raises(ProtocolViolation, match="too large"):
        parse_look(b" " * 5000)
    with pytest.raises(ProtocolViolation, match="cannot be read"):
        parse_answer(b"\0\0\0\1nothing")


def ask(cluster: BrokerCluster, broker_id: int, *asked: Look) -> Sequence[LogLook]:
    async def read(node: Node) -> list[LogLook]:
        return [await look(f"b{broker_id}", PORT, one, network=node.network, clock=node.clock) for one in asked]

    return cluster.world.run("client", read)


@pytest.mark.spec("S2", "S4")
def test_brokers_answer_for_the_replicas_that_they_have() -> None:
    with BrokerCluster() as cluster:
        cluster.start_all()
        cluster.create("t")
        cluster.produce("t", "a", "b")
        cluster.world.run_for(20_000)
        leader = cluster.leader("t")
        follower = next(broker for broker in cluster.ids if broker != leader)
        (led,) = ask(cluster, leader, Look(topic="t", partition=0, offset=1))
        (copied,) = ask(cluster, follower, Look(topic="t", partition=0, offset=0))
        assert (led.broker_id, led.role, led.high_watermark, led.log_end_offset, led.last_stable_offset) == (leader, "leader", 2, 2, 2)
        assert (copied.broker_id, copied.role, copied.log_end_offset) == (follower, "follower", 2)
        assert led.trace is not None and led.trace.outcome == "found"
        assert led.checkpoints.high_watermark_written == 2
        assert [entry.start_offset for entry in led.checkpoints.epochs_written or ()] == [0]
        with pytest.raises(KafkaError) as refused:
            ask(cluster, leader, Look(topic="nothing", partition=0))
        assert refused.value.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_only_so_many_look_at_once() -> None:
    looks = LogLooks.__new__(LogLooks)
    looks._under_way = LOOKS_AT_ONCE
    with pytest.raises(KafkaError, match="ask again") as refused:
        looks.look(Look(topic="t", partition=0), 1).send(None)
    assert refused.value.code is ErrorCode.THROTTLING_QUOTA_EXCEEDED
    assert (LOG_LOOK_KEY, LOG_LOOK_VERSION, msgspec.json.encode(Look(topic="t", partition=0))[:14]) == (32_001, 0, b'{"topic":"t","')
