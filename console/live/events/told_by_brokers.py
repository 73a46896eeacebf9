"""What a broker tells of itself as an event, each once. Pure.

A broker keeps its newest events and tells all of them to whoever begins to listen. What lies before the first answer that this owner
has from a broker is old; after that an event is new by its number or, once the broker has begun to count anew, by its time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from broker_core.contract import feed
from broker_core.contract.sentences import Level
from console.live.events.happened import Happened

TELLS: dict[str, tuple[Level, str]] = {
    "registered": ("notice", "broker {id} says why it registered anew: {text}."),
    "stranger": ("warn", "broker {id} was sent a control request by no broker: {text}."),
    "control_refused": ("warn", "broker {id} refused a control request: {text}."),
    "early_failover": ("notice", "the controller, broker {id}, before a session's end: {text}."),
}
"""Level and sentence by kind; a kind that is not known yet, of a newer broker, is told in the broker's words."""


class Heard(NamedTuple):
    seq: int
    at_ms: int


class ToldByBrokers:
    def __init__(self) -> None:
        self._heard: dict[int, Heard] = {}

    def take(self, broker: int, told: Sequence[feed.Event], now_ms: int) -> list[Happened]:
        """The events that are new, with the times the broker gives them, none in the future."""
        before = self._heard.get(broker)
        if told or before is None:
            last = Heard(told[-1].seq, told[-1].at_ms) if told else Heard(0, 0)
            self._heard[broker] = Heard(last.seq, max(last.at_ms, before.at_ms if before else 0))
        if before is None:
            return []
        new = (each for each in told if each.seq > before.seq or each.at_ms > before.at_ms)
        return [_sentence(broker, each, min(each.at_ms, now_ms)) for each in new]


def _sentence(broker: int, told: feed.Event, at_ms: int) -> Happened:
    level, words = TELLS.get(told.kind, ("notice", "broker {id}: {text}."))
    text = words.format(id=broker, text=told.text.rstrip("."))
    return Happened(f"broker_{told.kind}", level, text, at_ms, broker_id=broker, topic=told.topic)
