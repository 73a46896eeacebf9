"""What a search may use: memory, time and its turn on the processor. It is a process of its own, which has one thread of Python's."""

from __future__ import annotations

import ctypes
import gc
import os
import resource
import signal
from collections.abc import Callable
from types import FrameType
from typing import TypeVar

T = TypeVar("T")
MEMORY_BYTES = 1536 * 1024 * 1024
"""librdkafka holds a fetched batch twice while it decompresses it; what needs more ends this process alone."""
CPU_S = 1200
NICE = 5
LOOK_S = 0.25
"""Of the processor, for a JSON path in one record."""
AGAIN_S = 0.05
"""Until it is cut off once more: what is raised in a finalizer is lost."""
PR_SET_PDEATHSIG = 1


class TooLong(Exception):
    """A record took longer than it may."""


def confine() -> None:
    """Of the present process, for good; it ends with its parent."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.nice(NICE)


def in_time(call: Callable[[bytes], T]) -> Callable[[bytes], T]:
    """The call, cut off by `TooLong` after `LOOK_S`."""
    signal.signal(signal.SIGVTALRM, _cut)

    def bounded(raw: bytes) -> T:
        gc.disable()  # a collection in between would run finalizers of anybody's, where what is raised is lost
        signal.setitimer(signal.ITIMER_VIRTUAL, LOOK_S, AGAIN_S)
        try:
            try:
                return call(raw)
            finally:
                _disarm()
        except TooLong:
            _disarm()  # where it was raised once more before the timer was off
            raise

    return bounded


def _disarm() -> None:
    signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    gc.enable()


def _cut(_number: int, _frame: FrameType | None) -> None:
    raise TooLong
