"""What the log's design rests on, measured on this machine (spec S5): linear against random writes, and three ways from file to socket.

The writes go to the folder of temporary files, in blocks of 4 KiB with a sync after each MiB. The ways to a socket read a
file in the page cache and write to a loopback connection that another process drains.
"""

from __future__ import annotations

import mmap
import multiprocessing
import os
import random
import socket
import time
from collections.abc import Callable
from pathlib import Path

from tests.bench import world
from tests.bench.figures import Figure

BLOCK_BYTES = 4096
SYNC_BYTES = 2**20
FILE_BYTES, FILE_BYTES_QUICK = 512 * 2**20, 64 * 2**20
WRITTEN_BYTES, WRITTEN_BYTES_QUICK = 16 * 2**20, 2 * 2**20
SENT_BYTES, SENT_BYTES_QUICK = 256 * 2**20, 32 * 2**20
SOURCE_BYTES = 64 * 2**20
SLICE_BYTES = (4 * 2**10, 16 * 2**10, 64 * 2**10, 256 * 2**10, 2**20, 8 * 2**20)
ROUNDS, ROUNDS_QUICK = 5, 2

Send = Callable[[socket.socket, int, int], None]


def disk(quick: bool) -> list[Figure]:
    with world.folder() as data:
        return [*_writes(data, quick), *_sends(data, quick)]


def _writes(data: Path, quick: bool) -> list[Figure]:
    size, count = (FILE_BYTES_QUICK, WRITTEN_BYTES_QUICK) if quick else (FILE_BYTES, WRITTEN_BYTES)
    linear, scattered, choose = [], [], random.Random(1)
    with (data / "writes").open("wb", buffering=0) as file:
        os.posix_fallocate(file.fileno(), 0, size)
        for number in range(ROUNDS_QUICK if quick else ROUNDS):
            start = number * count % (size - count)
            linear.append(_write_rate(file.fileno(), list(range(start, start + count, BLOCK_BYTES))))
            scattered.append(
                _write_rate(file.fileno(), [choose.randrange(size // BLOCK_BYTES) * BLOCK_BYTES for _ in range(count // BLOCK_BYTES)])
            )
    ratios = [one / other for one, other in zip(linear, scattered, strict=True)]
    return [
        Figure("4 KiB writes, linear", "MB/s", linear),
        Figure("4 KiB writes, random", "MB/s", scattered),
        Figure("linear / random", "ratio", ratios),
    ]


def _write_rate(descriptor: int, positions: list[int]) -> float:
    block = os.urandom(BLOCK_BYTES)
    started = time.monotonic()
    for number, position in enumerate(positions, 1):
        os.pwrite(descriptor, block, position)
        if number * BLOCK_BYTES % SYNC_BYTES == 0:
            os.fdatasync(descriptor)
    return len(positions) * BLOCK_BYTES / (time.monotonic() - started) / 1e6


def _sends(data: Path, quick: bool) -> list[Figure]:
    path = data / "source"
    path.write_bytes(os.urandom(2**20) * (SOURCE_BYTES // 2**20))
    with path.open("rb", buffering=0) as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as mapped:
        ways = {"sendfile": _by_sendfile(file.fileno()), "preadv + send": _by_preadv(file.fileno()), "mmap + send": _by_mmap(mapped)}
        with Drain() as drain:
            return [figure for size in SLICE_BYTES for figure in _send_figures(drain.connection, ways, size, quick)]


def _send_figures(connection: socket.socket, ways: dict[str, Send], size: int, quick: bool) -> list[Figure]:
    rates: dict[str, list[float]] = {name: [] for name in ways}
    total = min(SENT_BYTES_QUICK if quick else SENT_BYTES, size * 4096)
    for _ in range(ROUNDS_QUICK if quick else ROUNDS):
        for name, send in ways.items():
            started = time.monotonic()
            for number in range(total // size):
                send(connection, number * size % SOURCE_BYTES, size)
            rates[name].append(total / (time.monotonic() - started) / 1e6)
    return [Figure(f"slices of {size // 1024} KiB by {name}", "MB/s", values) for name, values in rates.items()]


def _by_sendfile(descriptor: int) -> Send:
    def send(connection: socket.socket, position: int, count: int) -> None:
        while count:
            sent = os.sendfile(connection.fileno(), descriptor, position, count)
            position, count = position + sent, count - sent

    return send


def _by_preadv(descriptor: int) -> Send:
    def send(connection: socket.socket, position: int, count: int) -> None:
        buffer = bytearray(count)
        os.preadv(descriptor, [buffer], position)
        connection.sendall(buffer)

    return send


def _by_mmap(mapped: mmap.mmap) -> Send:
    def send(connection: socket.socket, position: int, count: int) -> None:
        with memoryview(mapped) as view, view[position : position + count] as part:
            connection.sendall(part)

    return send


class Drain:
    """A connection whose other end a process of its own reads and throws away."""

    def __enter__(self) -> Drain:
        with socket.create_server(("127.0.0.1", 0)) as server:
            self._process = multiprocessing.get_context("fork").Process(target=_drain, args=(server.getsockname(),), daemon=True)
            self._process.start()
            self.connection = server.accept()[0]
        return self

    def __exit__(self, *_: object) -> None:
        self.connection.close()
        self._process.join(10)


def _drain(address: tuple[str, int]) -> None:
    buffer = bytearray(2**20)
    with socket.create_connection(address) as connection:
        while connection.recv_into(buffer):
            pass
