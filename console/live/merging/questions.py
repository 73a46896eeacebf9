"""What a cluster without a state feed is asked: when each kind was last answered, how often it is asked, and why it was not. Pure.

The age of what is shown is that of the oldest of `MOVING`; sizes and settings are asked so seldom that they would hide it, and carry
their own.
"""

from __future__ import annotations

from collections.abc import Mapping

from broker_core.contract.live import Age, Feed, Kind, Question
from console.snapshot.freshness import age, fresh_ms

MOVING: tuple[Kind, ...] = ("metadata", "offsets", "groups")


class Questions:
    def __init__(self, every_ms: Mapping[Kind, int], began_ms: int) -> None:
        """`every_ms` is how often each kind is asked for at first; nothing is taken for late before it could be answered."""
        self._every_ms = dict(every_ms)
        self._began_ms = began_ms
        self._asked_ms: dict[Kind, int] = {}
        self._errors: dict[Kind, str] = {}

    def answered(self, kind: Kind, asked_ms: int, every_ms: int, error: str | None = None) -> None:
        """It was asked at `asked_ms` and is asked again after `every_ms`; `error` is what a part of it was refused with."""
        self._asked_ms[kind], self._every_ms[kind] = asked_ms, every_ms
        self._errors.pop(kind, None)
        if error is not None:
            self._errors[kind] = error

    def failed(self, kind: Kind, why: str) -> None:
        self._errors[kind] = why

    def error(self, kind: Kind) -> str | None:
        return self._errors.get(kind)

    def last_ms(self, kind: Kind) -> int | None:
        """When it was asked for the last time that it was answered."""
        return self._asked_ms.get(kind)

    def every_ms(self, kind: Kind) -> int:
        return self._every_ms[kind]

    def age(self, kind: Kind, now_ms: int) -> Age:
        return age(self._asked_ms.get(kind), now_ms, self._every_ms[kind])

    def oldest_ms(self) -> int:
        return min(self._asked_ms.get(kind, self._began_ms) for kind in MOVING)

    def due_ms(self) -> int:
        """When the first of them is stale."""
        return min(self._asked_ms.get(kind, self._began_ms) + fresh_ms(self._every_ms[kind]) for kind in MOVING)

    def value(self, now_ms: int) -> dict[Kind, Question]:
        return {kind: Question(self.age(kind, now_ms), self._errors.get(kind)) for kind in self._every_ms}

    def feed(self, brokers: Mapping[str, Age], now_ms: int) -> Feed:
        """All parts of what is known; `brokers` are those that are to answer."""
        moving = {kind: self.age(kind, now_ms) for kind in MOVING}
        states = {one.state for one in (*moving.values(), *brokers.values())}
        state = "lost" if moving["metadata"].state == "lost" else "live" if states == {"live"} else "partial"
        return Feed(state, dict(brokers), moving["metadata"], moving["groups"])  # type: ignore[arg-type]
