"""How fresh each broker's state feed is. Pure.

A broker is silent from the moment its connection breaks, or when nothing came for `STALE_MS` (it says something every second; where it
is asked instead, for three intervals); one that is registered and was never heard is silent too. Its words still count for a while
(`believed`), as what was last known.
"""

from __future__ import annotations

from collections.abc import Collection

from msgspec.structs import replace

from broker_core.contract.live import Age, Feed, Freshness
from console.live.events.happened import Happened
from console.rules.words import duration
from console.snapshot.freshness import age, fresh_ms, level


class FeedWatch:
    """When each broker was last heard, and which feeds have been told to be lost; `every_ms` is how often a broker without a feed is asked
    something, so that what it answers counts as being heard."""

    def __init__(self, every_ms: int | None = None) -> None:
        self._every_ms = every_ms
        self.heard_ms: dict[int, int] = {}
        self._cut: set[int] = set()
        self._levels: dict[int, Freshness] = {}
        self._told_lost: set[int] = set()

    def heard(self, broker: int, now_ms: int) -> None:
        self.heard_ms[broker] = now_ms
        self._cut.discard(broker)

    def cut(self, broker: int) -> None:
        """Its connection broke: it is silent from now until it is heard again."""
        self._cut.add(broker)

    def believed(self) -> set[int]:
        """Brokers whose words still count: those not lost at the last tick."""
        return {b for b in self.heard_ms if self._levels.get(b) != "lost"}

    def silent(self, alive: Collection[int], now_ms: int) -> dict[int, int | None]:
        """Who of those registered is not heard, and for how many ms; None for who never was."""
        found = {b: now_ms - self.heard_ms[b] if b in self.heard_ms else None for b in sorted(alive)}
        return {b: ms for b, ms in found.items() if ms is None or ms > fresh_ms(self._every_ms) or b in self._cut}

    def tick(self, alive: Collection[int], now_ms: int) -> tuple[list[Happened], set[int]]:
        """Events, and the brokers whose words begin or cease to count."""
        told: list[Happened] = []
        turned: set[int] = set()
        for broker, heard in self.heard_ms.items():
            was, now = self._levels.get(broker, "live"), level(now_ms - heard, self._every_ms)
            self._levels[broker] = now
            if was == now:
                continue
            if "lost" in (was, now):
                turned.add(broker)
            if broker in alive:
                told += self._tell(broker, now, now_ms - heard, now_ms)
        return told, turned

    def _tell(self, broker: int, now: str, silent_ms: int, now_ms: int) -> list[Happened]:
        if now == "lost":
            self._told_lost.add(broker)
            text = f"broker {broker} is registered, but {self._silence()} for {duration(silent_ms / 1000, 1)}: its figures are old."
            return [Happened("feed_lost", "warn", text, now_ms, broker_id=broker)]
        if now == "live" and broker in self._told_lost:
            self._told_lost.discard(broker)
            words = f"broker {broker}'s state feed is back." if self._every_ms is None else f"broker {broker} answers again."
            return [Happened("feed_back", "ok", words, now_ms, broker_id=broker)]
        return []

    def _silence(self) -> str:
        return "its feed is silent" if self._every_ms is None else "has not answered"

    def age(self, broker: int, now_ms: int) -> Age:
        """By when it was last heard."""
        found = age(self.heard_ms.get(broker), now_ms, self._every_ms)
        return replace(found, state="stale") if found.state == "live" and broker in self._cut else found

    def summary(self, alive: Collection[int], store: Age | None, now_ms: int) -> Feed:
        """All parts of what is known: brokers, what is read of the store, and groups, which are as old as the oldest of the brokers."""
        brokers = {str(b): self.age(b, now_ms) for b in sorted(alive)}
        live = sum(one.state == "live" for one in brokers.values())
        heard = [self.heard_ms[b] for b in alive if b in self.heard_ms]
        groups = age(min(heard, default=None) if len(heard) == len(alive) else None, now_ms)
        return Feed("live" if live and live == len(brokers) else "partial" if live else "lost", brokers, store, groups)
