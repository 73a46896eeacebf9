"""A node's disk: what the page cache holds, what has been flushed, and what a crash leaves of the difference.

Names (creation, rename, unlink) are durable at once, as on a journaled file system; contents when `fsync` returns.
`kill` keeps everything written. `kill_in_next_append` kills the node inside a write, which leaves a prefix of it.
`lose_power` keeps of each file its flushed bytes, and by the seed's choice a prefix of what came after. A flush that fails
leaves zeros on the disk under pages that look written: the next flush passes them over, and only who drops the cache sees them.
"""

from __future__ import annotations

import contextlib
import errno
import random
from collections.abc import Callable, Iterator

from broker_core.seams import Clock, DiskFile
from tests.simulation.kernel.parts import NodeKilled

FSYNC_MS = (0.2, 5.0)
TEMPORARY_SUFFIX = ".tmp"
LARGE_BYTES = 1 << 40
"""What a disk has room for, unless a fault says otherwise."""


class Inode:
    """`data` is what a reader sees, `durable` what survives a power loss."""

    def __init__(self, now_ms: int) -> None:
        self.data = bytearray()
        self.durable = bytearray()
        self.clean_bytes = 0
        self.modified_ms = now_ms

    def touch(self, position: int, now_ms: int) -> None:
        self.clean_bytes = min(self.clean_bytes, position)
        self.modified_ms = now_ms

    def flush(self, start: int, tail: bytes, size: int) -> None:
        self.durable[start:] = tail
        del self.durable[size:]

    def fail_to_flush(self) -> None:
        """What was to be written is taken for written."""
        start, size = min(self.clean_bytes, len(self.data)), len(self.data)
        self.flush(start, bytes(size - start), size)
        self.clean_bytes = size

    def drop_cache(self) -> None:
        self.data[: self.clean_bytes] = self.durable[: self.clean_bytes]

    def lose_unflushed(self, chance: random.Random) -> bool:
        """True when bytes were lost."""
        if self.data == self.durable:
            return False
        common = _common_prefix(self.data, self.durable)
        kept = common + chance.randint(0, len(self.data) - common) if chance.random() < 0.5 else common
        survivor = self.data[:kept] if kept > common else self.durable
        lost = survivor != self.data
        self.data = bytearray(survivor)
        self.durable = bytearray(survivor)
        self.clean_bytes = len(survivor)
        return lost


def _common_prefix(one: bytearray, other: bytearray) -> int:
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[:middle] == other[:middle] else (low, middle - 1)
    return low


class DiskState:
    """What outlives the process: the machine's files and folders."""

    def __init__(self) -> None:
        self.files: dict[str, Inode] = {}
        self.folders: dict[str, None] = {"/": None}

    def lose_power(self, chance: random.Random) -> list[str]:
        """Paths that lost bytes."""
        return [path for path in sorted(self.files) if self.files[path].lose_unflushed(chance)]

    @property
    def used_bytes(self) -> int:
        return sum(len(inode.data) for inode in self.files.values())


