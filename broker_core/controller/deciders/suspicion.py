"""Whose death is agreed on while the session still lives: what most brokers see (`coordination/suspicions`) and this one too. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from broker_core.coordination.suspicions import Suspicion, seen_dead
from broker_core.model import BrokerInfo


def agreed_dead(mine: int, brokers: Mapping[int, BrokerInfo], told: Sequence[Suspicion]) -> dict[int, tuple[int, ...]]:
    """By id, sorted, who sees dead the registered brokers that broker `mine` may treat as gone."""
    return {broker_id: witnesses for broker_id, witnesses in seen_dead(brokers, told).items() if mine in witnesses}
