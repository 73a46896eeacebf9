"""What has to go or come whatever the balance: emptied and failed places, the replication factor, racks that could be more.

Such replicas are taken out of the arrangement and are homeless until the flow finds them a place.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from console.planning.balance.arrangement import REPLICAS, Arrangement
from console.planning.model import Goal

EMPTIED, UNCHOSEN, FAILED = "a broker that is emptied", "a broker that is not chosen", "a folder that failed"
FACTOR, RACKS = "the replication factor", "racks"
REASONS = (FAILED, EMPTIED, UNCHOSEN, FACTOR, RACKS)
"""The most urgent first."""


class Homeless(NamedTuple):
    """A replica without a place: it comes from `source`, or is one more where that is None."""

    partition: int
    source: int | None
    reason: str


def take_out(arrangement: Arrangement, goal: Goal) -> tuple[list[Homeless], dict[int, set[str]]]:
    """The homeless, and by partition why it changes."""
    found: list[Homeless] = []
    reasons: dict[int, set[str]] = {}
    for partition in range(len(arrangement.copies)):
        homeless, why = _of(arrangement, partition, goal)
        found += homeless
        if why:
            reasons[partition] = why
    return found, reasons


def _of(arrangement: Arrangement, partition: int, goal: Goal) -> tuple[list[Homeless], set[str]]:
    hosts = arrangement.hosts[partition]
    gone = {broker: reason for broker in hosts if (reason := _why_gone(arrangement, partition, broker, goal))}
    why = set(gone.values())
    homeless = [Homeless(partition, broker, reason) for broker, reason in gone.items()]
    kept = [broker for broker in hosts if broker not in gone]
    wanted = goal.replication_factor or len(hosts)
    if wanted != len(hosts):
        why.add(FACTOR)
        homeless = homeless[: max(0, wanted - len(kept))]
        homeless += [Homeless(partition, None, FACTOR)] * (wanted - len(kept) - len(homeless))
        while len(kept) > wanted:
            kept.remove(_to_drop(arrangement, partition, kept, kept))
    if "racks" in goal.aims and arrangement.has_racks:
        doubled = _for_racks(arrangement, partition, kept, len(homeless))
        homeless += [Homeless(partition, broker, RACKS) for broker in doubled]
        why |= {RACKS} if doubled else set()
        kept = [broker for broker in kept if broker not in doubled]
    if kept != hosts:
        arrangement.put(partition, kept)
    return homeless, why


def _why_gone(arrangement: Arrangement, partition: int, broker: int, goal: Goal) -> str:
    broker_id = arrangement.nodes[broker].broker_id
    if broker_id in arrangement.copies[partition].failed:
        return FAILED
    if broker_id in goal.away:
        return EMPTIED
    return UNCHOSEN if goal.to and broker_id not in goal.to else ""


def _to_drop(arrangement: Arrangement, partition: int, some: Sequence[int], hosts: Sequence[int]) -> int:
    """Of some of its brokers: first one that takes nothing, one that shares its rack, the one with the most replicas; the leader last."""

    def order(broker: int) -> tuple[object, ...]:
        shares = arrangement.has_racks and any(arrangement.racks[other] == arrangement.racks[broker] for other in hosts if other != broker)
        leads = arrangement.nodes[broker].broker_id == arrangement.copies[partition].leader
        return not arrangement.takes[broker], shares, not leads, arrangement.load[broker, REPLICAS], broker

    return max(some, key=order)


def _for_racks(arrangement: Arrangement, partition: int, kept: Sequence[int], homeless: int) -> list[int]:
    """As many as there are racks to be gained give up a place on a rack that has another."""
    hosts, found = list(kept), list[int]()
    short = arrangement.racks_possible(len(hosts) + homeless) - arrangement.distinct_racks(hosts) - homeless
    while short > len(found):
        doubled = [b for b in hosts if any(arrangement.racks[o] == arrangement.racks[b] for o in hosts if o != b)]
        if not doubled:
            break
        found.append(_to_drop(arrangement, partition, doubled, hosts))
        hosts.remove(found[-1])
    return found
