"""When a process that ended by itself is started again: a pure decision, `now_ms` is an argument.

The pause doubles with each end that comes soon after a start, so that one which cannot live does not take the machine's
time: 2, 4, 8 … 60 s. Who has lived for a minute begins anew.
"""

from __future__ import annotations

import signal

FIRST_PAUSE_MS = 2_000
PAUSE_MS_MAX = 60_000
STEADY_MS = 60_000
HUNG_STATUS = 75
"""A broker's exit status when its watchdog ended it (`server/main.py`)."""
SIGNAL_STATUS = 128


class Revival:
    """One process. Tell it what is seen at each look; `due` says when to start."""

    def __init__(self) -> None:
        self._alive_since_ms: int | None = None
        self._pause_ms = FIRST_PAUSE_MS
        self._due_ms = 0
        self.ended_ms: int | None = None

    def seen_alive(self, now_ms: int) -> None:
        self.ended_ms = None
        if self._alive_since_ms is None:
            self._alive_since_ms = now_ms
        elif now_ms - self._alive_since_ms >= STEADY_MS:
            self._pause_ms = FIRST_PAUSE_MS

    def seen_ended(self, now_ms: int) -> int | None:
        """The pause in milliseconds when this end is news, None when it is known."""
        if self.ended_ms is not None:
            return None
        self.ended_ms, self._alive_since_ms = now_ms, None
        return self._wait(now_ms)

    def could_not_start(self, now_ms: int) -> int:
        """The pause until the next try."""
        return self._wait(now_ms)

    def stays_down(self) -> None:
        """Somebody wants it so: whatever was before does not count."""
        self._pause_ms, self.ended_ms, self._alive_since_ms = FIRST_PAUSE_MS, None, None

    def due(self, now_ms: int) -> bool:
        return self.ended_ms is not None and now_ms >= self._due_ms

    def _wait(self, now_ms: int) -> int:
        pause_ms = self._pause_ms
        self._pause_ms = min(2 * pause_ms, PAUSE_MS_MAX)
        self._due_ms = now_ms + pause_ms
        return pause_ms


def how_it_ended(status: int | None) -> str:
    """An exit status in words."""
    if status is None:
        return "how is not known"
    if status == HUNG_STATUS:
        return "its watchdog: the loop had stood still for 10 s"
    if status > SIGNAL_STATUS:
        number = status - SIGNAL_STATUS
        name = next((f", {each.name}" for each in signal.Signals if each == number), "")
        return f"signal {number}{name}"
    return f"exit status {status}"
