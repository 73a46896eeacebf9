"""HW-006: brokers that are down, or registered and silent."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from broker_core.contract.live import Broker
from console.rules.report.facts import Facts
from console.rules.report.finding import Finding, Outcome
from console.rules.words import counted


def away(facts: Facts) -> Outcome:
    return Outcome(list(_away(facts.brokers)), "" if facts.brokers else "no broker has been heard of")


def _away(known: Iterable[Broker]) -> Iterator[Finding]:
    for broker in known:
        if broker.state == "offline":
            yield _finding(broker, "is down", "Start it; what it alone has in sync has no leader until then.")
        elif broker.feed is not None and broker.feed.state == "lost":
            yield _finding(broker, "is registered and silent", "Look whether its process hangs or the network between is cut.")


def _finding(broker: Broker, what: str, advice: str) -> Finding:
    number = broker.broker_id
    held = "how many replicas it has is not known" if broker.replicas is None else f"it has {counted(broker.replicas, 'replica')}"
    name = f"broker {number}"
    return Finding(name, "warn", f"Broker {number} {what}.", f"As last known {held}.", advice, f"/brokers/{number}", name)
