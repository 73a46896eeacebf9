"""What a leader accepts from whom."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from broker_core.errors import ErrorCode, KafkaError
from broker_core.records.batch import build_batch, check_batch, iter_headers, read_records
from broker_core.storage.log import AppendOrigin, PartitionLog
from tests.support.log_world import START_MS, World, all_bytes, at_time, batch, record, sized_batch

pytestmark = pytest.mark.spec("R12")

HOUR_MS = 3_600_000
CLIENT = AppendOrigin.CLIENT


def refused(log: PartitionLog, data: bytes, origin: AppendOrigin = CLIENT) -> ErrorCode:
    end = log.log_end_offset
    with pytest.raises(KafkaError) as caught:
        log.append_as_leader(data, 0, origin, START_MS)
    assert log.log_end_offset == end
    return caught.value.code


async def log_with(**settings: Any) -> PartitionLog:
    return await World(**settings).open()


async def test_every_damaged_byte_is_noticed() -> None:
    """Only offset, length-independent epoch bytes may differ: they are stamped by the broker."""
    log = await log_with()
    data = batch(2)
    for position in [*range(8, 12), *range(16, len(data))]:
        broken = bytearray(data)
        broken[position] ^= 0x01
        assert refused(log, bytes(broken)) in (ErrorCode.CORRUPT_MESSAGE, ErrorCode.INVALID_RECORD), position
    assert refused(log, data[:-1]) is ErrorCode.CORRUPT_MESSAGE
    assert refused(log, b"") is ErrorCode.INVALID_RECORD
    assert refused(log, b"x" * 200) is ErrorCode.CORRUPT_MESSAGE


async def test_size_limits() -> None:
    log = await log_with(max_message_bytes=500, segment_bytes=1000)
    assert refused(log, sized_batch(501)) is ErrorCode.MESSAGE_TOO_LARGE
    assert refused(log, sized_batch(500) * 3) is ErrorCode.RECORD_LIST_TOO_LARGE
    assert log.append_as_leader(sized_batch(500) * 2, 0, CLIENT, START_MS).batches == 2


async def test_clients_may_not_write_control_batches_or_nameless_sequences() -> None:
    log = await log_with()
    assert refused(log, batch(1, control=True)) is ErrorCode.INVALID_RECORD
    assert refused(log, batch(1, producer_id=5, producer_epoch=0)) is ErrorCode.INVALID_RECORD
    assert refused(log, build_batch([], base_offset=0)) is ErrorCode.INVALID_RECORD


async def test_old_formats_are_refused() -> None:
    log = await log_with()
    old = struct.pack(">qiIbb", 0, 14 + 3, 0, 0, 0) + b"abc" + b"\0" * 14
    assert refused(log, old) is ErrorCode.INVALID_RECORD


async def test_compacted_topics_need_keys() -> None:
    log = await log_with(cleanup_policy=("compact",))
    keyless = build_batch([record(0), record(1, key=None)], base_offset=0)
    assert refused(log, keyless) is ErrorCode.INVALID_RECORD
    log.append_as_leader(batch(2), 0, CLIENT, START_MS)
    plain = await log_with()
    plain.append_as_leader(keyless, 0, CLIENT, START_MS)


async def test_timestamps_too_far_off() -> None:
    log = await log_with(message_timestamp_before_max_ms=HOUR_MS, message_timestamp_after_max_ms=HOUR_MS)
    assert refused(log, batch(1, timestamp_ms=START_MS - HOUR_MS - 1)) is ErrorCode.INVALID_TIMESTAMP
    assert refused(log, batch(1, timestamp_ms=START_MS + HOUR_MS + 1)) is ErrorCode.INVALID_TIMESTAMP
    for timestamp_ms in (START_MS - HOUR_MS, START_MS + HOUR_MS, -1):
        log.append_as_leader(batch(1, timestamp_ms=timestamp_ms), 0, CLIENT, START_MS)


async def test_the_brokers_time_is_stamped_where_the_topic_wants_it() -> None:
    log = await log_with(message_timestamp_type="LogAppendTime")
    info = log.append_as_leader(batch(3, timestamp_ms=5), 2, CLIENT, START_MS)
    assert info.log_append_time_ms == START_MS
    data = all_bytes(log)
    ((position, header),) = iter_headers(data)
    assert (header.timestamp_type, header.max_timestamp) == (1, START_MS)
    assert [r.timestamp_ms for r in read_records(data, position, header)] == [START_MS] * 3
    again = await World().open()
    again.append_as_follower(data, START_MS)
    assert at_time(log, START_MS - 5) == (0, START_MS, 2)


@pytest.mark.spec("S7")
@pytest.mark.parametrize(("wanted", "codec"), [("uncompressed", 0), ("gzip", 1), ("snappy", 2), ("lz4", 3), ("zstd", 4)])
async def test_a_topics_own_compression(wanted: str, codec: int) -> None:
    """Stored as they came, unless the topic says otherwise."""
    log, plain = await log_with(compression_type=wanted), await log_with()
    for came in range(5):
        data = batch(3, value="v" * 50, compression=came, producer_id=9, producer_epoch=0, base_sequence=came * 3)
        log.append_as_leader(data, 4, CLIENT, START_MS)
        plain.append_as_leader(data, 4, CLIENT, START_MS)
    stored, as_came = all_bytes(log), all_bytes(plain)
    headers = list(iter_headers(stored))
    assert [header.compression for _, header in headers] == [codec] * 5
    assert [header.compression for _, header in iter_headers(as_came)] == list(range(5))
    for (position, header), (other_position, other) in zip(headers, iter_headers(as_came), strict=True):
        check_batch(stored, position, header)
        assert read_records(stored, position, header) == read_records(as_came, other_position, other)
        assert (header.base_sequence, header.leader_epoch) == (other.base_sequence, 4)


async def test_a_topics_own_level_of_compression() -> None:
    sizes = []
    for level in (1, 9):
        log = await log_with(compression_type="gzip", compression_gzip_level=level)
        log.append_as_leader(batch(200, value="".join(chr(97 + n * n % 23) for n in range(300))), 4, CLIENT, START_MS)
        sizes.append(log.segments.size_bytes)
    assert sizes[1] < sizes[0]


@pytest.mark.spec("G4")
async def test_duplicates_answer_with_the_old_offset() -> None:
    """An idempotent producer's retry is not written again."""
    log = await log_with()
    first = batch(2, producer_id=9, producer_epoch=0, base_sequence=0)
    log.append_as_leader(first, 0, CLIENT, START_MS)
    log.append_as_leader(batch(3), 0, CLIENT, START_MS)
    info = log.append_as_leader(first, 0, CLIENT, START_MS)
    assert (info.duplicate, info.first_offset, info.last_offset) == (True, 0, 1)
    assert log.log_end_offset == 5
    assert refused(log, batch(1, producer_id=9, producer_epoch=0, base_sequence=5)) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


