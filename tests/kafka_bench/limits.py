"""No row lasts for ever."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from types import FrameType


class TooLong(Exception):
    """What was bounded took longer than it may."""


@contextlib.contextmanager
def bounded(seconds: float) -> Iterator[None]:
    """Raises `TooLong` in the main thread, within it, once the time is up; not to be nested."""

    def ring(number: int, frame: FrameType | None) -> None:
        raise TooLong(f"longer than {seconds:.0f} s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def end_by_sigterm() -> None:
    """SIGTERM ends the bench as Ctrl-C does: what it started is ended."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, interrupt)
