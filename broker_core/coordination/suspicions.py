"""What brokers say below `/broker_suspicions`: whose port they see refuse, and whom most of them see so. Pure.

A word counts for the registration it names, from a registered witness, about another broker. Most of the registered brokers have to
say so, the dead among them counted: of two groups that see each other refuse at most one can act, so they do not take the office from each
other in turns. In a cluster of two there is no second witness. All registered brokers have to agree to act so: one Apache Kafka
broker, or one where it is off, and sessions alone decide.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from broker_core.model import BrokerInfo

LEAST_WITNESSES = 2


class Suspicion(NamedTuple):
    """`witness` sees the port refuse that the broker registered in that epoch."""

    broker_id: int
    epoch: int
    witness: int


def suspicions(names: Iterable[str]) -> list[Suspicion]:
    """Of the names of the znodes; others' znodes are left out."""
    parts = [name.split("-") for name in names]
    return [Suspicion(*map(int, part)) for part in parts if len(part) == len(Suspicion._fields) and all(map(_is_number, part))]


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit()


def is_agreed(brokers: Mapping[int, BrokerInfo]) -> bool:
    """Whether all of them act before sessions end."""
    return all(info.early_failover for info in brokers.values())


def seen_dead(brokers: Mapping[int, BrokerInfo], told: Iterable[Suspicion]) -> dict[int, tuple[int, ...]]:
    """By id, sorted, who sees the port of a registered broker refuse; only where most of the registered do."""
    if not is_agreed(brokers):
        return {}
    words = list(told)
    needed = max(LEAST_WITNESSES, len(brokers) // 2 + 1)
    found = {broker_id: _witnesses(brokers, broker_id, words) for broker_id in sorted(brokers)}
    return {broker_id: witnesses for broker_id, witnesses in found.items() if len(witnesses) >= needed}


def _witnesses(brokers: Mapping[int, BrokerInfo], broker_id: int, told: Iterable[Suspicion]) -> tuple[int, ...]:
    about = {each.witness for each in told if each[:2] == (broker_id, brokers[broker_id].epoch)}
    return tuple(witness for witness in sorted(about) if witness in brokers and witness != broker_id)


def gone_by(brokers: Mapping[int, BrokerInfo], told: Iterable[Suspicion], controller: int | None) -> dict[int, tuple[int, ...]]:
    """Who counts as gone before its session ends, and on whose word: where most say so and the controller sees it too. What a controller
    sees that is gone itself, or none, says nothing: the next one is among those that say so of it."""
    dead = seen_dead(brokers, told)
    is_seated = controller is not None and controller in brokers and controller not in dead
    return {broker_id: witnesses for broker_id, witnesses in dead.items() if not is_seated or controller in witnesses}
