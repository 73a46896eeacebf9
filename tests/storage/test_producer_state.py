"""Sequence numbers, duplicates, epochs and open transactions."""

from __future__ import annotations

import pytest

from broker_core.errors import CorruptData, ErrorCode, KafkaError
from broker_core.records.batch import BatchHeader
from broker_core.storage.producer_snapshot import decode_snapshot, encode_snapshot
from broker_core.storage.producer_state import (
    AppendOrigin,
    BatchMetadata,
    EndTxnMarker,
    ProducerAppendInfo,
    ProducerStateEntry,
    ProducerStateManager,
)

pytestmark = pytest.mark.spec("G4")

CLIENT, REPLICATION, TXN = AppendOrigin.CLIENT, AppendOrigin.REPLICATION, AppendOrigin.COORDINATOR
PID = 9
MAX = 2**31 - 1


def header(offset: int, sequence: int, count: int = 1, *, epoch: int = 0, pid: int = PID, attributes: int = 0) -> BatchHeader:
    return BatchHeader(offset, 100, 0, 2, 0, attributes, count - 1, 1000 + offset, 1000 + offset, pid, epoch, sequence, count)


def append(
    state: ProducerStateManager, batch: BatchHeader, origin: AppendOrigin = CLIENT, marker: EndTxnMarker | None = None
) -> ProducerAppendInfo:
    update = ProducerAppendInfo(state, origin)
    update.add(batch, marker)
    state.commit(update)
    for completed in update.completed:
        state.complete(completed)
    return update


def refused(
    state: ProducerStateManager, batch: BatchHeader, origin: AppendOrigin = CLIENT, marker: EndTxnMarker | None = None
) -> ErrorCode:
    before = (dict(state.entries), dict(state.ongoing), state.end_offset)
    with pytest.raises(KafkaError) as caught:
        append(state, batch, origin, marker)
    assert before == (state.entries, state.ongoing, state.end_offset)
    return caught.value.code


def test_sequences_must_follow() -> None:
    state = ProducerStateManager()
    append(state, header(0, 0, 3))
    append(state, header(3, 3, 2))
    assert refused(state, header(5, 6)) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert refused(state, header(5, 4)) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_an_unknown_producer_may_start_anywhere() -> None:
    """Retention may have removed all that was known of it."""
    state = ProducerStateManager()
    append(state, header(0, 4711))
    assert refused(state, header(1, 0)) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_sequences_wrap_to_zero() -> None:
    state = ProducerStateManager()
    append(state, header(0, MAX - 1, 4))
    assert state.entries[PID].last_sequence == 1
    assert state.duplicate_of(header(50, MAX - 1, 4)) == BatchMetadata(1, 3, 3, 1000)
    append(state, header(4, 2))
    exact = ProducerStateManager()
    append(exact, header(0, MAX - 1, 2))
    append(exact, header(2, 0))


def test_an_exact_repeat_of_the_last_five_is_a_duplicate() -> None:
    state = ProducerStateManager()
    for number in range(6):
        append(state, header(number * 2, number * 2, 2))
    assert state.duplicate_of(header(99, 0, 2)) is None
    for number in range(1, 6):
        found = state.duplicate_of(header(99, number * 2, 2))
        assert found is not None
        assert (found.first_offset, found.last_offset) == (number * 2, number * 2 + 1)
    assert state.duplicate_of(header(99, 10, 1)) is None
    assert state.duplicate_of(header(99, 10, 2, epoch=1)) is None
    assert state.duplicate_of(header(99, 10, 2, pid=10)) is None


def test_a_new_epoch_starts_with_zero_and_fences_the_old_one() -> None:
    state = ProducerStateManager()
    append(state, header(0, 0, 5, epoch=1))
    assert refused(state, header(5, 5, epoch=2)) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    append(state, header(5, 0, epoch=2))
    assert refused(state, header(6, 5, epoch=1)) is ErrorCode.INVALID_PRODUCER_EPOCH
    append(state, header(6, 77, epoch=1), REPLICATION)


@pytest.mark.spec("R12")
def test_replication_is_not_checked() -> None:
    """What the leader has accepted, a follower takes."""
    state = ProducerStateManager()
    append(state, header(0, 0), REPLICATION)
    append(state, header(1, 500), REPLICATION)
    assert state.entries[PID].last_sequence == 500


