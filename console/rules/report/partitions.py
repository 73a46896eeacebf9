"""HW-001 to HW-005: partitions that are not safe, by the rules of `console/rules/partitions.py`, of which each has one."""

from __future__ import annotations

from collections.abc import Callable

from broker_core.contract.partitions import Partition, PartitionState
from broker_core.contract.sentences import Level
from console.rules.partitions import OFFLINE, UNDER_MIN_ISR, UNDER_REPLICATED, UNKNOWN, brokers, missing, partition_sentence
from console.rules.report.facts import Facts
from console.rules.report.finding import Finding, Outcome, topic_page
from console.rules.words import counted

ADVICE = {
    OFFLINE: "Start a broker that has every committed record; elect another only where records may be lost.",
    UNDER_MIN_ISR: "Bring the brokers back that are out of the ISR; until then producers with acks=all are refused.",
    UNDER_REPLICATED: "Start the broker, or move the replica to one that runs.",
    UNKNOWN: "Find out why its leader is silent: the page of brokers says since when.",
}


def offline(facts: Facts) -> Outcome:
    return _those(facts, OFFLINE, "bad")


def under_min_isr(facts: Facts) -> Outcome:
    return _those(facts, UNDER_MIN_ISR, "bad")


def under_replicated(facts: Facts) -> Outcome:
    return _those(facts, UNDER_REPLICATED, "warn")


def unknown(facts: Facts) -> Outcome:
    return Outcome([_finding(one, "warn") for one in facts.trouble if one.state == UNKNOWN])


def at_min_isr(facts: Facts) -> Outcome:
    """Of those that lack a copy those which one more lost replica makes refuse writes."""
    lacking = [one for one in facts.trouble if one.state == UNDER_REPLICATED]
    untold = sum(one.min_insync_replicas is None for one in lacking)
    why = f"min.insync.replicas of {counted(untold, 'under-replicated partition')} is not told" if untold else ""
    return Outcome([_at_the_edge(one) for one in lacking if one.min_insync_replicas == len(one.isr)], _why(why, _silent(facts)))


def _at_the_edge(one: Partition) -> Finding:
    sentence = f"{one.name} is at min ISR: with one replica fewer it refuses acks=all."
    return _finding(one, "warn", lambda _: sentence, "Bring a replica back before another broker is stopped or restarted.")


def _those(facts: Facts, state: PartitionState, level: Level) -> Outcome:
    return Outcome([_finding(one, level) for one in facts.trouble if one.state == state], _silent(facts))


def _silent(facts: Facts) -> str:
    """A partition of unknown state may be in any other."""
    count = sum(one.state == UNKNOWN for one in facts.trouble)
    return f"the leader of {counted(count, 'partition')} is silent (HW-005)" if count else ""


def _why(*reasons: str) -> str:
    return "; ".join(reason for reason in reasons if reason)


def _finding(one: Partition, level: Level, said: Callable[[Partition], str] = partition_sentence, advice: str = "") -> Finding:
    adding = one.reassigning.adding if one.reassigning else ()
    lacks = missing(one.isr, one.assignment, adding)
    placed = f"in sync: {_ids(one.isr)} of {_ids(one.assignment)}"
    least = "" if one.min_insync_replicas is None else f"; min.insync.replicas {one.min_insync_replicas}"
    out = f"; out: {brokers(lacks)}" if lacks else ""
    page = f"{topic_page(one.topic)}/{one.partition}"
    told = advice or ADVICE[one.state]
    return Finding(one.name, level, said(one), f"{placed}{out}{least}.", told, page, f"partition {one.name}", len(lacks))


def _ids(ids: tuple[int, ...]) -> str:
    return ", ".join(map(str, ids)) or "none"
