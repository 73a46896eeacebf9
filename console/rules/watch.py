"""A long-lived client is judged by what it gets done: it stands still when something was asked of it and nothing was done for a while,
whatever the client says of itself. Pure; times are seconds of any one clock."""

from __future__ import annotations

from typing import Any

from console.rules.words import counted, duration

ERROR_CHARS_LIMIT = 200


class Watch:
    """One client: `name` for machines (`demo-orders`), `doing` for people (`that writes the demo's orders`)."""

    def __init__(self, name: str, doing: str, deadline_s: float) -> None:
        self.name, self._doing, self._deadline_s = name, doing, deadline_s
        self._count = 0
        self._since: float | None = None
        """When the first thing was asked that is not done yet; each thing done begins anew."""
        self._looked_from: float | None = None
        self._replacements = 0
        self._error = ""

    def asked(self, now: float) -> None:
        """Something is to be done now."""
        if self._since is None:
            self._since = self._looked_from = now

    def done(self, now: float, count: int, *, waiting: bool) -> None:
        """So many things were done; `waiting` where others are still to be."""
        if count <= 0:
            return
        self._count += count
        self._since = self._looked_from = now if waiting else None
        self._replacements, self._error = 0, ""

    def idle(self) -> None:
        """Nothing is asked of it for a while."""
        self._since = self._looked_from = None

    def failed(self, error: str) -> None:
        """What the client itself said last."""
        self._error = error[:ERROR_CHARS_LIMIT]

    def stands_still(self, now: float) -> bool:
        """It is to be replaced: nothing was done for the deadline, and as long since it was replaced before."""
        return self._looked_from is not None and now - self._looked_from >= self._deadline_s

    def replaced(self, now: float) -> None:
        """A new client does the same from now on, and has as much time."""
        self._looked_from = now
        self._replacements += 1

    def silent_s(self, now: float) -> float | None:
        """For how long it has got nothing done, once that is longer than it may be."""
        if self._since is None or now - self._since < self._deadline_s:
            return None
        return now - self._since

    def sentence(self, now: float) -> str:
        silent_s = self.silent_s(now)
        if silent_s is None:
            return f"The client {self._doing} gets its work done."
        replaced = f"; it was replaced {counted(self._replacements, 'time')}" if self._replacements else ""
        error = f". It last said: {self._error}" if self._error else ", and it says nothing"
        return f"The client {self._doing} has got nothing done for {duration(silent_s, 1)}{replaced}{error}."

    def value(self, now: float) -> dict[str, Any]:
        """For whoever tells of it."""
        return {
            "name": self.name,
            "doing": self._doing,
            "done": self._count,
            "silent_s": self.silent_s(now),
            "sentence": self.sentence(now),
        }
