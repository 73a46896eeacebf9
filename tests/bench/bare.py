"""Bare servers: the least that librdkafka needs to send records to a file, or to get them from one.

They answer ApiVersions and Metadata, acknowledge every Produce after one `write` of the frame, or answer Fetch v11 with whole
batches of a prepared log, read by preadv or sent by sendfile. Nothing is checked or kept: what a broker cannot be faster than.
`python -m tests.bench.bare KIND FILE` prints the port it listens on.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import struct
from bisect import bisect_right
from collections.abc import Callable
from pathlib import Path
from uuid import UUID

from broker_core.protocol.api import ApiKey
from broker_core.protocol.codec import encode_response
from broker_core.protocol.headers import RequestHeader, parse_request_header, response_header
from broker_core.records.batch import HEADER_BYTES, parse_header

TOPIC = "bench"
TOPIC_ID = UUID(int=7)
VERSIONS = {ApiKey.API_VERSIONS: (0, 3), ApiKey.METADATA: (0, 12), ApiKey.PRODUCE: (3, 9), ApiKey.FETCH: (4, 11)}
BUFFER_BYTES = 8 * 1024 * 1024
EMPTY_ANSWER_SECONDS = 0.1
SIZE = struct.Struct(">i")
CORRELATION = struct.Struct(">i")
FETCH_V11 = struct.Struct(">iiiibiii")
"""Replica, wait, min and max bytes, isolation, session id and epoch, number of topics; the topic's name follows."""
FETCH_PARTITION = struct.Struct(">iiiqqi")
"""Number of partitions, partition, leader epoch, offset, log start, max bytes."""


class Bare(asyncio.BufferedProtocol):
    """Cuts frames out of one large buffer that `recv` fills; `answer` gets each as a memoryview."""

    def __init__(self, port: Callable[[], int], answer: Callable[[Bare, RequestHeader, memoryview], None]) -> None:
        self._port = port
        self._answer = answer
        self._view = memoryview(bytearray(BUFFER_BYTES))
        self._start = self._filled = 0
        self.transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def get_buffer(self, sizehint: int) -> memoryview:
        if BUFFER_BYTES - self._filled < BUFFER_BYTES // 2:
            rest = self._filled - self._start
            self._view[:rest] = bytes(self._view[self._start : self._filled])
            self._start, self._filled = 0, rest
        return self._view[self._filled :]

    def buffer_updated(self, nbytes: int) -> None:
        self._filled += nbytes
        while self._filled - self._start >= SIZE.size:
            end = self._start + SIZE.size + SIZE.unpack_from(self._view, self._start)[0]
            if end > self._filled:
                break
            self._handle(self._view[self._start + SIZE.size : end])
            self._start = end
        if self._start == self._filled:
            self._start = self._filled = 0

    def _handle(self, frame: memoryview) -> None:
        header = parse_request_header(frame)
        if header.api_key == ApiKey.API_VERSIONS:
            rows = [{"api_key": int(key), "min_version": low, "max_version": high} for key, (low, high) in VERSIONS.items()]
            version = header.api_version if header.api_version <= VERSIONS[ApiKey.API_VERSIONS][1] else 0
            self.reply(header, version, {"error_code": 0 if version == header.api_version else 35, "api_keys": rows})
        elif header.api_key == ApiKey.METADATA:
            self.reply(header, header.api_version, self._metadata())
        else:
            self._answer(self, header, frame)

    def reply(self, header: RequestHeader, version: int, payload: dict[str, object]) -> None:
        head = response_header(header.api_key, version, header.correlation_id)
        body = encode_response(header.api_key, version, payload)
        self.transport.write(SIZE.pack(len(head) + len(body)) + head + body)

    def _metadata(self) -> dict[str, object]:
        partition = {"error_code": 0, "partition_index": 0, "leader_id": 1, "leader_epoch": 0, "replica_nodes": [1], "isr_nodes": [1]}
        topic = {"error_code": 0, "name": TOPIC, "topic_id": TOPIC_ID, "partitions": [{**partition, "offline_replicas": []}]}
        broker = {"node_id": 1, "host": "127.0.0.1", "port": self._port()}
        return {"brokers": [broker], "cluster_id": "bare", "controller_id": 1, "topics": [topic]}