@pytest.mark.spec("R12")
def test_coordinators_are_not_checked_for_sequences() -> None:
    """Offset commits of a transaction carry no sequence numbers."""
    state = ProducerStateManager()
    append(state, header(0, 3, attributes=0x10), AppendOrigin.COORDINATOR)
    append(state, header(1, -1, attributes=0x10), AppendOrigin.COORDINATOR)


@pytest.mark.spec("G5")
def test_a_transaction_from_first_batch_to_replicated_marker() -> None:
    """The last stable offset waits for the marker to be below the high watermark."""
    state = ProducerStateManager()
    append(state, header(0, 0))
    append(state, header(1, 1, 2, attributes=0x10))
    assert state.first_unstable_offset == 1
    assert refused(state, header(3, 3)) is ErrorCode.INVALID_TXN_STATE
    update = append(state, header(3, -1, attributes=0x30), TXN, EndTxnMarker(False, 5))
    assert [(txn.first_offset, txn.last_offset, txn.aborted) for txn in update.completed] == [(1, 3, True)]
    assert state.ongoing == {}
    assert state.first_unstable_offset == 1
    state.on_high_watermark(3)
    assert state.first_unstable_offset == 1
    state.on_high_watermark(4)
    assert state.first_unstable_offset is None


def test_markers_are_fenced_by_both_epochs() -> None:
    state = ProducerStateManager()
    append(state, header(0, 0, epoch=3, attributes=0x10))
    append(state, header(1, -1, epoch=3, attributes=0x30), TXN, EndTxnMarker(True, 7))
    assert refused(state, header(2, -1, epoch=2, attributes=0x30), TXN, EndTxnMarker(True, 7)) is ErrorCode.INVALID_PRODUCER_EPOCH
    assert refused(state, header(2, -1, epoch=3, attributes=0x30), TXN, EndTxnMarker(True, 6)) is ErrorCode.TRANSACTION_COORDINATOR_FENCED


def test_a_marker_with_a_higher_epoch_resets_the_sequence() -> None:
    state = ProducerStateManager()
    append(state, header(0, 0, 5, attributes=0x10))
    append(state, header(5, -1, epoch=1, attributes=0x30), TXN, EndTxnMarker(False, 1))
    assert refused(state, header(6, 5, epoch=1)) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    append(state, header(6, 0, epoch=1))


def test_a_marker_without_data_completes_nothing() -> None:
    state = ProducerStateManager()
    assert append(state, header(0, -1, attributes=0x30), TXN, EndTxnMarker(True, 0)).completed == []
    assert state.first_unstable_offset is None


def test_stable_offset_after_a_transaction_stops_at_others() -> None:
    state = ProducerStateManager()
    append(state, header(0, 0, pid=1, attributes=0x10))
    append(state, header(1, 0, pid=2, attributes=0x10))
    update = ProducerAppendInfo(state, TXN)
    update.add(header(2, -1, pid=1, attributes=0x30), EndTxnMarker(False, 0))
    state.commit(update)
    assert state.stable_offset_after(update.completed[0]) == 1
    state.complete(update.completed[0])
    update = ProducerAppendInfo(state, TXN)
    update.add(header(3, -1, pid=2, attributes=0x30), EndTxnMarker(False, 0))
    state.commit(update)
    assert state.stable_offset_after(update.completed[0]) == 4


def test_silent_producers_are_forgotten_unless_in_a_transaction() -> None:
    state = ProducerStateManager()
    append(state, header(0, 0, pid=1))
    append(state, header(1, 0, pid=2, attributes=0x10))
    state.expire(1_000_000, 500)
    assert list(state.entries) == [2]


def test_the_oldest_open_transaction_counts_whatever_the_order_of_a_snapshot() -> None:
    entries = [ProducerStateEntry(pid, 0, 0, 0, first, ()) for pid, first in ((1, 30), (2, 10), (3, 20), (4, -1))]
    state = ProducerStateManager(40, entries)
    assert (state.first_unstable_offset, list(state.ongoing.items())) == (10, [(10, 2), (20, 3), (30, 1)])


@pytest.mark.parametrize(("ended", "unstable"), [(1, 0), (2, 0)])
def test_an_ended_transaction_and_an_open_one_the_older_counts(ended: int, unstable: int) -> None:
    """Until the marker is replicated a new leader might not have it."""
    state = ProducerStateManager()
    append(state, header(0, 0, pid=1, attributes=0x10))
    append(state, header(1, 0, pid=2, attributes=0x10))
    append(state, header(2, -1, pid=ended, attributes=0x30), TXN, EndTxnMarker(True, 0))
    assert state.first_unstable_offset == unstable
    state.on_high_watermark(3)
    assert state.first_unstable_offset == (1 if ended == 1 else 0)