class SimDisk:
    """One life of a node on its disk. Faults: `capacity_bytes`, `failing_reads`, `failing_writes`, `no_handles`, `dead`."""

    def __init__(self, state: DiskState, clock: Clock, chance: random.Random, note: Callable[[str, str, bytes], None]) -> None:
        self.state = state
        self.clock = clock
        self.chance = chance
        self.note = note
        self.dead = False
        self.capacity_bytes: int | None = None
        self.failing_reads: list[str] = []
        self.failing_writes: list[str] = []
        self.no_handles: list[str] = []
        self.kill_in_append: Callable[[], None] | None = None
        self.on_read_error: Callable[[OSError], None] = lambda error: None

    @contextlib.contextmanager
    def sound(self) -> Iterator[None]:
        """For the simulator's own looks at files: no read fails."""
        failing, self.failing_reads = self.failing_reads, []
        try:
            yield
        finally:
            self.failing_reads = failing

    def heal(self) -> None:
        self.capacity_bytes = None
        self.failing_reads = []
        self.failing_writes = []
        self.no_handles = []

    def open(self, path: str, *, create: bool = False) -> DiskFile:
        self.check(path)
        if any(part in path for part in self.no_handles):
            raise OSError(errno.EMFILE, "too many open files", path)
        inode = self.state.files.get(path)
        if inode is None:
            if not create or self._parent(path) not in self.state.folders:
                raise _missing(path)
            inode = self.state.files[path] = Inode(self.clock.now_ms())
            self.note("create", path, b"")
        return SimFile(path, inode, self)

    def exists(self, path: str) -> bool:
        self.check(path)
        return path in self.state.files or path in self.state.folders

    def is_dir(self, path: str) -> bool:
        self.check(path)
        return path in self.state.folders

    def list_dir(self, path: str) -> list[str]:
        self.check(path)
        if path not in self.state.folders:
            raise _missing(path)
        prefix = path.rstrip("/") + "/"
        inside = [name[len(prefix) :] for name in [*self.state.files, *self.state.folders] if name.startswith(prefix) and name != "/"]
        return sorted(name for name in inside if name and "/" not in name)

    def make_dirs(self, path: str) -> None:
        self.check(path)
        while path not in self.state.folders:
            if path in self.state.files:
                raise FileExistsError(errno.EEXIST, "a file is in the way", path)
            self.state.folders[path] = None
            path = self._parent(path)

    async def space(self, path: str) -> tuple[int, int]:
        self.check_read(path)
        capacity = LARGE_BYTES if self.capacity_bytes is None else self.capacity_bytes
        return max(0, capacity - self.state.used_bytes), capacity

    def file_size(self, path: str) -> int:
        return len(self._inode(path).data)

    def modified_ms(self, path: str) -> int:
        return self._inode(path).modified_ms

    def read_bytes(self, path: str, *, limit_bytes: int) -> bytes:
        inode = self._inode(path)
        self.check_read(path)
        if len(inode.data) > limit_bytes:
            raise OSError(errno.EFBIG, f"longer than {limit_bytes} bytes", path)
        return bytes(inode.data)

    async def write_atomic(self, path: str, data: bytes) -> None:
        self.check(path)
        self.check_write(path, len(data))
        if self._parent(path) not in self.state.folders:
            raise _missing(path)
        inode = Inode(self.clock.now_ms())
        temporary = path + TEMPORARY_SUFFIX
        self.state.files[temporary] = inode
        await self._blocking_call()
        inode.data[:] = inode.durable[:] = data
        inode.clean_bytes = len(data)
        self.state.files.pop(temporary, None)
        self.state.files[path] = inode
        self.note("replace", path, data)

    def rename(self, source: str, target: str) -> None:
        self.check(source)
        self.note("rename", f"{source} {target}", b"")
        if source in self.state.files:
            self.state.files[target] = self.state.files.pop(source)
        elif source in self.state.folders:
            self._rename_folder(source, target)
        else:
            raise _missing(source)

    def _rename_folder(self, source: str, target: str) -> None:
        if target in self.state.files or (target in self.state.folders and self.list_dir(target)):
            raise OSError(errno.ENOTEMPTY, "the target is there already", target)
        for path in [path for path in self.state.files if path.startswith(source + "/")]:
            self.state.files[target + path[len(source) :]] = self.state.files.pop(path)
        for path in [path for path in self.state.folders if path == source or path.startswith(source + "/")]:
            del self.state.folders[path]
            self.state.folders[target + path[len(source) :]] = None

    async def sync_folder(self, path: str) -> None:
        """Names are durable already; what a failing disk says of them is told here."""
        self.check_write(path, 0)
        await self._blocking_call()

    def remove_now(self, path: str) -> None:
        self._inode(path)
        del self.state.files[path]
        self.note("remove", path, b"")

    async def remove(self, path: str) -> None:
        self.check(path)
        await self._blocking_call()
        if self.state.files.pop(path, None) is not None:
            self.note("remove", path, b"")

    async def remove_tree(self, path: str) -> None:
        self.check(path)
        await self._blocking_call()
        for name in [name for name in self.state.files if name.startswith(path + "/")]:
            del self.state.files[name]
        for name in [name for name in self.state.folders if name == path or name.startswith(path + "/")]:
            del self.state.folders[name]
        self.note("remove_tree", path, b"")

    async def _blocking_call(self) -> None:
        await self.clock.sleep(self.chance.uniform(*FSYNC_MS))
        self.check("/")

    async def flush(self, inode: Inode, path: str) -> None:
        self.check(path)
        try:
            self.check_write(path, 0)
        except OSError:
            inode.fail_to_flush()
            raise
        start, size = min(inode.clean_bytes, len(inode.data)), len(inode.data)
        tail = bytes(memoryview(inode.data)[start:])
        inode.clean_bytes = size
        try:
            await self._blocking_call()
        except BaseException:
            inode.clean_bytes = min(inode.clean_bytes, start)
            raise
        inode.flush(start, tail, size)
        self.note("fsync", path, b"")

    def check(self, path: str) -> None:
        if self.dead:
            raise NodeKilled
        if not path.startswith("/"):
            raise OSError(errno.EINVAL, "the path is not absolute", path)

    def check_read(self, path: str) -> None:
        self.check(path)
        if any(part in path for part in self.failing_reads):
            raise OSError(errno.EIO, "read error", path)

    def check_write(self, path: str, count: int) -> None:
        self.check(path)
        if any(part in path for part in self.failing_writes):
            raise OSError(errno.EIO, "write error", path)
        if count and self.capacity_bytes is not None and self.state.used_bytes + count > self.capacity_bytes:
            raise OSError(errno.ENOSPC, "no space left on device", path)

    def _inode(self, path: str) -> Inode:
        self.check(path)
        inode = self.state.files.get(path)
        if inode is None:
            raise _missing(path)
        return inode

    @staticmethod
    def _parent(path: str) -> str:
        return path.rsplit("/", 1)[0] or "/"


