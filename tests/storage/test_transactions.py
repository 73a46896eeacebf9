"""The last stable offset and aborted transactions of a log."""

from __future__ import annotations

import struct

import pytest

from broker_core.records.batch import Record, build_batch
from broker_core.storage.folder.files import FilePool
from broker_core.storage.log import AppendOrigin, PartitionLog
from broker_core.storage.segments.transaction_index import AbortedTxn, TransactionIndex
from tests.support.log_world import FOLDER, START_MS, MemoryFile, World, all_bytes, batch

pytestmark = pytest.mark.spec("G5")

CLIENT, TXN = AppendOrigin.CLIENT, AppendOrigin.COORDINATOR


def data(log: PartitionLog, producer_id: int, sequence: int, count: int = 1) -> int:
    """Appends a transactional batch and returns its offset."""
    body = batch(count, value="x" * 100, producer_id=producer_id, producer_epoch=0, base_sequence=sequence, transactional=True)
    return log.append_as_leader(body, 0, CLIENT, START_MS).first_offset


def end(log: PartitionLog, producer_id: int, *, commit: bool) -> int:
    return log.append_as_leader(marker(producer_id, commit=commit), 0, TXN, START_MS).first_offset


def marker(producer_id: int, *, commit: bool) -> bytes:
    entry = Record(0, START_MS, struct.pack(">hh", 0, int(commit)), struct.pack(">hi", 0, 0), ())
    return build_batch(
        [entry], base_offset=0, producer_id=producer_id, producer_epoch=0, transactional=True, control=True, timestamp_ms=START_MS
    )


async def test_readers_of_committed_records_wait_for_the_marker_to_be_replicated() -> None:
    log = await World().open()
    log.append_as_leader(batch(2), 0, CLIENT, START_MS)
    assert data(log, 1, 0, 3) == 2
    log.update_high_watermark(5)
    assert log.last_stable_offset == 2
    assert end(log, 1, commit=True) == 5
    assert log.last_stable_offset == 2
    log.update_high_watermark(6)
    assert log.last_stable_offset == 6


async def test_interleaved_transactions() -> None:
    log = await World().open()
    data(log, 1, 0)
    data(log, 2, 0)
    end(log, 1, commit=False)
    log.update_high_watermark(3)
    assert log.last_stable_offset == 1
    data(log, 3, 0)
    end(log, 2, commit=True)
    log.update_high_watermark(5)
    assert log.last_stable_offset == 3
    end(log, 3, commit=False)
    log.update_high_watermark(6)
    assert log.last_stable_offset == 6
    assert log.read(0, 10_000, 6).aborted == [(1, 0), (3, 3)]
    assert log.read(0, 10_000, 3).aborted == [(1, 0)]
    assert log.read(3, 10_000, 6).aborted == [(3, 3)]


async def one_producer_aborts_twice_and_another_begins() -> PartitionLog:
    """Offsets 0 and 1, 2 and 3, then 4, which stays open."""
    log = await World().open()
    for sequence in (0, 1):
        data(log, 1, sequence)
        end(log, 1, commit=False)
    data(log, 3, 0)
    log.update_high_watermark(5)
    return log


async def test_a_follower_that_takes_in_several_transactions_at_once_knows_all_that_were_aborted() -> None:
    """A transaction that begins after a marker, in the same append, is none that this marker's end still waited for: a reader up to
    offset 4 was let read the second aborted one."""
    leader = await one_producer_aborts_twice_and_another_begins()
    follower = await World().open()
    follower.append_as_follower(all_bytes(leader), START_MS)
    follower.update_high_watermark(5)
    for log in (leader, follower):
        assert log.last_stable_offset == 4
        assert log.read(0, 10_000, 4).aborted == [(1, 0), (1, 2)]


async def test_an_index_that_says_more_is_stable_than_can_be_hides_nothing() -> None:
    """As Apache Kafka's followers write it, and ours did."""
    log = await one_producer_aborts_twice_and_another_begins()
    index = log.segments.active.txn_index
    index.reset()
    for first in (0, 2):
        index.append(AbortedTxn(1, first, first + 1, 4))
    assert log.read(0, 10_000, 4).aborted == [(1, 0), (1, 2)]


def many_aborted(world: World, pending: int = 0) -> tuple[TransactionIndex, list[AbortedTxn]]:
    """3 000 aborted transactions of which every seventh began 50 offsets before its end; the last are not on the disk yet."""
    index = TransactionIndex(FilePool(world.disk), "/data/0.txnindex")
    wanted = [AbortedTxn(n % 9, 3 * n - (50 if n % 7 == 0 else 1), 3 * n, 3 * n + 1) for n in range(20, 3_020)]
    for aborted in wanted[: len(wanted) - pending]:
        index.append(aborted)
    if pending:
        world.disk.full = True
    for aborted in wanted[len(wanted) - pending :]:
        index.append(aborted)
    return index, wanted


