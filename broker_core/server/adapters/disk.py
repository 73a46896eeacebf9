"""Real files: appends and preads inline (page cache), what may block for long in a small thread pool.

A file's descriptor closes when its handle has been given up and nothing refers to it any more: a `FileRange` that a
response still carries keeps it readable, also after the file was unlinked. Positions are the handle's own, so writers
never share a file offset.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from broker_core.seams import DiskFile

T = TypeVar("T")

POOL_THREADS = 4
POOL_PENDING_LIMIT = 256
TEMPORARY_SUFFIX = ".tmp"


class BlockingPool:
    """Runs file-system calls off the loop: at most `POOL_PENDING_LIMIT` at once, the rest wait their turn."""

    def __init__(self) -> None:
        self._executor = ThreadPoolExecutor(POOL_THREADS, thread_name_prefix="disk")
        self._slots = asyncio.Semaphore(POOL_PENDING_LIMIT)

    async def run(self, function: Callable[..., T], *args: object) -> T:
        async with self._slots:
            return await asyncio.get_running_loop().run_in_executor(self._executor, function, *args)

    def close(self) -> None:
        self._executor.shutdown(wait=True)


class RealFile:
    """One descriptor opened for reading and writing."""

    def __init__(self, path: str, descriptor: int, pool: BlockingPool, read_failed: Callable[[OSError], None]) -> None:
        self.path = path
        self._descriptor = descriptor
        self._pool = pool
        self._read_failed = read_failed
        self._size = os.fstat(descriptor).st_size
        self._given_up = False

    def __del__(self) -> None:
        with contextlib.suppress(OSError, AttributeError):
            os.close(self._descriptor)

    @property
    def size(self) -> int:
        return self._size

    def append(self, data: bytes | bytearray | memoryview) -> int:
        self._check_open()
        position = self._size
        try:
            self._size = self._write_all(position, data)
        except OSError:
            with contextlib.suppress(OSError):
                os.ftruncate(self._descriptor, position)
            raise
        return position

    def pread(self, position: int, count: int) -> bytes:
        try:
            return os.pread(self._descriptor, count, position)
        except OSError as error:
            self._tell(error)
            raise

    def preadv(self, position: int, buffer: memoryview) -> int:
        """Fills `buffer` from `position`; returns how many bytes there were."""
        try:
            return os.preadv(self._descriptor, [buffer], position)
        except OSError as error:
            self._tell(error)
            raise

    def pwrite(self, position: int, data: bytes | bytearray | memoryview) -> None:
        self._check_open()
        self._size = max(self._size, self._write_all(position, data))

    def truncate(self, size: int) -> None:
        self._check_open()
        try:
            os.ftruncate(self._descriptor, size)
        except OSError as error:
            self._name(error)
            raise
        self._size = size

    async def fsync(self) -> None:
        self._check_open()
        try:
            await self._pool.run(os.fsync, self._descriptor)
        except OSError as error:
            self._name(error)
            raise

    async def flush_and_drop_cache(self) -> None:
        self._check_open()
        try:
            await self._pool.run(_flush_and_drop_cache, self._descriptor)
        except OSError as error:
            self._name(error)
            raise

    def fileno(self) -> int:
        return self._descriptor

    def close(self) -> None:
        self._given_up = True

    def _write_all(self, position: int, data: bytes | bytearray | memoryview) -> int:
        """The position behind what was written."""
        end = position + (data.nbytes if isinstance(data, memoryview) else len(data))
        try:
            position += os.pwrite(self._descriptor, data, position)
            while position < end:  # a disk that is nearly full takes a part
                rest = memoryview(data).cast("B")
                position += os.pwrite(self._descriptor, rest[position - end :], position)
        except OSError as error:
            self._name(error)
            raise
        return end

    def _check_open(self) -> None:
        if self._given_up:
            raise OSError(errno.EBADF, "the file is closed", self.path)

    def _tell(self, error: OSError) -> None:
        self._name(error)
        self._read_failed(error)

    def _name(self, error: OSError) -> None:
        error.filename = error.filename or self.path


class RealDisk:
    """The folders of one broker; `close` waits for the pool's last call."""

    def __init__(self) -> None:
        self._pool = BlockingPool()
        self.on_read_error: Callable[[OSError], None] = lambda error: None

    def open(self, path: str, *, create: bool = False) -> DiskFile:
        flags = os.O_RDWR | os.O_CLOEXEC | (os.O_CREAT if create else 0)
        return RealFile(path, os.open(_checked(path), flags, 0o644), self._pool, self.on_read_error)

    def exists(self, path: str) -> bool:
        return os.path.exists(_checked(path))

    def is_dir(self, path: str) -> bool:
        return os.path.isdir(_checked(path))

    def list_dir(self, path: str) -> list[str]:
        return sorted(os.listdir(_checked(path)))

    def make_dirs(self, path: str) -> None:
        os.makedirs(_checked(path), exist_ok=True)

    async def space(self, path: str) -> tuple[int, int]:
        """The total leaves out what is kept back for root, as `df` does."""
        found = await self._pool.run(os.statvfs, _checked(path))
        return found.f_bavail * found.f_frsize, (found.f_blocks - found.f_bfree + found.f_bavail) * found.f_frsize

    def file_size(self, path: str) -> int:
        return os.stat(_checked(path)).st_size

    def modified_ms(self, path: str) -> int:
        return os.stat(_checked(path)).st_mtime_ns // 1_000_000

    def read_bytes(self, path: str, *, limit_bytes: int) -> bytes:
        with open(_checked(path), "rb") as file:
            data = file.read(limit_bytes + 1)
        if len(data) > limit_bytes:
            raise OSError(errno.EFBIG, f"longer than {limit_bytes} bytes", path)
        return data

    async def write_atomic(self, path: str, data: bytes) -> None:
        await self._pool.run(_write_atomic, _checked(path), data)

    def rename(self, source: str, target: str) -> None:
        os.replace(_checked(source), _checked(target))

    async def sync_folder(self, path: str) -> None:
        await self._pool.run(_fsync_folder, _checked(path))

    def remove_now(self, path: str) -> None:
        os.unlink(_checked(path))

    async def remove(self, path: str) -> None:
        await self._pool.run(_remove, _checked(path))

    async def remove_tree(self, path: str) -> None:
        await self._pool.run(_remove_tree, _checked(path))

    def close(self) -> None:
        self._pool.close()


def _checked(path: str) -> str:
    if not os.path.isabs(path):
        raise OSError(errno.EINVAL, "the path is not absolute", path)
    return path


def _write_atomic(path: str, data: bytes) -> None:
    temporary = path + TEMPORARY_SUFFIX
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
    try:
        with open(descriptor, "wb", buffering=0) as file:
            rest = memoryview(data)
            while rest:
                rest = rest[file.write(rest) :]
            os.fsync(descriptor)
        os.replace(temporary, path)
    except OSError:
        _remove(temporary)
        raise
    _fsync_folder(os.path.dirname(path))


def _flush_and_drop_cache(descriptor: int) -> None:
    os.fsync(descriptor)
    if hasattr(os, "posix_fadvise"):  # not on macOS, where a failed write stays unseen
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)


def _fsync_folder(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _remove(path: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)


def _remove_tree(path: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        shutil.rmtree(path)
