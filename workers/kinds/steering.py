"""Steers the throttle of a reassignment: measures, has `console/rules/steering.py` decide, sets the rate. What is decided is kept with the
throttle in the job's plan; a worker that dies before that has its successor measure and decide anew.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from broker_core.contract.live import Broker
from console.clock import now_ms
from console.gateway.kafka_cluster import KafkaCluster
from console.rules.steering import Figures, begun, decide, kept
from console.snapshot.read import Snapshot, SnapshotUnavailable
from workers.kinds import throttle

LOOKED_AT_LIMIT = 200
"""Of partitions that are not safe, and of events."""
OUT_OF_SYNC = ("under_replicated", "under_min_isr", "offline")
Place = tuple[str, int]


def begin(cluster_id: str, plan: throttle.Throttle, limits: Mapping[str, int], own: Collection[Place]) -> throttle.Throttle:
    """The throttle with what is measured before the first move."""
    at_ms = now_ms()
    figures = measured(cluster_id, _brokers(plan), own, at_ms)
    return {**plan, "steering": begun(limits["floor"], limits["ceiling"], figures, at_ms)}


def steer(cluster_id: str, kafka: KafkaCluster, plan: throttle.Throttle, own: Collection[Place]) -> tuple[throttle.Throttle, str]:
    """The throttle as it is now, and what is to be said of it: nothing where the rate stays."""
    at_ms, steering, rate = now_ms(), plan["steering"], plan["rate"]
    figures = measured(cluster_id, _brokers(plan), own, steering["looked_ms"])
    decision = decide(steering, rate, figures, at_ms)
    then = throttle.at_rate(kafka, plan, decision.rate)
    then["steering"] = kept(steering, rate, decision, figures, at_ms)
    return then, decision.why if decision.rate != rate else ""


def measured(cluster_id: str, brokers: Sequence[int], own: Collection[Place], since_ms: int) -> Figures:
    """From the live snapshot; `own` are the partitions that the job moves."""
    snapshot = Snapshot(cluster_id)
    try:
        found = {broker.broker_id: broker for broker in snapshot.brokers()}
        behind = None
        if snapshot.is_kept():
            worst, _ = snapshot.trouble(LOOKED_AT_LIMIT)
            behind = sum(one.state in OUT_OF_SYNC and (one.topic, one.partition) not in own for one in worst)
        events = snapshot.events(LOOKED_AT_LIMIT)
    except SnapshotUnavailable:
        return Figures(dict.fromkeys(brokers), brokers, None)
    shrunk = [
        f"{event.topic}-{event.partition}"
        for event in events
        if event.kind == "isr_shrink" and event.at_ms > since_ms and (event.topic, event.partition) not in own
    ]
    silent = [broker for broker in brokers if broker not in found or not _tells(found[broker])]
    spent = {broker: None if broker in silent else _produce_ms(found[broker]) for broker in brokers}
    return Figures(spent, silent, behind, shrunk)


def _brokers(plan: throttle.Throttle) -> list[int]:
    return sorted(map(int, plan["before"]))


def _tells(broker: Broker) -> bool:
    """Another cluster's brokers tell nothing of their requests."""
    return broker.state == "online" and broker.feed.state == "live" and bool(broker.requests)


def _produce_ms(broker: Broker) -> float | None:
    produce = broker.requests.get("Produce")
    return produce.recent_ms if produce else None
