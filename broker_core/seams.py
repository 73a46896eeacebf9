"""What a broker may touch of the world: the parts that a `Node` is built from.

Everything in `broker_core` below `server/` reaches time, tasks, randomness, files, sockets, threads and the
coordination store through these protocols only. The real adapters are in `server/adapters/` and
`coordination/zookeeper/`; the simulator gives its own and so can cut, tear, delay and expire at will.

Inside a node `asyncio.Future`, `Event`, `Queue`, `Task.cancel` and `asyncio.CancelledError` are fine: they
run on the node's own loop. `asyncio.sleep`, `wait`, `wait_for`, `timeout`, `TaskGroup`, `gather`, `to_thread`,
`run_in_executor` and `open_connection` are not: they read a clock or an address-ordered set that no seed controls.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Protocol, TypeVar

from msgspec import Struct

from broker_core.coordination.store import Store

T = TypeVar("T")


class TimerHandle(Protocol):
    """What `Clock.call_later` returns; `cancel` may be called any number of times."""

    def cancel(self) -> None: ...


class Clock(Protocol):
    """Wall time for timestamps, monotonic time for durations, both in milliseconds."""

    def now_ms(self) -> int:
        """Milliseconds since the Unix epoch; may jump."""
        ...

    def monotonic_ms(self) -> float:
        """Milliseconds since an arbitrary start; never falls."""
        ...

    def call_later(self, delay_ms: float, callback: Callable[..., None], *args: object) -> TimerHandle: ...

    async def sleep(self, delay_ms: float) -> None: ...

    async def wait_for(self, awaitable: Awaitable[T], timeout_ms: float) -> T:
        """The awaitable's result, or `TimeoutError` (the awaitable is then cancelled)."""
        ...


class Spawn(Protocol):
    """Starts a task that belongs to the node: it ends with it, and its failure is logged and counted."""

    def __call__(self, coroutine: Coroutine[Any, Any, T], *, name: str) -> asyncio.Task[T]: ...


class Entropy(Protocol):
    """Randomness: the operating system's in a real broker, the seed's in a simulation."""

    def bytes(self, count: int) -> bytes: ...

    def random(self) -> float:
        """A float in [0, 1)."""
        ...


class DiskFile(Protocol):
    """One open file. Appends and preads run inline (page cache); errors are `OSError` with a path."""

    path: str

    @property
    def size(self) -> int:
        """Length in bytes as this handle's own writes and truncations left it."""
        ...

    def append(self, data: bytes | bytearray | memoryview) -> int:
        """Writes all of `data` at the end and returns the position it starts at.

        A short write (disk full) is cut off again before `OSError` is raised, so `size` never covers half an append.
        """
        ...

    def pread(self, position: int, count: int) -> bytes:
        """At most `count` bytes from `position`; fewer at the end of the file."""
        ...

    def pwrite(self, position: int, data: bytes | bytearray | memoryview) -> None: ...

    def truncate(self, size: int) -> None: ...

    async def fsync(self) -> None:
        """Makes everything appended before the call survive a power loss; runs off the loop."""
        ...

    async def flush_and_drop_cache(self) -> None:
        """`fsync`, and then has the system forget the file's pages: what is read next is what the disk has.

        An `fsync` that failed leaves pages that still look whole, and the next one succeeds without having written them.
        """
        ...

    def fileno(self) -> int | None:
        """The descriptor for sendfile, or None where there is none (the simulator)."""
        ...

    def close(self) -> None:
        """Gives the handle up; a `FileRange` that pins it keeps the descriptor open until it is sent."""
        ...


class Disk(Protocol):
    """The data folders of one broker. Paths are strings with `/`; relative ones are refused."""

    on_read_error: Callable[[OSError], None]
    """Told of every read of an open file that failed, also of one that belongs into a response and is read while that is sent."""

    def open(self, path: str, *, create: bool = False) -> DiskFile: ...

    def exists(self, path: str) -> bool: ...

    def is_dir(self, path: str) -> bool: ...

    def list_dir(self, path: str) -> list[str]:
        """Names in the folder, sorted."""
        ...

    def make_dirs(self, path: str) -> None: ...

    async def space(self, path: str) -> tuple[int, int]:
        """(free, total) bytes of the file system that the path is on, as far as they are ours; runs off the loop."""
        ...

    def file_size(self, path: str) -> int: ...

    def modified_ms(self, path: str) -> int:
        """The file's time of last modification in milliseconds since the Unix epoch."""
        ...

    def read_bytes(self, path: str, *, limit_bytes: int) -> bytes:
        """The whole file; one longer than the limit is refused with `OSError`."""
        ...

    async def write_atomic(self, path: str, data: bytes) -> None:
        """Temporary file, fsync, rename over `path`, fsync of the folder; runs off the loop."""
        ...

    def rename(self, source: str, target: str) -> None: ...

    async def sync_folder(self, path: str) -> None:
        """Makes the names in the folder, renamed ones too, survive a power loss; runs off the loop."""
        ...

    def remove_now(self, path: str) -> None:
        """Unlinks one file at once: small files, or while nothing is served yet."""
        ...

    async def remove(self, path: str) -> None:
        """Unlinks one file off the loop; a missing one is fine."""
        ...

    async def remove_tree(self, path: str) -> None:
        """Removes a folder and all in it off the loop; a missing one is fine."""
        ...


