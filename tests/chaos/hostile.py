"""Clients that mean harm: what each sends to every broker. Whether they are answered or cut off is the broker's choice; nobody else
may notice."""

from __future__ import annotations

import asyncio
import struct
import zlib
from collections.abc import Awaitable, Callable

import cramjam
import crc32c

from broker_core.protocol.api import ApiKey
from broker_core.protocol.headers import encode_request_frame
from broker_core.records.header import CRC_START, HEADER, HEADER_BYTES
from tests.support.frames import RawConnection, bad_records, bad_streams, raw_connection

COMPACTED, RECOMPRESSED, PLAIN = "chaos-compacted", "chaos-recompressed", "chaos-plain"
TOPICS = {COMPACTED: {"cleanup.policy": "compact"}, RECOMPRESSED: {"compression.type": "gzip"}, PLAIN: {}}
TINY_RECORD = bytes([12, 0, 0, 0, 0, 1, 0])
"""A record of seven bytes: an empty key, no value, no headers."""
RECORDS = 4_790_000
LAYERS = 6
PIPELINED = 20_000
ANSWER_SECONDS = 60.0
ZSTD = 4
GZIP_V1 = 1
NOW_MS = 1_700_000_000_000


def batch_of(payload: bytes, count: int, codec: int) -> bytes:
    """A v2 batch with a right CRC around whatever the payload is."""
    length = HEADER_BYTES - 12 + len(payload)
    data = bytearray(
        HEADER.pack(0, length, -1, 2, 0, codec, (count - 1) & 0x7FFFFFFF, NOW_MS, NOW_MS, -1, -1, -1, count & 0x7FFFFFFF) + payload
    )
    struct.pack_into(">I", data, CRC_START - 4, crc32c.crc32c(bytes(data[CRC_START:])))
    return bytes(data)


def zstd_bomb() -> bytes:
    return batch_of(bytes(cramjam.zstd.compress(TINY_RECORD * RECORDS, level=19)), RECORDS, ZSTD)


def poison() -> bytes:
    """Billions of records, as it says; what is called zstd is none."""
    return batch_of(b"no zstd frame at all" * 3, 0x7FFFFFFF, ZSTD)


def nested_wrappers() -> bytes:
    """A v1 message whose value is a compressed set of such messages, and so on."""
    inner = b"".join(_message(bytes(1000), 0) for _ in range(2000))
    for _ in range(LAYERS):
        inner = _message(bytes(cramjam.gzip.compress(inner)), GZIP_V1) * 40
    return inner


def _message(value: bytes, codec: int) -> bytes:
    body = struct.pack(">bbqi", 1, codec, NOW_MS, -1) + struct.pack(">i", len(value)) + value
    message = struct.pack(">I", zlib.crc32(body)) + body
    return struct.pack(">qi", 0, len(message)) + message


async def _produce(connection: RawConnection, topic: str, records: bytes, version: int = 9) -> None:
    rows = [{"name": topic, "partition_data": [{"index": partition, "records": records} for partition in range(3)]}]
    await connection.request(ApiKey.PRODUCE, version, {"acks": -1, "timeout": 10_000, "topic_data": rows})


async def _rubbish(connection: RawConnection) -> None:
    for records in bad_records().values():
        await _produce(connection, PLAIN, records)
    for stream in bad_streams().values():
        await connection.send_bytes(stream)


async def _pipeline(connection: RawConnection) -> None:
    """Thousands of requests in one breath, read only afterwards."""
    frame = encode_request_frame(ApiKey.METADATA, 1, 1, "hostile", {"topics": []})
    await connection.send_bytes((struct.pack(">i", len(frame)) + frame) * PIPELINED)
    for _ in range(PIPELINED):
        await connection.read_frame()


async def _old_fetch(connection: RawConnection) -> None:
    """Many small compressed batches, asked for in the oldest format there is."""
    packed = batch_of(bytes(cramjam.zstd.compress(TINY_RECORD * 200_000)), 200_000, ZSTD)
    await _produce(connection, PLAIN, packed)
    row = {"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1 << 20}
    payload = {"replica_id": -1, "max_wait": 0, "min_bytes": 0, "max_bytes": 1 << 20, "topics": [{"topic": PLAIN, "partitions": [row]}]}
    await connection.request(ApiKey.FETCH, 3, payload)


ACTS: dict[str, Callable[[RawConnection], Awaitable[None]]] = {
    "zstd bomb": lambda connection: _produce(connection, COMPACTED, zstd_bomb()),
    "recompressed bomb": lambda connection: _produce(connection, RECOMPRESSED, zstd_bomb()),
    "nested wrappers": lambda connection: _produce(connection, PLAIN, nested_wrappers(), 2),
    "poison": lambda connection: _produce(connection, PLAIN, poison()),
    "rubbish": _rubbish,
    "pipeline": _pipeline,
    "old fetch": _old_fetch,
}


async def attack(kind: str, ports: tuple[int, ...]) -> dict[int, str]:
    """The act against each broker; what came of it by port: `answered`, or how the connection ended."""
    outcome = {}
    for port in ports:
        try:
            async with raw_connection(port) as connection:
                await asyncio.wait_for(ACTS[kind](connection), ANSWER_SECONDS)
            outcome[port] = "answered"
        except (OSError, EOFError, TimeoutError) as error:
            outcome[port] = type(error).__name__
    return outcome
