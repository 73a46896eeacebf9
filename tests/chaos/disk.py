"""A broker's disk that can be filled and can be made to fail: ext4 on a loop device whose file lies on a file system of its own.

Full: a file takes what is left (ENOSPC). Failing: the file system below is made too small for another block, so that what the kernel
writes back fails and `fsync` says EIO, as with a dying disk. Needs root.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

IMAGE_BYTES = 6 << 30
BELOW_BYTES = 7 << 30
"""An hour of the writers is some 2 GB on a fast machine; memory is taken as it is written."""
SPARE_BYTES = 1 << 16
FAIL_TRIES = 50
CORRECTED, REBOOT = 1, 2
"""Of e2fsck's exit status: it has found errors and none is left."""


class FlakyDisk:
    """`folder` lies on it; `close` takes everything away again."""

    def __init__(self, base: Path) -> None:
        self._below, self._mounted = base / "below", base / "disk"
        self.folder = self._mounted / "log"
        self._device = ""
        for folder in (self._below, self._mounted):
            folder.mkdir(parents=True)
        try:
            _run("mount", "-t", "tmpfs", "-o", f"size={BELOW_BYTES}", "tmpfs", str(self._below))
            with (self._below / "image").open("wb") as image:
                image.truncate(IMAGE_BYTES)
            # Without a journal one failed write does not turn the whole file system read-only: the fault ends when it is mended.
            _run("mkfs.ext4", "-q", "-O", "^has_journal", "-E", "lazy_itable_init=0", str(self._below / "image"))
            self._device = _run("losetup", "--find", "--show", str(self._below / "image"))
            self._mount()
            self.folder.mkdir()
        except BaseException:
            self.close()
            raise

    def fill(self) -> None:
        free = os.statvfs(self._mounted)
        with (self._mounted / "ballast").open("wb") as ballast:
            os.posix_fallocate(ballast.fileno(), 0, max(free.f_bavail * free.f_frsize - SPARE_BYTES, 1))

    def empty(self) -> None:
        (self._mounted / "ballast").unlink(missing_ok=True)

    def fail(self) -> None:
        """The kernel takes no size below what is used, and that grows while it writes back."""
        for tries_left in reversed(range(FAIL_TRIES)):
            below = os.statvfs(self._below)
            used = (below.f_blocks - below.f_bfree) * below.f_frsize
            try:
                _run("mount", "-o", f"remount,size={used}", str(self._below))
                return
            except RuntimeError:
                if not tries_left:
                    raise

    def mend(self) -> None:
        _run("mount", "-o", f"remount,size={BELOW_BYTES}", str(self._below))

    def settle(self) -> None:
        """As an operator gives a disk back that had failed: checked, and mounted anew. Nobody may use it meanwhile.

        A directory's block whose write was lost is found bad much later, and a write-back that failed is kept for the next `fsync`, of
        whichever process: both would be a fault of a later episode.
        """
        _run("umount", str(self._mounted))
        checked = subprocess.run(["e2fsck", "-f", "-y", self._device], capture_output=True, text=True, check=False)
        if checked.returncode & ~(CORRECTED | REBOOT):
            raise RuntimeError(f"e2fsck: {checked.stdout.strip()[-500:]}")
        self._mount()

    def _mount(self) -> None:
        _run("mount", "-o", "errors=continue", self._device, str(self._mounted))

    def close(self) -> None:
        for command in (["umount", "--lazy", str(self._mounted)], ["losetup", "-d", self._device], ["umount", "--lazy", str(self._below)]):
            subprocess.run(command, capture_output=True, check=False)


def _run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip()}")
    return done.stdout.strip()