class FileRange(Struct, frozen=True):
    """Bytes of a file that belong into a response; only a shell turns it into I/O (preadv or sendfile)."""

    file: DiskFile
    position: int
    length: int


Part = bytes | bytearray | memoryview | FileRange


class FrameConnection(Protocol):
    """A client's connection that carries frames (the 4-byte size header is the adapter's affair)."""

    def send(self, frame: bytes) -> None:
        """Queues one frame; raises `ConnectionError` once closed."""
        ...

    async def receive(self) -> bytes | memoryview:
        """The next frame, a large one as a view of it; `ConnectionError` once the peer is gone or the frame breaks a limit."""
        ...

    def hand_on(self, take: Callable[[bytes | memoryview], None], lost: Callable[[str], None]) -> None:
        """Instead of `receive`: has `take` called with each frame as it comes, without a task's turn in between, those that wait
        already at once; and `lost` once, when no more can come, with the reason. Neither is called any more after `close`."""
        ...

    def close(self) -> None: ...


class Exchange(Protocol):
    """A request that has been handled, as far as that needs nobody else."""

    @property
    def waits_for(self) -> asyncio.Future[Any] | None:
        """What has to be done before there is an answer: other brokers' part of it. None where that is nothing."""
        ...

    def answer(self) -> list[Part] | None:
        """The response without its size header, or None where none is due (acks=0); asked for once, when nothing is waited for any more."""
        ...

    @property
    def throttled_ms(self) -> int:
        """How long nothing more is taken from the connection once the answer is asked for, which leaves at once: its client's quota."""
        ...

    def sent(self, waited_ms: float, sending_ms: float) -> None:
        """The answer, if one was due, has left. One that failed is not told.

        `waited_ms`: from the frame's last byte to `handle`; `sending_ms`: from the answer until the transport has taken it.
        """
        ...


class FrameHandler(Protocol):
    """The server's side of one connection: frame in, exchange out. Answers leave in the order of their frames."""

    async def handle(self, frame: memoryview) -> Exchange:
        """`ProtocolViolation` closes the connection, once what came before is answered. `frame` is the caller's again afterwards."""
        ...

    def may_follow(self, frame: memoryview) -> bool:
        """Whether the frame may be handled while exchanges before it still wait; otherwise it comes after their answers."""
        ...

    def closed(self) -> None: ...


class ConnectionThrottled(Exception):
    """The connection is not taken, as too many come from there; it is closed after `rest_ms`, unread."""

    def __init__(self, rest_ms: float) -> None:
        super().__init__(f"too many connections: closed in {rest_ms} ms")
        self.rest_ms = rest_ms


class Peer(Struct, frozen=True):
    """Who is at the other end of an accepted connection."""

    host: str
    port: int


class Listener(Protocol):
    port: int

    async def close(self) -> None: ...


class Network(Protocol):
    async def connect(self, host: str, port: int, *, timeout_ms: float) -> FrameConnection:
        """`ConnectionError` or `TimeoutError` when it cannot be had, `ConnectionRefusedError` where the machine says nobody listens."""
        ...

    async def listen(self, host: str, port: int, accept: Callable[[Peer], FrameHandler]) -> Listener:
        """Port 0 asks for any free one; a taken port is an `OSError` that names it. `accept` may raise `ConnectionThrottled`."""
        ...


class Aside(Protocol):
    """Does a job that computes for long from what it was given, touching nothing else, where it holds up nobody."""

    async def __call__(self, job: Callable[[], T]) -> T: ...


async def at_once(job: Callable[[], T]) -> T:
    """The `Aside` of a world whose time does not pass while something is computed."""
    return job()


class Node(Struct, frozen=True):
    """All that one broker may touch of the world."""

    clock: Clock
    spawn: Spawn
    entropy: Entropy
    disk: Disk
    network: Network
    store: Store
    aside: Aside = at_once
