"""The times of single records, as their leaders have them: a Fetch for one batch, of which only the header is read.

Kafka has no question for it. The first batch of a Fetch is sent whole, however large: so a round has a budget of bytes, and ends with
the batch that exceeds it. A header has the time of its first record and the highest of all; those are the record's own where they are
the same moment, or where it is the first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from broker_core.contract.record_times import Asked, RecordTime
from broker_core.errors import CorruptData, ProtocolViolation
from broker_core.protocol.api import ApiKey
from broker_core.protocol.codec import decode_response
from broker_core.protocol.headers import encode_request_frame, parse_response_header
from broker_core.records.header import LOG_APPEND_TIME, BatchHeader, parse_header
from broker_core.seams import Clock, FrameConnection, Network
from broker_core.server.adapters.clock import RealClock
from broker_core.server.adapters.network import RealNetwork

VERSION = 4
CLIENT_ID = "highwater-live"
CONNECT_TIMEOUT_MS = 3_000.0
ANSWER_TIMEOUT_MS = 5_000.0
ROUND_BYTES_MAX = 1 << 20
SAME_MOMENT_MS = 1_000


class RecordTimes:
    """`network` and `clock` are the real ones but in tests."""

    def __init__(self, network: Network | None = None, clock: Clock | None = None) -> None:
        self._network = network or RealNetwork()
        self._clock = clock or RealClock()

    async def ask(self, host: str, port: int, asked: Sequence[Asked]) -> dict[Asked, RecordTime]:
        """Of those that could be had, until the budget is spent; `ConnectionError` or `TimeoutError` when the broker is lost."""
        connection = await self._network.connect(host, port, timeout_ms=CONNECT_TIMEOUT_MS)
        found, left_bytes = {}, ROUND_BYTES_MAX
        try:
            for number, one in enumerate(asked):
                connection.send(encode_request_frame(ApiKey.FETCH, VERSION, number, CLIENT_ID, _fetch(one)))
                records = await self._records(connection)
                if known := record_time(records, one.offset):
                    found[one] = known
                left_bytes -= len(records)
                if left_bytes <= 0:
                    break
        finally:
            connection.close()
        return found

    async def _records(self, connection: FrameConnection) -> bytes | memoryview:
        """Empty where the broker has none there or does not lead."""
        frame = await self._clock.wait_for(connection.receive(), ANSWER_TIMEOUT_MS)
        try:
            answer = decode_response(ApiKey.FETCH, VERSION, frame, parse_response_header(ApiKey.FETCH, VERSION, frame)[1])
            row: Any = answer.responses[0].partitions[0]
        except (ProtocolViolation, IndexError) as error:
            raise ConnectionError(f"an answer that cannot be read: {error}") from error
        return b"" if row.error_code or row.records is None else row.records


def _fetch(asked: Asked) -> Mapping[str, Any]:
    row = {"partition": asked.partition, "fetch_offset": asked.offset, "partition_max_bytes": 1}
    topics = [{"topic": asked.topic, "partitions": [row]}]
    return {"replica_id": -1, "max_wait": 0, "min_bytes": 0, "max_bytes": 1, "isolation_level": 0, "topics": topics}


def record_time(records: bytes | memoryview, offset: int) -> RecordTime | None:
    """From the batch at or after the offset; None where it has no times."""
    try:
        header = parse_header(records) if len(records) else None
    except CorruptData:
        return None
    if header is None or header.max_timestamp < 0:
        return None
    at_ms, is_exact = _time_in(header, offset)
    return RecordTime(offset, at_ms, is_exact)


def _time_in(header: BatchHeader, offset: int) -> tuple[int, bool]:
    first_ms, last_ms = header.base_timestamp, header.max_timestamp
    if header.timestamp_type == LOG_APPEND_TIME:
        return last_ms, True
    if offset <= header.base_offset:
        return first_ms, True
    share = min((offset - header.base_offset) / max(header.last_offset_delta, 1), 1.0)
    return round(first_ms + share * (last_ms - first_ms)), abs(last_ms - first_ms) <= SAME_MOMENT_MS
