"""A node for storage tests: files in memory that can crash at any write, a clock moved by hand, recorded tasks."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import replace
from typing import Any, TypeVar, cast

from broker_core.config import BrokerConfig, ConfigHolder, TopicConfig
from broker_core.model import TopicPartition
from broker_core.records.batch import Record, build_batch
from broker_core.records.budget import Budget
from broker_core.records.steps import finish
from broker_core.seams import Network, Node
from broker_core.storage.log import PartitionLog, TimestampAndOffset

T = TypeVar("T")
START_MS = 1_700_000_000_000
FOLDER = "/data/events-0"
PARTITION = TopicPartition("events", 0)


class Crash(BaseException):
    """The process died inside a disk operation."""


class MemoryFile:
    def __init__(self, disk: MemoryDisk, path: str, data: bytearray) -> None:
        self.path = path
        self.disk = disk
        self.data = data
        self._size = len(data)
        self.closed = False

    @property
    def size(self) -> int:
        return self._size

    def append(self, data: bytes | bytearray | memoryview) -> int:
        self.check_open()
        position = self._size
        del self.data[position:]
        if self.disk.step("append", self.path, torn=lambda: self.data.extend(bytes(data)[: len(data) // 2])):
            raise OSError(errno.ENOSPC, "No space left on device", self.path)
        self.data += data
        self._size += len(data)
        return position

    def pread(self, position: int, count: int) -> bytes:
        self.disk.check_read(self.path)
        return bytes(self.data[position : position + count])

    def pwrite(self, position: int, data: bytes | bytearray | memoryview) -> None:
        self.disk.step("pwrite", self.path)
        self.data[position : position + len(data)] = data
        self._size = len(self.data)

    def truncate(self, size: int) -> None:
        self.check_open()
        self.disk.step("truncate", self.path)
        del self.data[size:]
        self._size = size

    async def fsync(self) -> None:
        self.check_open()
        self.disk.step("fsync", self.path)

    async def flush_and_drop_cache(self) -> None:
        await self.fsync()

    def check_open(self) -> None:
        if self.closed:
            raise OSError(errno.EBADF, "the file is closed", self.path)

    def fileno(self) -> int | None:
        return None

    def close(self) -> None:
        self.closed = True


class MemoryDisk:
    """`crash_at`: number of the mutating operation in which the process dies (an append is torn in its middle)."""

    def __init__(self, files: dict[str, bytearray] | None = None, folders: Sequence[str] = ()) -> None:
        self.files = {path: bytearray(data) for path, data in (files or {}).items()}
        self.folders = set(folders)
        self.steps: list[tuple[str, str]] = []
        self.crash_at: int | None = None
        self.crashed = False
        self.full = False
        self.fail: dict[str, int] = {}
        """Operation → errno it fails with."""
        self.reads = 0
        self.room = (1 << 40, 1 << 40)
        """Bytes (free, total)."""
        self.on_read_error: Callable[[OSError], None] = lambda error: None

    def after_crash(self) -> MemoryDisk:
        """What a new process finds after a kill: every byte that was handed to the system."""
        return MemoryDisk(self.files, sorted(self.folders))

    def check_read(self, path: str) -> None:
        self.reads += 1
        if self.crashed:
            raise Crash(path)
        if "read" in self.fail:
            raise OSError(self.fail["read"], "read failed", path)

    def step(self, operation: str, path: str, torn: Callable[[], None] | None = None) -> bool:
        """Counts a change, dies in the chosen one; True when the disk is full and the operation needs space."""
        if self.crashed:
            raise Crash(path)
        self.steps.append((operation, path))
        if self.crash_at is not None and len(self.steps) > self.crash_at:
            self.crashed = True
            if torn is not None:
                torn()
            raise Crash(f"{operation} {path}")
        if operation in self.fail:
            raise OSError(self.fail[operation], f"{operation} failed", path)
        return self.full

    def open(self, path: str, *, create: bool = False) -> MemoryFile:
        if path not in self.files:
            if not create:
                raise FileNotFoundError(errno.ENOENT, "No such file", path)
            if self.step("create", path):
                raise OSError(errno.ENOSPC, "No space left on device", path)
            self.files[path] = bytearray()
        return MemoryFile(self, path, self.files[path])

    def exists(self, path: str) -> bool:
        return path in self.files or path in self.folders

    def is_dir(self, path: str) -> bool:
        return path in self.folders

    def list_dir(self, path: str) -> list[str]:
        prefix = f"{path}/"
        inside = [entry[len(prefix) :] for entry in (*self.files, *self.folders) if entry.startswith(prefix)]
        return sorted({entry.split("/")[0] for entry in inside})

    def make_dirs(self, path: str) -> None:
        self.folders.add(path)

    async def space(self, path: str) -> tuple[int, int]:
        return self.room

    def file_size(self, path: str) -> int:
        return len(self.files[path])

    def modified_ms(self, path: str) -> int:
        return START_MS

    def read_bytes(self, path: str, *, limit_bytes: int) -> bytes:
        self.check_read(path)
        return bytes(self.files[path])

    async def write_atomic(self, path: str, data: bytes) -> None:
        await asyncio.sleep(0)
        if self.step("write_atomic", path):
            raise OSError(errno.ENOSPC, "No space left on device", path)
        self.files[path] = bytearray(data)

    def rename(self, source: str, target: str) -> None:
        self.step("rename", source)
        if source in self.folders:
            self.folders.remove(source)
            self.folders.add(target)
            for path in [path for path in self.files if path.startswith(f"{source}/")]:
                self.files[target + path[len(source) :]] = self.files.pop(path)
        else:
            self.files[target] = self.files.pop(source)

    async def sync_folder(self, path: str) -> None:
        await asyncio.sleep(0)
        self.step("sync_folder", path)

    def remove_now(self, path: str) -> None:
        self.step("remove", path)
        del self.files[path]

    async def remove(self, path: str) -> None:
        await asyncio.sleep(0)
        self.step("remove", path)
        self.files.pop(path, None)

    async def remove_tree(self, path: str) -> None:
        self.step("remove_tree", path)
        self.folders.discard(path)
        for entry in [entry for entry in self.files if entry.startswith(f"{path}/")]:
            del self.files[entry]


class ManualClock:
    def __init__(self) -> None:
        self.now = START_MS
        self.sleeping: list[tuple[float, asyncio.Future[None]]] = []
        self.yields = 0

    def now_ms(self) -> int:
        return self.now

    def monotonic_ms(self) -> float:
        return float(self.now)

    def call_later(self, delay_ms: float, callback: Callable[..., None], *args: object) -> asyncio.TimerHandle:
        raise NotImplementedError

    async def sleep(self, delay_ms: float) -> None:
        if delay_ms <= 0:
            self.yields += 1
            await asyncio.sleep(0)
            return
        waiter = asyncio.get_running_loop().create_future()
        self.sleeping.append((self.now + delay_ms, waiter))
        await waiter

    async def wait_for(self, awaitable: Awaitable[T], timeout_ms: float) -> T:
        return await awaitable

    async def advance(self, delay_ms: int) -> None:
        self.now += delay_ms
        due = [waiter for at, waiter in self.sleeping if at <= self.now]
        self.sleeping = [(at, waiter) for at, waiter in self.sleeping if at > self.now]
        for waiter in due:
            if not waiter.done():
                waiter.set_result(None)


class TaskList:
    def __init__(self) -> None:
        self.tasks: list[asyncio.Task[Any]] = []

    def __call__(self, coroutine: Coroutine[Any, Any, T], *, name: str) -> asyncio.Task[T]:
        task = asyncio.get_running_loop().create_task(coroutine, name=name)
        task.add_done_callback(lambda ended: None if ended.cancelled() else ended.exception())
        self.tasks.append(task)
        return task

    async def settle(self, *, rounds: int = 200) -> None:
        """Runs until all tasks are done or wait for the clock."""
        for _ in range(rounds):
            await asyncio.sleep(0)

    async def stop(self) -> None:
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)


class FixedEntropy:
    def __init__(self) -> None:
        self.count = 0

    def bytes(self, count: int) -> bytes:
        self.count += 1
        return self.count.to_bytes(count, "big")

    def random(self) -> float:
        return 0.5


class World:
    """One broker's storage; `restart` and `crash` give the next process on what the disk holds."""

    def __init__(self, disk: Any = None, **settings: Any) -> None:
        self.disk = disk if disk is not None else MemoryDisk(folders=["/data"])
        self.clock = ManualClock()
        self.spawn = TaskList()
        self.node = Node(self.clock, self.spawn, FixedEntropy(), self.disk, cast(Network, None), cast(Any, None))
        self.holder = ConfigHolder(BrokerConfig.load({}))
        self.topic_config: TopicConfig = replace(self.holder.topic("events"), **settings)

    def configure(self, **settings: Any) -> None:
        self.topic_config = replace(self.topic_config, **settings)

    async def open(self, *, folder: str = FOLDER, clean: bool = False, recovery_point: int = 0, log_start_offset: int = 0) -> PartitionLog:
        return await PartitionLog.open(
            self.node,
            folder,
            PARTITION,
            lambda: self.topic_config,
            recovery_point=recovery_point,
            log_start_offset=log_start_offset,
            clean=clean,
        )

    def next_process(self) -> World:
        """A new process on the same files, after a kill or a clean stop."""
        world = World(self.disk.after_crash())
        world.topic_config = self.topic_config
        world.clock.now = self.clock.now
        return world