async def test_a_follower_refuses_damage_and_falling_offsets() -> None:
    leader, follower = await log_with(), await log_with()
    leader.append_as_leader(batch(2), 0, CLIENT, START_MS)
    data = bytearray(all_bytes(leader))
    data[-1] ^= 1
    with pytest.raises(KafkaError) as caught:
        follower.append_as_follower(data, START_MS)
    assert caught.value.code is ErrorCode.CORRUPT_MESSAGE
    assert follower.append_as_follower(data[:30], START_MS).batches == 0
    assert follower.log_end_offset == 0


async def test_the_callers_bytes_stay_as_they_were() -> None:
    log = await log_with()
    data = bytearray(batch(1))
    before = bytes(data)
    log.append_as_leader(batch(5), 3, CLIENT, START_MS)
    log.append_as_leader(data, 3, CLIENT, START_MS)
    assert data == before


async def test_a_writable_view_is_stamped_where_it_lies() -> None:
    """A request's frame belongs to the broker, so a produced batch is not copied."""
    log = await log_with()
    log.append_as_leader(batch(5), 3, CLIENT, START_MS)
    view = memoryview(bytearray(batch(2)))
    log.append_as_leader(view, 3, CLIENT, START_MS)
    assert [header.base_offset for _, header in iter_headers(view)] == [5]
    assert all_bytes(log).endswith(view)
