"""The bad streams of `tests.support.frames` are bad: none of them holds a request that can be answered."""

from __future__ import annotations

import struct

import pytest

from broker_core.errors import CorruptData, ProtocolViolation
from broker_core.protocol.codec import decode_request
from broker_core.protocol.headers import parse_request_header
from broker_core.records.batch import check_batch, iter_headers
from tests.support.frames import bad_records, bad_streams

MAX_FRAME_BYTES = 100 << 20


@pytest.mark.parametrize("stream", bad_streams().values(), ids=list(bad_streams()))
def test_streams(stream: bytes) -> None:
    (size,) = struct.unpack_from(">i", stream)
    if not 0 <= size <= MAX_FRAME_BYTES:
        return
    frame = stream[4 : 4 + size]
    assert len(frame) == size
    with pytest.raises(ProtocolViolation):
        header = parse_request_header(frame)
        decode_request(header.api_key, header.api_version, frame, header.body_offset)


@pytest.mark.parametrize("data", bad_records().values(), ids=list(bad_records()))
def test_records(data: bytes) -> None:
    try:
        whole = 0
        for position, header in iter_headers(data):
            check_batch(data, position, header)
            whole += header.size_bytes
    except CorruptData:
        return
    assert whole < len(data)
