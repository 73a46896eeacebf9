"""One replica's log as its broker tells it: which broker is asked, and of which clusters there is nothing to ask."""

from __future__ import annotations

from broker_core.contract.log_look import LogLook, Look
from broker_core.contract.partitions import Partition
from console.gateway.log_look import look
from console.models import Cluster
from console.queries import NotFound, partition_or_fail
from console.snapshot.read import Snapshot

NOT_TOLD = "Not available: brokers of this cluster do not tell how their logs lie on disk. Kafka's protocol has no question for it."
NOT_KEPT = "Not available: how logs lay on disk is not kept; it can be looked at as it is now."


def why_not(cluster: Cluster, snapshot: Snapshot) -> str | None:
    """Why there is nothing to ask; None where there is."""
    if cluster.moment_ms is not None:
        return NOT_KEPT
    seen = snapshot.cluster()
    return NOT_TOLD if not cluster.is_local or (seen is not None and seen.source != "feed") else None


def look_at(
    cluster: Cluster,
    topic: str,
    number: int,
    *,
    broker: int | None = None,
    offset: int | None = None,
    at_ms: int | None = None,
    before: int | None = None,
) -> LogLook:
    """Asks the leader, or a broker that has a replica. `NotFound` where nobody can be asked; `GatewayError` as of the gateway."""
    snapshot = Snapshot(cluster.snapshot_id)
    partition = partition_or_fail(snapshot, topic, number)
    if reason := why_not(cluster, snapshot):
        raise NotFound(reason)
    asked = snapshot.broker(_whom(partition, broker))
    if asked is None or asked.host is None or asked.port is None:
        raise NotFound(f"Nothing is known of broker {_whom(partition, broker)}: it cannot be asked.")
    question = Look(topic=topic, partition=number, offset=offset, at_ms=at_ms, before=before)
    return look(asked.broker_id, asked.host, asked.port, question)


def _whom(partition: Partition, broker: int | None) -> int:
    here = [replica.broker_id for replica in partition.replicas]
    if broker is not None and broker not in here:
        raise NotFound(f"Broker {broker} has no replica of {partition.name}: these have, {', '.join(map(str, here)) or 'none'}.")
    chosen = partition.leader if broker is None else broker
    if chosen is None or chosen < 0:
        raise NotFound(f"{partition.name} has no leader: name one of its brokers, {', '.join(map(str, here)) or 'of which none is known'}.")
    return chosen
