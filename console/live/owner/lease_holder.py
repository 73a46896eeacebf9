"""Which process holds something in Redis, and whether it is dead: provable where both are on one machine (Linux), else unknown."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

PROC = Path("/proc")


def mark(pid: int | None = None) -> str:
    """A name for this process (or another of this machine) that no other ever has."""
    pid = os.getpid() if pid is None else pid
    _, began = _stat(pid)
    return "/".join((_machine(), str(pid), began, secrets.token_hex(8)))


def is_dead(holder: str) -> bool:
    """True only where it is certain: the same machine, and its process has ended or is not yet waited for, or its id is another's."""
    machine, _, rest = holder.partition("/")
    pid, _, rest = rest.partition("/")
    began = rest.partition("/")[0]
    if not machine or machine != _machine() or not pid.isdecimal() or not began:
        return False
    state, now_began = _stat(int(pid))
    return state in ("", "Z", "X") or now_began != began


def _machine() -> str:
    """This boot of this machine, and the space its process ids are of; empty where that cannot be read."""
    try:
        boot = (PROC / "sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot}:{os.stat(PROC / 'self/ns/pid').st_ino}"
    except OSError:
        return ""


def _stat(pid: int) -> tuple[str, str]:
    """(state, start in ticks since boot); empty where there is no such process."""
    try:
        fields = (PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        return fields[0], fields[19]
    except (OSError, IndexError):
        return "", ""
