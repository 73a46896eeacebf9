"""Ports of loopback for whatever a test starts, below those that the system hands out for outgoing connections."""

from __future__ import annotations

import fcntl
import os
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

SPAN = 500


def _of_this_run() -> Iterator[int]:
    """Ports that no other run is given while this one lasts: both would find them free, and start something there."""
    for first in range(20_000, 31_000, SPAN):
        try:
            lock = os.open(Path(tempfile.gettempdir()) / f"highwater-ports-{first}.lock", os.O_RDWR | os.O_CREAT, 0o666)
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            continue
        yield from range(first, first + SPAN)


_ports = _of_this_run()


def free_ports(count: int = 1) -> int:
    """The first of so many free ports in a row. None is given twice: one may be free only because its server is not up now."""
    row: list[int] = []
    for port in _ports:
        if not _is_free(port) or (row and port != row[-1] + 1):
            row.clear()
        else:
            row.append(port)
        if len(row) == count:
            return row[0]
    raise RuntimeError(f"no {count} free ports in a row")


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
