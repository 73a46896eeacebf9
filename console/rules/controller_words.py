"""What the controller's page says of it first. Pure.

First match wins: what is known is old; nobody is the controller; work waits before it; nothing does.
"""

from __future__ import annotations

from broker_core.contract.feed import Controller
from broker_core.contract.live import AsOf, Cluster
from broker_core.contract.sentences import Level

WAITS_MS = 1_000.0
"""An event that waited for so long is told."""


def controller_sentence(cluster: Cluster | None, as_of: AsOf, told: Controller | None) -> tuple[Level, str]:
    """`told`: what the controller says of what is before it, None where it says nothing. No figure in the words changes by itself."""
    if cluster is None or as_of.stale:
        return "unknown", "What is known of the controller is old: another may have been elected since."
    if cluster.controller_id is None:
        return "bad", "Nobody is the controller: no leader is elected and no topic made or deleted until a broker becomes it."
    epoch = "" if cluster.controller_epoch is None else f" of epoch {cluster.controller_epoch}"
    who = f"Broker {cluster.controller_id} is the controller{epoch}"
    if told is None:
        return "ok" if cluster.source == "collector" else "unknown", f"{who}. What waits before it is not told."
    level, waits = _before(told)
    return level, f"{who}. {waits}"


def _before(told: Controller) -> tuple[Level, str]:
    if told.topics_ineligible_to_delete:
        return "notice", "The deletion of a topic waits for a broker."
    if told.queue_size and told.queue_time_max_ms >= WAITS_MS:
        return "notice", "Its events wait longer than they should."
    waits = [
        "requests that brokers have not carried out" if any(told.requests_waiting.values()) else "",
        "partitions to create" if told.partitions_to_create else "",
        "reassignments" if told.partitions_moving else "",
        "topics to delete" if told.topics_to_delete else "",
    ]
    found = [one for one in waits if one]
    return "ok", f"Before it are {_listed(found)}." if found else "Nothing waits before it."


def _listed(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