def record(offset: int = 0, *, key: str | None = "k", value: str | None = "v", timestamp_ms: int = START_MS) -> Record:
    return Record(offset, timestamp_ms, None if key is None else key.encode(), None if value is None else value.encode(), ())


def batch(count: int = 1, *, value: str = "v", base_offset: int = 0, timestamp_ms: int = START_MS, **fields: Any) -> bytes:
    """A batch of `count` records; `fields` as for `build_batch`."""
    records = [record(base_offset + index, value=value, timestamp_ms=timestamp_ms) for index in range(count)]
    return build_batch(records, base_offset=base_offset, timestamp_ms=timestamp_ms, **fields)


def sized_batch(size_bytes: int, *, base_offset: int = 0, timestamp_ms: int = START_MS, **fields: Any) -> bytes:
    """A batch of one record that is exactly `size_bytes` long."""
    length = size_bytes - len(batch(1, value="", base_offset=base_offset, timestamp_ms=timestamp_ms, **fields))
    for tried in range(length, max(length - 8, -1), -1):
        data = batch(1, value="x" * tried, base_offset=base_offset, timestamp_ms=timestamp_ms, **fields)
        if len(data) == size_bytes:
            return data
    raise ValueError(f"no batch of one record has {size_bytes} bytes")


def all_bytes(log: PartitionLog) -> bytes:
    """The whole readable log."""
    data, offset = b"", log.log_start_offset
    while offset < log.log_end_offset:
        part = log.read(offset, 1 << 30, log.log_end_offset, min_one_batch=True)
        if part.records is None:
            break
        data += part.records.file.pread(part.records.position, part.length)
        offset = part.next_offset
    return data


def at_time(log: PartitionLog, timestamp_ms: int) -> TimestampAndOffset | None:
    return finish(log.reader.find_timestamp(timestamp_ms, log.log_start_offset, Budget()))


def at_newest(log: PartitionLog) -> TimestampAndOffset | None:
    return finish(log.reader.max_timestamp(log.log_start_offset, Budget()))