def test_a_log_start_above_an_ended_transaction_frees_readers() -> None:
    state = ProducerStateManager()
    append(state, header(0, 0, attributes=0x10))
    append(state, header(1, -1, attributes=0x30), TXN, EndTxnMarker(True, 0))
    state.on_log_start(5)
    assert (state.first_unstable_offset, state.end_offset) == (None, 5)


def test_a_coordinator_may_repeat_itself() -> None:
    """After a lost answer it writes the marker again, with the same epochs."""
    state = ProducerStateManager()
    append(state, header(0, 0, attributes=0x10))
    for offset in (1, 2):
        append(state, header(offset, -1, attributes=0x30), TXN, EndTxnMarker(True, 7))
    append(state, header(3, 1))


def test_a_follower_takes_what_its_leader_took() -> None:
    """Also epochs that seem to fall: the leader may have forgotten the producer."""
    state = ProducerStateManager()
    append(state, header(0, 0, epoch=5, attributes=0x10))
    append(state, header(1, -1, epoch=5, attributes=0x30), TXN, EndTxnMarker(True, 7))
    append(state, header(2, 9, epoch=4, attributes=0x10), AppendOrigin.REPLICATION)
    append(state, header(3, -1, epoch=4, attributes=0x30), AppendOrigin.REPLICATION, EndTxnMarker(True, 6))
    assert (state.entries[PID].epoch, state.entries[PID].coordinator_epoch) == (4, 6)


def test_batches_of_one_append_follow_each_other() -> None:
    state = ProducerStateManager()
    update = ProducerAppendInfo(state, CLIENT)
    update.add(header(0, 0), None)
    update.add(header(1, 1), None)
    with pytest.raises(KafkaError):
        update.add(header(2, 5), None)
    assert state.entries == {}


def test_an_old_batch_is_no_duplicate_in_a_new_epoch() -> None:
    state = ProducerStateManager()
    append(state, header(0, 0))
    append(state, header(1, 0, epoch=1))
    assert state.duplicate_of(header(2, 0)) is None
    again = state.duplicate_of(header(2, 0, epoch=1))
    assert again is not None
    assert again.last_offset == 1


def test_a_duplicate_over_the_wrap_is_found() -> None:
    state = ProducerStateManager()
    append(state, header(0, 2**31 - 2, 4))
    again = state.duplicate_of(header(9, 2**31 - 2, 4))
    assert again is not None
    assert (again.first_offset, again.last_offset, again.first_sequence, again.last_sequence) == (0, 3, 2**31 - 2, 1)


@pytest.mark.parametrize(("silent_ms", "kept"), [(499, True), (500, False)])
def test_a_producer_is_remembered_for_the_whole_time(silent_ms: int, kept: bool) -> None:
    state = ProducerStateManager()
    append(state, header(0, 0))
    state.expire(1_000 + silent_ms, 500)
    assert (PID in state.entries) is kept


def test_snapshot_bytes_are_kafkas() -> None:
    entry = ProducerStateEntry(5, 1, 2, 1234, 10, (BatchMetadata(2, 8, 1, 1200), BatchMetadata(4, 10, 1, 1234)))
    data = encode_snapshot([entry])
    body = "00000001" + f"{5:016x}" + "0001" + "00000004" + f"{10:016x}" + "00000001" + f"{1234:016x}" + "00000002" + f"{10:016x}"
    assert data[:2].hex() == "0001"
    assert data[6:].hex() == body
    (again,) = decode_snapshot(data, "x")
    assert again == entry._replace(batches=(BatchMetadata(4, 10, 1, 1234),))
    assert ProducerStateManager(11, [again]).ongoing == {10: 5}


def test_a_snapshot_of_a_producer_without_batches() -> None:
    (again,) = decode_snapshot(encode_snapshot([ProducerStateEntry(5, 1, 2, 1234)]), "x")
    assert again == ProducerStateEntry(5, 1, 2, 1234)


def test_every_damaged_byte_of_a_snapshot_is_noticed() -> None:
    data = encode_snapshot([ProducerStateEntry(5, 1, 2, 1234)])
    for position in range(len(data)):
        broken = bytearray(data)
        broken[position] ^= 0x55
        with pytest.raises(CorruptData):
            decode_snapshot(bytes(broken), "x")
    for length in range(len(data)):
        with pytest.raises(CorruptData):
            decode_snapshot(data[:length], "x")
