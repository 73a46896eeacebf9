"""What of the live state is worth keeping, and when. Pure.

A change of state (a leader, an ISR, a broker, a group's state, a name that comes or goes) is due at once; figures (offsets, lag, rates,
ages) only every so often: that stretches while they weigh more than what may be kept of a day, and shrinks again. So a small cluster is
kept every 2 s, and a large busy one keeps every state, with coarser figures.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import DecodeError, Raw, Struct, json

KINDS = frozenset({"cluster", "broker", "topic", "partition", "group", "lag", "reader", "point"})
STATES_EVERY_MS = 2_000
FIGURES_EVERY_MS_MAX = 60_000
SHRINK = 0.8
"""Of the time between figures, once they weigh less than they may."""


class _Facts(Struct, frozen=True):
    """What is not a figure, of any kind of value."""

    state: str | None = None
    leader: int | None = None
    leader_epoch: int | None = None
    isr: tuple[int, ...] = ()
    assignment: tuple[int, ...] = ()
    controller_id: int | None = None
    controller_epoch: int | None = None
    process: str | None = None
    brokers_online: int | None = None
    partitions: int | None = None
    generation: int | None = None
    own_settings: dict[str, str] | None = None


_decoder = json.Decoder(_Facts)
_NONE = _Facts()


class Recording:
    """All values as they are now, and which of them are still to be written."""

    def __init__(self, bytes_per_s: float) -> None:
        """`bytes_per_s` is what may be written on the average."""
        self.figures_every_ms = float(STATES_EVERY_MS)
        self._bytes_per_s = bytes_per_s
        self._values: dict[str, bytes] = {}
        self._facts: dict[str, _Facts] = {}
        self._turned: set[str] = set()
        self._moved: set[str] = set()
        self._figures_at_ms = 0

    def start_over(self, values: Mapping[str, bytes]) -> None:
        """All that is known; nothing of it is due, since whoever calls begins a frame with it."""
        self._values, self._facts = {}, {}
        for key, value in values.items():
            self._keep(key, value)
        self.all_written()

    def take(self, values: Mapping[str, Raw]) -> None:
        for key, raw in values.items():
            if key.partition("/")[0] not in KINDS:
                continue
            if (value := bytes(raw)) == b"null":
                if self._values.pop(key, None) is not None:
                    self._facts.pop(key)
                    self._turned.add(key)
            elif self._keep(key, value):
                self._turned.add(key)
            else:
                self._moved.add(key)

    def _keep(self, key: str, value: bytes) -> bool:
        """Whether more than figures changed."""
        facts = _facts(value)
        is_new = self._facts.get(key) != facts
        self._values[key], self._facts[key] = value, facts
        return is_new

    def due(self, now_ms: int) -> dict[str, bytes | None]:
        """What is to be written now; it counts as written."""
        keys = self._turned
        if now_ms - self._figures_at_ms >= self.figures_every_ms:
            keys, self._moved, self._figures_at_ms = keys | self._moved, set(), now_ms
        self._turned = set()
        self._moved -= keys
        return {key: self._values.get(key) for key in keys}

    def everything(self) -> dict[str, bytes]:
        return self._values

    def all_written(self) -> None:
        self._turned, self._moved = set(), set()

    def weighed(self, written_bytes: int, elapsed_ms: int) -> None:
        """So much was written in that time: figures become rarer where it was more than may be, else slowly more frequent."""
        allowed = self._bytes_per_s * max(elapsed_ms, 1) / 1000
        factor = min(written_bytes / allowed, 4.0) if written_bytes > allowed else SHRINK
        self.figures_every_ms = min(max(self.figures_every_ms * factor, STATES_EVERY_MS), FIGURES_EVERY_MS_MAX)


def _facts(value: Any) -> _Facts:
    """Nothing but figures where it is no value of ours."""
    try:
        return _decoder.decode(value)
    except DecodeError:
        return _NONE
