"""A producer that sends batches ahead is never told of a gap that a refusal for the moment has made."""

from __future__ import annotations

import pytest

from broker_core.errors import ErrorCode, KafkaError
from broker_core.model import TopicPartition
from broker_core.records.batch import Record, build_batch
from broker_core.replication.appending import AppendResult
from broker_core.replication.refused_sequences import KEPT_MS, PRODUCERS_MAX, RefusedSequences
from broker_core.storage.producer_state import BatchMetadata, ProducerStateEntry, ProducerStateManager
from tests.support.replica_world import TP, ReplicaWorld, append_batch

UNDER_MIN = KafkaError(ErrorCode.NOT_ENOUGH_REPLICAS, "for the moment")
SETTINGS = {"min.insync.replicas": "2"}


def numbered(sequence: int, producer_id: int = 7, epoch: int = 0) -> bytes:
    """A batch of one record."""
    record = Record(0, 1, None, b"%d" % sequence, ())
    return build_batch([record], timestamp_ms=1, producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence)


def send(cluster: ReplicaWorld, sequence: int) -> AppendResult:
    return cluster.on(1, lambda broker: append_batch(broker, numbered(sequence)))


@pytest.mark.spec("G10", "G4")
@pytest.mark.parametrize("before", [0, 1], ids=["a producer the log knows not", "a producer that has written"])
def test_what_comes_after_a_refused_batch_does_not_overtake_it(before: int) -> None:
    with ReplicaWorld(1, SETTINGS) as cluster:
        cluster.create(leader=1, isr=(1, 2, 3))
        for sequence in range(before):
            assert send(cluster, sequence).error_code is ErrorCode.NONE
        cluster.elect(leader=1, isr=(1,))
        assert send(cluster, before).error_code is ErrorCode.NOT_ENOUGH_REPLICAS
        cluster.elect(leader=1, isr=(1, 2, 3))
        assert send(cluster, before + 1).error_code is ErrorCode.NOT_ENOUGH_REPLICAS
        for sequence in (before, before + 1, before + 2):
            assert send(cluster, sequence).error_code is ErrorCode.NONE
        assert send(cluster, before + 9).error_code is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def known(last_sequence: int, epoch: int = 0) -> ProducerStateManager:
    return ProducerStateManager(9, [ProducerStateEntry(7, epoch, -1, 1, -1, (BatchMetadata(last_sequence, 8, 0, 1),))])


def told(notes: RefusedSequences, sequence: int, state: ProducerStateManager, now_ms: float = 0.0, tp: TopicPartition = TP) -> ErrorCode:
    try:
        notes.check(tp, numbered(sequence), state, now_ms)
    except KafkaError as error:
        return error.code
    return ErrorCode.NONE


def test_only_what_would_overtake_is_held_back() -> None:
    notes = RefusedSequences()
    notes.note(TP, numbered(5), UNDER_MIN, 0.0)
    assert told(notes, 6, known(4)) is ErrorCode.NOT_ENOUGH_REPLICAS
    assert told(notes, 5, known(4)) is told(notes, 3, known(4)) is ErrorCode.NONE
    assert told(notes, 6, known(4), tp=TopicPartition("t", 1)) is ErrorCode.NONE
    assert told(notes, 9, known(5)) is ErrorCode.NONE, "what was refused has come: a gap behind it is the producer's own"
    assert told(notes, 6, known(4)) is ErrorCode.NONE, "and it is forgotten"


def test_a_refusal_is_forgotten_in_time_and_errors_for_good_are_none() -> None:
    notes = RefusedSequences()
    notes.note(TP, numbered(5), KafkaError(ErrorCode.CORRUPT_MESSAGE, "for good"), 0.0)
    assert told(notes, 6, known(4)) is ErrorCode.NONE
    notes.note(TP, numbered(5), UNDER_MIN, 0.0)
    assert told(notes, 6, known(4), KEPT_MS + 1.0) is ErrorCode.NONE


def test_batches_without_a_sequence_and_rubbish_leave_nothing() -> None:
    notes = RefusedSequences()
    for data in (build_batch([Record(0, 1, None, b"plain", ())]), b"", b"\xff" * 80):
        notes.note(TP, data, UNDER_MIN, 0.0)
        notes.check(TP, data, known(4), 0.0)
    assert told(notes, 6, known(4)) is ErrorCode.NONE


def test_there_is_room_for_so_many_producers_only() -> None:
    notes = RefusedSequences()
    notes.note(TP, numbered(5), UNDER_MIN, 0.0)
    for producer_id in range(1000, 1000 + PRODUCERS_MAX):
        notes.note(TP, numbered(5, producer_id), UNDER_MIN, 0.0)
    assert told(notes, 6, known(4)) is ErrorCode.NONE
