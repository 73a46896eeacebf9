"""Buffers of large frames that are used again: fresh memory costs a page fault every 4 KiB, more than the copy into it.

A buffer comes back when its request has been handled, and is kept only if nothing looks into it any more. What is kept is
memory that a frame filled before, so an announced size alone still takes none.
"""

from __future__ import annotations

SPARE_BYTES_MAX = 1280 * 1024
"""Of one buffer: producers send up to 1 MiB in one request by default."""
SPARES_MAX = 4


class SpareBuffers:
    """Of one listener: at most `SPARES_MAX`, the last one used first."""

    def __init__(self) -> None:
        self._spares: list[bytearray] = []

    def take(self) -> bytearray:
        """A buffer of any length, with anything in it."""
        return self._spares.pop() if self._spares else bytearray()

    def give_back(self, buffer: bytearray) -> None:
        if len(self._spares) < SPARES_MAX and len(buffer) <= SPARE_BYTES_MAX and _is_unshared(buffer):
            self._spares.append(buffer)


def _is_unshared(buffer: bytearray) -> bool:
    """Whether no view of it is left: only then may its length change."""
    try:
        buffer.append(0)
        buffer.pop()
    except BufferError:
        return False
    return True