class ProduceSink:
    """Appends each Produce frame to the file and sends the canned answer."""

    def __init__(self, file: Path) -> None:
        self._file = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        self._canned: dict[int, bytes] = {}

    def __call__(self, connection: Bare, header: RequestHeader, frame: memoryview) -> None:
        os.write(self._file, frame)
        canned = self._canned.get(header.api_version)
        if canned is None:
            canned = self._canned[header.api_version] = self._encode(header.api_version)
        size = SIZE.pack(CORRELATION.size + len(canned))
        connection.transport.write(size + CORRELATION.pack(header.correlation_id) + canned)

    def _encode(self, version: int) -> bytes:
        row = {"index": 0, "error_code": 0, "base_offset": 0, "log_append_time": -1, "log_start_offset": 0}
        payload = {"responses": [{"name": TOPIC, "partition_responses": [row]}], "throttle_time": 0}
        return response_header(ApiKey.PRODUCE, version, 0)[CORRELATION.size :] + encode_response(ApiKey.PRODUCE, version, payload)


class FetchSource:
    """Answers Fetch from a log file: whole batches up to the partition's limit, or one batch."""

    def __init__(self, file: Path, *, by_sendfile: bool) -> None:
        self._file = file.open("rb", buffering=0)
        self._by_sendfile = by_sendfile
        self._offsets, self._positions = _batches(self._file.fileno())
        self._end_offset = self._offsets.pop()
        self._task: asyncio.Task[None] | None = None

    def __call__(self, connection: Bare, header: RequestHeader, frame: memoryview) -> None:
        assert header.api_version == 11, header
        at = header.body_offset + FETCH_V11.size
        name_bytes = struct.unpack_from(">h", frame, at)[0]
        _, _, _, offset, _, max_bytes = FETCH_PARTITION.unpack_from(frame, at + 2 + name_bytes)
        start, count = self._slice(offset, max_bytes)
        head = self._head(header.correlation_id, count)
        if not count:
            asyncio.get_running_loop().call_later(EMPTY_ANSWER_SECONDS, connection.transport.write, head)
        elif self._by_sendfile:
            self._send(connection.transport, head, start, count)
        else:
            buffer = bytearray(len(head) + count)
            buffer[: len(head)] = head
            os.preadv(self._file.fileno(), [memoryview(buffer)[len(head) :]], start)
            connection.transport.write(buffer)

    def _slice(self, offset: int, max_bytes: int) -> tuple[int, int]:
        if offset >= self._end_offset:
            return self._positions[-1], 0
        first = bisect_right(self._offsets, offset) - 1
        last = max(first + 1, bisect_right(self._positions, self._positions[first] + max_bytes) - 1)
        return self._positions[first], self._positions[last] - self._positions[first]

    def _head(self, correlation_id: int, count: int) -> bytes:
        end = self._end_offset
        head = struct.pack(">iihii", correlation_id, 0, 0, 0, 1) + struct.pack(">h", len(TOPIC)) + TOPIC.encode()
        head += struct.pack(">i ihqqqi i i", 1, 0, 0, end, end, 0, 0, -1, count)
        return SIZE.pack(len(head) + count) + head

    def _send(self, transport: asyncio.Transport, head: bytes, start: int, count: int) -> None:
        transport.write(head)
        sent = 0
        if not transport.get_write_buffer_size():
            try:
                sent = os.sendfile(transport.get_extra_info("socket").fileno(), self._file.fileno(), start, count)
            except BlockingIOError:
                sent = 0
        if sent < count:
            loop = asyncio.get_running_loop()
            self._task = loop.create_task(loop.sendfile(transport, self._file, start + sent, count - sent))  # type: ignore[arg-type]


def _batches(descriptor: int) -> tuple[list[int], list[int]]:
    """Base offsets and positions of a log's batches; at the ends of the lists the log's end."""
    offsets, positions, position, end_offset = [], [], 0, 0
    while head := os.pread(descriptor, HEADER_BYTES, position):
        header = parse_header(head)
        offsets.append(header.base_offset)
        positions.append(position)
        position, end_offset = position + header.size_bytes, header.next_offset
    return [*offsets, end_offset], [*positions, position]


async def serve(kind: str, file: Path) -> None:
    answer = ProduceSink(file) if kind == "produce" else FetchSource(file, by_sendfile=kind == "sendfile")
    server = await asyncio.get_running_loop().create_server(lambda: Bare(lambda: port, answer), "127.0.0.1", 0)
    port: int = server.sockets[0].getsockname()[1]
    print(port, flush=True)
    await server.serve_forever()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("kind", choices=("produce", "preadv", "sendfile"))
    parser.add_argument("file", type=Path)
    options = parser.parse_args()
    asyncio.run(serve(options.kind, options.file))


if __name__ == "__main__":
    main()
