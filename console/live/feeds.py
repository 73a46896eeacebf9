"""How fresh each broker's state feed is. Pure."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from console.live.events import Value, event
from workers.rules.words import duration

STALE_MS = 3_000
LOST_MS = 10_000


def level(silent_ms: int) -> str:
    return "live" if silent_ms <= STALE_MS else "stale" if silent_ms <= LOST_MS else "lost"


class FeedWatch:
    """When each broker was last heard, and which feeds have been told to be lost."""

    def __init__(self) -> None:
        self.heard_ms: dict[int, int] = {}
        self._levels: dict[int, str] = {}
        self._told_lost: set[int] = set()

    def heard(self, broker: int, now_ms: int) -> None:
        self.heard_ms[broker] = now_ms

    def believed(self) -> set[int]:
        """Brokers whose words still count: those not lost at the last tick."""
        return {b for b in self.heard_ms if self._levels.get(b) != "lost"}

    def tick(self, alive: Collection[int], now_ms: int) -> tuple[list[Value], set[int]]:
        """Events, and the brokers whose words begin or cease to count."""
        told: list[Value] = []
        turned: set[int] = set()
        for broker, heard in self.heard_ms.items():
            was, now = self._levels.get(broker, "live"), level(now_ms - heard)
            self._levels[broker] = now
            if was == now:
                continue
            if "lost" in (was, now):
                turned.add(broker)
            if broker in alive:
                told += self._tell(broker, now, now_ms - heard, now_ms)
        return told, turned

    def _tell(self, broker: int, now: str, silent_ms: int, now_ms: int) -> list[Value]:
        if now == "lost":
            self._told_lost.add(broker)
            text = f"broker {broker} is registered, but its feed is silent for {duration(silent_ms / 1000, 1)}: its figures are old."
            return [event("feed_lost", "warn", text, now_ms, broker_id=broker)]
        if now == "live" and broker in self._told_lost:
            self._told_lost.discard(broker)
            return [event("feed_back", "ok", f"broker {broker}'s state feed is back.", now_ms, broker_id=broker)]
        return []

    def state(self, broker: int, now_ms: int) -> Value:
        heard = self.heard_ms.get(broker)
        if heard is None:
            return {"state": "lost", "age_ms": None}
        return {"state": level(now_ms - heard), "age_ms": max(now_ms - heard, 0)}

    def summary(self, alive: Collection[int], now_ms: int) -> dict[str, Any]:
        """`live` when all registered brokers are heard, `partial` when some are."""
        feeds = {str(b): self.state(b, now_ms) for b in sorted(alive)}
        live = [f for f in feeds.values() if f["state"] == "live"]
        return {"state": "live" if live and len(live) == len(feeds) else "partial" if live else "lost", "brokers": feeds}
