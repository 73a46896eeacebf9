"""Long work in short steps: a generator yields wherever its caller may let others run, and returns the result.

Steps are meant to take well under a millisecond. One native call on a whole batch (a CRC, lz4 and raw snappy blocks) is one step.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeVar

T = TypeVar("T")

Steps = Generator[None, None, T]

RECORDS_PER_STEP = 64


def finish(steps: Steps[T]) -> T:
    """All steps at once."""
    while True:
        try:
            next(steps)
        except StopIteration as done:
            result: T = done.value
            return result
