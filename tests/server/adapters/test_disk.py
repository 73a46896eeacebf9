"""The real disk keeps the seam's promises; what a simulated one shares is tested on both."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import random
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from broker_core.seams import Disk
from broker_core.server.adapters.clock import RealClock
from broker_core.server.adapters.disk import RealDisk
from tests.simulation.kernel.disk import DiskState, SimDisk

pytestmark = pytest.mark.spec("S5")


@pytest.fixture(params=["real", "simulated"])
async def disk(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Disk]:
    if request.param == "simulated":
        disk = SimDisk(DiskState(), RealClock(), random.Random(1), lambda kind, detail, data: None)
        disk.make_dirs(str(tmp_path))
        yield disk
        return
    real = RealDisk()
    yield real
    real.close()


async def test_appends_reads_and_truncation(disk: Disk, tmp_path: Path) -> None:
    file = disk.open(f"{tmp_path}/log", create=True)
    assert [file.append(b"hello "), file.append(memoryview(b"world")), file.append(bytearray(b"!"))] == [0, 6, 11]
    assert (file.size, file.pread(6, 5), file.pread(10, 100), file.pread(50, 5)) == (12, b"world", b"d!", b"")
    file.truncate(5)
    assert (file.size, file.append(b"?")) == (5, 5)
    file.pwrite(0, b"J")
    file.pwrite(8, b"end")
    assert file.pread(0, 100) == b"Jello?\0\0end"
    assert file.size == 11
    await file.fsync()
    assert disk.file_size(f"{tmp_path}/log") == 11
    again = disk.open(f"{tmp_path}/log")
    assert again.size == 11


async def test_a_file_is_read_anew_from_the_disk_once_it_is_flushed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The order is what counts: pages that are still to be written cannot be dropped."""
    calls: list[tuple[int, ...] | str] = []
    fsync, advise = os.fsync, os.posix_fadvise

    def flush(descriptor: int) -> None:
        calls.append("flush")
        fsync(descriptor)

    def drop(descriptor: int, *what: int) -> None:
        calls.append(what)
        advise(descriptor, *what)

    monkeypatch.setattr(os, "fsync", flush)
    monkeypatch.setattr(os, "posix_fadvise", drop)
    with contextlib.closing(RealDisk()) as disk:
        file = disk.open(f"{tmp_path}/log", create=True)
        file.append(b"data" * 5000)
        await file.flush_and_drop_cache()
        assert calls == ["flush", (0, 0, os.POSIX_FADV_DONTNEED)]
        assert file.pread(0, 100_000) == b"data" * 5000
        file.close()
        with pytest.raises(OSError, match="closed"):
            await file.flush_and_drop_cache()


async def test_a_closed_handle_still_reads_for_those_who_hold_it_but_writes_no_more(disk: Disk, tmp_path: Path) -> None:
    file = disk.open(f"{tmp_path}/log", create=True)
    file.append(b"data")
    file.close()
    disk.remove_now(f"{tmp_path}/log")
    assert file.pread(0, 4) == b"data"
    with pytest.raises(OSError, match="closed"):
        file.append(b"more")
    with pytest.raises(OSError, match="closed"):
        file.truncate(0)
    with pytest.raises(OSError, match="closed"):
        await file.fsync()


async def test_names(disk: Disk, tmp_path: Path) -> None:
    disk.make_dirs(f"{tmp_path}/topic-0/deep")
    disk.make_dirs(f"{tmp_path}/topic-0/deep")
    for name in ("b", "a"):
        disk.open(f"{tmp_path}/topic-0/{name}", create=True).append(name.encode())
    assert disk.list_dir(f"{tmp_path}/topic-0") == ["a", "b", "deep"]
    assert disk.is_dir(f"{tmp_path}/topic-0/deep") and not disk.is_dir(f"{tmp_path}/topic-0/a")
    disk.rename(f"{tmp_path}/topic-0/a", f"{tmp_path}/topic-0/b")
    assert disk.read_bytes(f"{tmp_path}/topic-0/b", limit_bytes=1) == b"a"
    disk.rename(f"{tmp_path}/topic-0", f"{tmp_path}/topic-0-delete")
    assert disk.list_dir(str(tmp_path)) == ["topic-0-delete"]
    assert disk.exists(f"{tmp_path}/topic-0-delete/b") and not disk.exists(f"{tmp_path}/topic-0/b")
    await disk.remove(f"{tmp_path}/topic-0-delete/b")
    await disk.remove(f"{tmp_path}/topic-0-delete/b")
    await disk.remove_tree(f"{tmp_path}/topic-0-delete")
    await disk.remove_tree(f"{tmp_path}/topic-0-delete")
    assert disk.list_dir(str(tmp_path)) == []


async def test_refusals_name_the_path(disk: Disk, tmp_path: Path) -> None:
    missing = f"{tmp_path}/missing"
    for attempt in (disk.open, disk.file_size, disk.modified_ms, disk.remove_now, disk.list_dir):
        with pytest.raises(FileNotFoundError, match="missing"):
            attempt(missing)
    with pytest.raises(FileNotFoundError):
        disk.read_bytes(missing, limit_bytes=10)
    with pytest.raises(FileNotFoundError):
        disk.rename(missing, f"{tmp_path}/other")
    with pytest.raises(OSError, match="relative"):
        disk.exists("relative")
    await disk.write_atomic(f"{tmp_path}/long", b"12345")
    with pytest.raises(OSError, match="long"):
        disk.read_bytes(f"{tmp_path}/long", limit_bytes=4)


async def test_write_atomic_replaces_and_leaves_nothing_else(disk: Disk, tmp_path: Path) -> None:
    path = f"{tmp_path}/checkpoint"
    await disk.write_atomic(path, b"old")
    await disk.write_atomic(path, b"new")
    assert disk.read_bytes(path, limit_bytes=10) == b"new"
    assert disk.list_dir(str(tmp_path)) == ["checkpoint"]
    with pytest.raises(OSError, match="absent"):
        await disk.write_atomic(f"{tmp_path}/absent/checkpoint", b"x")


@pytest.mark.spec("S6")
async def test_a_short_write_is_cut_off_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk takes half of an append: the half goes, the error stays, and later appends are whole."""
    disk = RealDisk()
    file = disk.open(f"{tmp_path}/log", create=True)
    file.append(b"before")
    real_pwrite, calls = os.pwrite, []

    def short_pwrite(descriptor: int, data: memoryview, position: int) -> int:
        calls.append(position)
        if len(calls) == 1:
            return real_pwrite(descriptor, data[:3], position)
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "pwrite", short_pwrite)
        with pytest.raises(OSError, match="log") as full:
            file.append(b"too much")
    assert full.value.errno == errno.ENOSPC
    assert (file.size, os.path.getsize(f"{tmp_path}/log")) == (6, 6)
    assert file.append(b" after") == 6
    assert file.pread(0, 100) == b"before after"
    disk.close()


async def test_the_descriptor_goes_with_the_last_reference(tmp_path: Path) -> None:
    disk = RealDisk()
    file = disk.open(f"{tmp_path}/log", create=True)
    descriptor = file.fileno()
    assert descriptor is not None
    file.close()
    os.fstat(descriptor)
    del file
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(descriptor)
    disk.close()


async def test_slow_calls_wait_for_a_slot_without_blocking_the_loop(tmp_path: Path) -> None:
    disk = RealDisk()
    await asyncio.gather(*[disk.write_atomic(f"{tmp_path}/{number}", b"x") for number in range(600)])
    assert len(disk.list_dir(str(tmp_path))) == 600
    disk.close()
