"""How evenly leaders and replicas lie on the brokers (spec O3)."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from console.rules.words import whole

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


def leader_findings(leaders: Mapping[int, int], preferred: Mapping[int, int]) -> list[str]:
    """Sentences on brokers that lead fewer partitions than they are preferred for; `leaders` has online brokers only."""
    said = []
    for broker in sorted(leaders):
        wanted, led = preferred.get(broker, 0), leaders[broker]
        if wanted and led == 0:
            said.append(f"Broker {broker} leads nothing, though it is the preferred leader of {whole(wanted)}: run a preferred election.")
        elif wanted and led < wanted * (1 - SKEW_NOTICE):
            said.append(f"Broker {broker} leads {whole(led)} of the {whole(wanted)} partitions it is preferred for.")
    return said
