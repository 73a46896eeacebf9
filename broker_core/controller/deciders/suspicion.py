"""Whose death is agreed on while the session still lives: what most brokers see and this one too. Pure.

A word counts for the registration it names, from a registered witness, about another broker. Most of the registered brokers have to
say so, the dead among them counted: of two groups that see each other refuse at most one can act, so they do not take the office from each
other in turns. In a cluster of two there is no second witness. All registered brokers have to agree to act so: one Apache Kafka
broker, or one where it is off, and sessions alone decide.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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


def agreed_dead(mine: int, brokers: Mapping[int, BrokerInfo], told: Sequence[Suspicion]) -> list[int]:
    """Ids, sorted, of registered brokers that broker `mine` may treat as gone."""
    if not is_agreed(brokers):
        return []
    needed = max(LEAST_WITNESSES, len(brokers) // 2 + 1)
    return [broker_id for broker_id in sorted(brokers) if _agree(mine, needed, _witnesses(brokers, broker_id, told))]


def _witnesses(brokers: Mapping[int, BrokerInfo], broker_id: int, told: Sequence[Suspicion]) -> set[int]:
    about = (each.witness for each in told if each[:2] == (broker_id, brokers[broker_id].epoch))
    return {witness for witness in about if witness in brokers and witness != broker_id}


def _agree(mine: int, needed: int, witnesses: set[int]) -> bool:
    return mine in witnesses and len(witnesses) >= needed