@pytest.mark.parametrize("pending", [0, 200])
def test_aborted_transactions_are_found_wherever_a_reader_stands(pending: int) -> None:
    index, wanted = many_aborted(World(), pending)
    for start in [0, 59, 60, 61, *range(100, 9_200, 91)]:
        for length in (1, 2, 40, 1_000):
            found: list[tuple[int, int]] = []
            index.collect(start, start + length, found)
            bound = next((n for n, one in enumerate(wanted) if one.last_offset + 1 >= start + length), len(wanted))
            assert found == [
                (one.producer_id, one.first_offset)
                for one in wanted[: bound + 1]
                if one.last_offset >= start and one.first_offset < start + length
            ]


def test_a_reader_does_not_have_the_whole_index_read(monkeypatch: pytest.MonkeyPatch) -> None:
    index, _ = many_aborted(World())
    read: list[int] = []
    whole = MemoryFile.pread

    def pread(file: MemoryFile, position: int, count: int) -> bytes:
        read.append(count)
        return whole(file, position, count)

    monkeypatch.setattr(MemoryFile, "pread", pread)
    index.collect(6_000, 6_100, [])
    assert sum(read) < 3_000 * 34 // 10


def test_an_index_out_of_order_is_made_anew() -> None:
    """It is searched by halves."""
    index = TransactionIndex(FilePool(World().disk), "/data/0.txnindex")
    for last in (5, 9, 7):
        index.append(AbortedTxn(1, last - 1, last, last + 1))
    assert not index.is_sane(0)
    index.truncate(8)
    assert [one.last_offset for one in index.entries()] == [5, 7] and index.is_sane(0) and not index.is_sane(6)


async def test_an_aborted_transaction_over_many_segments() -> None:
    world = World(segment_bytes=1000)
    log = await world.open()
    for number in range(12):
        data(log, 1, number)
    end(log, 1, commit=False)
    log.update_high_watermark(log.log_end_offset)
    assert len(log.segments) > 2
    part = log.read(0, 10_000, log.last_stable_offset)
    assert part.next_offset < 12
    assert part.aborted == [(1, 0)]
    (index_file,) = [path for path in world.disk.files if path.endswith(".txnindex")]
    assert bytes(world.disk.files[index_file]) == struct.pack(">hqqqq", 0, 1, 0, 12, 13)


async def test_restart_keeps_open_and_aborted_transactions() -> None:
    world = World(segment_bytes=1000)
    log = await world.open()
    for number in range(6):
        data(log, 1, number)
    end(log, 1, commit=False)
    data(log, 2, 0)
    log.update_high_watermark(log.log_end_offset)
    for clean in (False, True):
        if clean:
            await log.close()
        else:
            await log.recovery.flush()
        again = await world.next_process().open(clean=clean)
        again.update_high_watermark(again.log_end_offset)
        assert again.last_stable_offset == 7
        assert again.read(0, 10_000, 7).aborted == [(1, 0)]
        assert again.producer_state.entries[2].txn_first_offset == 7


async def test_truncation_takes_a_transactions_end_back() -> None:
    log = await World().open()
    data(log, 1, 0)
    end(log, 1, commit=False)
    log.update_high_watermark(1)
    await log.truncate_to(1)
    assert log.last_stable_offset == 0
    assert log.read(0, 10_000, 1).aborted == []
    end(log, 1, commit=True)
    log.update_high_watermark(2)
    assert log.last_stable_offset == 2


@pytest.mark.spec("B16")
async def test_a_full_disk_does_not_lose_an_aborted_transaction() -> None:
    """KAFKA-7866: the marker is in the log once, and readers are told of it before the index file has it."""
    world = World()
    log = await world.open()
    data(log, 1, 0)
    append = world.disk.step

    def full_for_the_index(operation: str, path: str, torn: object = None) -> bool:
        append(operation, path)
        return path.endswith(".txnindex")

    world.disk.step = full_for_the_index  # type: ignore[method-assign]
    end(log, 1, commit=False)
    log.update_high_watermark(2)
    assert log.read(0, 10_000, 2).aborted == [(1, 0)]
    world.disk.step = append  # type: ignore[method-assign]
    await log.recovery.flush()
    assert len(world.disk.files[f"{FOLDER}/{0:020d}.txnindex"]) == 34
    again = await world.next_process().open()
    assert again.read(0, 10_000, 2).aborted == [(1, 0)]
    assert len(all_bytes(again)) == len(all_bytes(log))


async def test_log_start_beyond_a_finished_transaction() -> None:
    log = await World().open()
    data(log, 1, 0)
    end(log, 1, commit=True)
    log.append_as_leader(batch(2), 0, CLIENT, START_MS)
    log.update_high_watermark(4)
    log.advance_log_start(3)
    assert (log.log_start_offset, log.last_stable_offset) == (3, 4)
