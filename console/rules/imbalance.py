"""How evenly leaders and replicas lie on the brokers (spec O3)."""

from __future__ import annotations

from collections.abc import Collection, Mapping

SKEW_NOTICE = 0.34


def skew(count: int, counts: Mapping[int, int]) -> float | None:
    """How far `count` is from an equal share of all: +0.5 is half as much again; None when there is nothing to share."""
    total = sum(counts.values())
    if not counts or not total:
        return None
    share = total / len(counts)
    return round(count / share - 1, 3)


def leader_skew(led: Collection[int], brokers: int) -> float | None:
    """Percent of a topic's partitions whose leader would have to move so that no broker leads more than an even part of them; `led` is
    how many each leads, of so many brokers that run. None where nothing is led."""
    total = sum(led)
    if not total or not brokers:
        return None
    most = -(-total // brokers)
    return round(100 * sum(max(count - most, 0) for count in led) / total, 1)


def short_of_leaders(leaders: Mapping[int, int], preferred: Mapping[int, int]) -> list[int]:
    """The brokers that lead far fewer partitions than they are preferred for, or none; `leaders` has online brokers only."""
    return [broker for broker, led in sorted(leaders.items()) if led < preferred.get(broker, 0) * (1 - SKEW_NOTICE)]
