"""Giving leadership back to preferred replicas (spec O3): which partitions an automatic round moves."""

from __future__ import annotations

from broker_core.controller.context import ControllerContext
from broker_core.controller.deciders.election import Strategy, elect
from broker_core.model import TopicPartition

FIRST_CHECK_MS = 5_000


def imbalance_ratios(context: ControllerContext) -> dict[int, float]:
    """For each broker the part of the partitions it should lead that others lead, from 0 to 1."""
    return {broker_id: len(misplaced) / total for broker_id, (misplaced, total) in _by_preferred(context).items()}


def partitions_to_move(context: ControllerContext, most_percent: int) -> list[TopicPartition]:
    """Partitions of brokers above the allowed imbalance whose preferred replica can lead at once.

    None while any reassignment runs: its end changes who is preferred.
    """
    if context.being_reassigned:
        return []
    return [
        tp
        for _, (misplaced, total) in sorted(_by_preferred(context).items())
        if len(misplaced) / total > most_percent / 100
        for tp in misplaced
        if elect(context, tp, context.leadership[tp].state, Strategy.PREFERRED) is not None
    ]


def _by_preferred(context: ControllerContext) -> dict[int, tuple[list[TopicPartition], int]]:
    """Per preferred broker: partitions others lead, and the number it is preferred for."""
    found: dict[int, tuple[list[TopicPartition], int]] = {}
    for tp in context.partitions_with_leadership():
        replicas = context.assignment(tp).replicas
        if not replicas:
            continue
        misplaced, total = found.get(replicas[0], ([], 0))
        if context.leadership[tp].state.leader != replicas[0]:
            misplaced.append(tp)
        found[replicas[0]] = (misplaced, total + 1)
    return found
