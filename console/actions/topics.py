"""Topics: create, delete, add partitions, change settings."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from console.actions.audit import Invalid, Unconfirmed, audited
from console.actions.risks import MIN_ISR, setting_risks
from console.gateway.kafka_cluster import KafkaCluster
from console.gateway.topic_keys import known
from console.models import Cluster
from console.roles import ADMIN, OPERATOR, Actor
from console.snapshot.read import Snapshot, SnapshotUnavailable, await_snapshot
from workers.rules.words import counted, whole

NAME = re.compile(r"[a-zA-Z0-9._-]{1,249}")
PARTITIONS_LIMIT = 10_000
DEFAULT = -1


def check_topic(name: str, partitions: int, replication_factor: int) -> None:
    """The rules a form can check by itself; everything else is the broker's to say."""
    if not NAME.fullmatch(name) or name in (".", ".."):
        raise Invalid("name", "A topic's name has 1 to 249 letters, digits, dots, underscores or hyphens.")
    if partitions != DEFAULT and not 1 <= partitions <= PARTITIONS_LIMIT:
        raise Invalid("partitions", f"Give 1 to {whole(PARTITIONS_LIMIT)} partitions.")
    if replication_factor != DEFAULT and not 1 <= replication_factor <= 100:
        raise Invalid("replication_factor", "Give 1 to 100 replicas, at most one on each broker.")


def create_topic(
    actor: Actor,
    cluster: Cluster,
    name: str,
    *,
    partitions: int,
    replication_factor: int,
    configs: Mapping[str, str],
    confirm: bool = False,
) -> None:
    """Without `confirm` settings that put records at risk are refused (`Unconfirmed`)."""
    after = {"partitions": partitions, "replication_factor": replication_factor, "configs": dict(configs)}
    with audited(actor, OPERATOR, "create topic", name, after=after):
        check_topic(name, partitions, replication_factor)
        kafka = KafkaCluster(cluster.bootstrap_servers)
        if not confirm:
            copies = replication_factor if replication_factor != DEFAULT or MIN_ISR not in configs else _default_copies(kafka)
            _refuse_risks(name, configs, copies)
        kafka.create_topic(name, partitions, replication_factor, configs)
    await_snapshot(lambda: _serves(Snapshot(cluster.pk).topic(name), max(partitions, 1)))


def _refuse_risks(name: str, changes: Mapping[str, str | None], copies: int | None) -> None:
    if risks := setting_risks(name, changes, copies):
        raise Unconfirmed(risks)


def _default_copies(kafka: KafkaCluster) -> int | None:
    """How many copies a topic gets that does not say."""
    rows = kafka.broker_configs(min(kafka.brokers())) if kafka.brokers() else []
    text = next((row["value"] for row in rows if row["name"] == "default.replication.factor"), None)
    return int(text) if text else None


def _copies(kafka: KafkaCluster, name: str) -> int | None:
    """The fewest that a partition of the topic has."""
    return min((len(p["replica_nodes"]) for topic in kafka.topics([name]) for p in topic["partitions"]), default=None)


def _serves(topic: dict[str, Any] | None, partitions: int) -> bool:
    return topic is not None and topic["partitions"] >= partitions and not topic["offline"]


def preview_topic(
    cluster: Cluster, name: str, partitions: int, replication_factor: int, configs: Mapping[str, str]
) -> list[dict[str, Any]]:
    """What creating it would do, checked by the broker without doing it: `[{label, before, after}]`."""
    check_topic(name, partitions, replication_factor)
    KafkaCluster(cluster.bootstrap_servers).create_topic(name, partitions, replication_factor, configs, validate_only=True)
    rows: list[dict[str, Any]] = [
        {"label": "topic", "before": None, "after": name},
        {"label": "partitions", "before": None, "after": partitions},
        {"label": "replicas of each", "before": None, "after": replication_factor},
    ]
    return rows + [{"label": key, "before": known(key)["default"], "after": value} for key, value in configs.items()]


def delete_topic(actor: Actor, cluster: Cluster, name: str, *, confirm: str) -> None:
    with audited(actor, ADMIN, "delete topic", name) as entry:
        entry.before = _known(cluster, name)
        if confirm != name:
            raise Invalid("confirm", f"Type the topic's name, {name}, to delete it with all its records.")
        KafkaCluster(cluster.bootstrap_servers).delete_topic(name)
    await_snapshot(lambda: _gone_or_waiting(Snapshot(cluster.pk).topic(name)))


def _known(cluster: Cluster, name: str) -> dict[str, Any] | None:
    """What goes with the topic, as it was last seen."""
    try:
        topic = Snapshot(cluster.pk).topic(name)
    except SnapshotUnavailable:
        return None
    return topic and {key: topic[key] for key in ("topic_id", "partitions", "messages", "size_bytes")}


def _gone_or_waiting(topic: dict[str, Any] | None) -> bool:
    """A deletion that waits for a broker is over when that is back: nobody waits here for it."""
    return topic is None or bool(topic["deleting"] and (topic["deleting"]["waits_for"] or topic["deleting"]["moving"]))


def add_partitions(actor: Actor, cluster: Cluster, name: str, total: int, now: int | None = None) -> None:
    with audited(actor, OPERATOR, "add partitions", name, before={"partitions": now}, after={"partitions": total}):
        if now is not None and total <= now:
            raise Invalid("count", f"{name} has {counted(now, 'partition')}; give a larger number, partitions cannot be taken away.")
        if total > PARTITIONS_LIMIT:
            raise Invalid("count", f"Give at most {whole(PARTITIONS_LIMIT)} partitions.")
        KafkaCluster(cluster.bootstrap_servers).add_partitions(name, total)
    await_snapshot(lambda: _serves(Snapshot(cluster.pk).topic(name), total))


def set_config(actor: Actor, cluster: Cluster, name: str, changes: Mapping[str, str | None], *, confirm: bool = False) -> None:
    """None takes an override away. Without `confirm` what puts records at risk is refused (`Unconfirmed`)."""
    with audited(actor, OPERATOR, "change topic settings", name, after=dict(changes)) as entry:
        if not changes:
            raise Invalid("key", "Name a setting.")
        kafka = KafkaCluster(cluster.bootstrap_servers)
        if not confirm:
            _refuse_risks(name, changes, _copies(kafka, name) if MIN_ISR in changes else None)
        entry.before = {row["name"]: row["value"] for row in kafka.topic_configs(name) if row["name"] in changes}
        kafka.alter_topic_config(name, changes)