class SimFile:
    """A handle; it stays good after its name was removed or renamed, as on Unix."""

    def __init__(self, path: str, inode: Inode, disk: SimDisk) -> None:
        self.path = path
        self._inode = inode
        self._disk = disk
        self._closed = False

    @property
    def size(self) -> int:
        return len(self._inode.data)

    def append(self, data: bytes | bytearray | memoryview) -> int:
        self._check_open()
        self._disk.check_write(self.path, len(data))
        position = len(self._inode.data)
        self._inode.touch(position, self._disk.clock.now_ms())
        if self._disk.kill_in_append is not None:
            self._inode.data += bytes(data)[: self._disk.chance.randint(0, len(data))]
            self._disk.kill_in_append()
            raise NodeKilled
        self._inode.data += data
        self._disk.note("append", f"{self.path} {position}", bytes(data))
        return position

    def pread(self, position: int, count: int) -> bytes:
        try:
            self._disk.check_read(self.path)
        except OSError as error:
            self._disk.on_read_error(error)
            raise
        return bytes(memoryview(self._inode.data)[position : position + count])

    def pwrite(self, position: int, data: bytes | bytearray | memoryview) -> None:
        self._check_open()
        grown = max(0, position + len(data) - len(self._inode.data))
        self._disk.check_write(self.path, grown)
        self._inode.touch(min(position, len(self._inode.data)), self._disk.clock.now_ms())
        if position > len(self._inode.data):
            self._inode.data += bytes(position - len(self._inode.data))
        self._inode.data[position : position + len(data)] = data
        self._disk.note("pwrite", f"{self.path} {position}", bytes(data))

    def truncate(self, size: int) -> None:
        self._check_open()
        self._disk.check_write(self.path, 0)
        self._inode.touch(min(size, len(self._inode.data)), self._disk.clock.now_ms())
        if size <= len(self._inode.data):
            del self._inode.data[size:]
        else:
            self._inode.data += bytes(size - len(self._inode.data))
        self._disk.note("truncate", f"{self.path} {size}", b"")

    async def fsync(self) -> None:
        self._check_open()
        await self._disk.flush(self._inode, self.path)

    async def flush_and_drop_cache(self) -> None:
        await self.fsync()
        self._inode.drop_cache()

    def fileno(self) -> int | None:
        return None

    def close(self) -> None:
        self._closed = True

    def _check_open(self) -> None:
        self._disk.check(self.path)
        if self._closed:
            raise OSError(errno.EBADF, "the file is closed", self.path)


def _missing(path: str) -> FileNotFoundError:
    return FileNotFoundError(errno.ENOENT, "no such file or folder", path)
