"""Topics: create, delete, add partitions, change settings."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from django.conf import settings

from broker_core.contract.partitions import Topic
from console.actions.audit import audited
from console.actions.jobs import follow
from console.errors import Conflict, Invalid, Risky, Unconfirmed
from console.gateway.connection import connection_of
from console.gateway.errors import GatewayError, Unfinished
from console.gateway.kafka_cluster import KafkaCluster
from console.gateway.topic_keys import known
from console.jobs.topics import Creation, Deletion, Growth
from console.models import Cluster, ConsoleSetting, Job
from console.move_plans import hosts_of
from console.planning.new_topic import PLACED_MOST, placed
from console.planning.placing import Unreachable
from console.roles import ADMIN, OPERATOR, Actor
from console.rules.load import Load, load_after, load_risks
from console.rules.risks import MIN_ISR, setting_risks
from console.rules.settings.of_console import REPLICAS_WARN
from console.rules.words import counted, whole
from console.snapshot.asking import ask_now
from console.snapshot.read import Snapshot, SnapshotUnavailable, await_snapshot

NAME = re.compile(r"[a-zA-Z0-9._-]{1,249}")
PARTITIONS_LIMIT = 10_000
DEFAULT = -1
NOT_HEARD_OF = "Topic {} is there, but the brokers have not all heard of it: it is being created or deleted. Ask again in a few seconds."


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
    assignment: Sequence[Sequence[int]] = (),
) -> Job | None:
    """Without `confirm` settings that put records at risk, and more replicas than brokers should have, are refused (`Risky`).
    What the cluster did not finish in time is followed by the job that is returned."""
    after = {"partitions": partitions, "replication_factor": replication_factor, "configs": dict(configs)}
    with audited(actor, OPERATOR, "create topic", name, cluster=cluster, after=after):
        check_topic(name, partitions, replication_factor)
        kafka = KafkaCluster(connection_of(cluster))
        if not confirm:
            _refuse(_creation_risks(cluster, kafka, name, (partitions, replication_factor), configs))
        numbers = (DEFAULT, DEFAULT) if assignment else (partitions, replication_factor)
        try:
            kafka.create_topic(name, *numbers, configs, assignment=assignment)
        except Unfinished:
            return follow(actor, cluster, Creation.name, name, partitions)
    ask_now(cluster.pk, "metadata")
    await_snapshot(lambda: _serves(Snapshot(cluster.pk).topic(name), max(partitions, 1)))
    return None


def _creation_risks(cluster: Cluster, kafka: KafkaCluster, name: str, numbers: tuple[int, int], configs: Mapping[str, str]) -> list[str]:
    """`numbers`: of partitions, and of replicas of each."""
    partitions, replication_factor = numbers
    copies = replication_factor if replication_factor != DEFAULT or MIN_ISR not in configs else _default_copies(kafka)
    return [*setting_risks(name, configs, copies), *_load_risks(cluster, kafka, name, partitions, copies)]


def _refuse(risks: list[str]) -> None:
    if risks:
        raise Risky(risks)


def _load_risks(cluster: Cluster, kafka: KafkaCluster, name: str, added: int, copies: int | None) -> list[str]:
    """Of so many new partitions; how many copies each gets is asked only where it matters."""
    limit = replicas_warn()
    if not limit or added <= 0:
        return []
    now = replicas_by_broker(cluster, kafka)
    if max(now.values(), default=0) + added <= limit:
        return []
    copies = copies if copies not in (None, DEFAULT) else _default_copies(kafka)
    load = load_after(now, added, copies or 1)
    return load_risks(f"{name} with {counted(added, 'new partition')} of {counted(copies or 1, 'copy', 'copies')}", load, limit)


def replicas_warn() -> int:
    """From how many replicas of a broker on a change is asked about; 0: never."""
    found = ConsoleSetting.number(REPLICAS_WARN)
    return settings.REPLICAS_WARN if found is None else found


def replicas_by_broker(cluster: Cluster, kafka: KafkaCluster) -> dict[int, int]:
    """Replicas on each broker that is online, as last seen; 0 where nothing is known."""
    try:
        rows = [row for row in Snapshot(cluster.pk).brokers() if row.state == "online"]
    except SnapshotUnavailable:
        rows = []
    return {row.broker_id: row.replicas or 0 for row in rows} or dict.fromkeys(sorted(kafka.brokers()), 0)


def _default_copies(kafka: KafkaCluster) -> int | None:
    """How many copies a topic gets that does not say."""
    rows = kafka.broker_configs(min(kafka.brokers())) if kafka.brokers() else []
    text = next((row["value"] for row in rows if row["name"] == "default.replication.factor"), None)
    return int(text) if text else None


def _serves(topic: Topic | None, partitions: int) -> bool:
    return topic is not None and (topic.partitions or 0) >= partitions and not topic.offline and not topic.starting


class NewTopic(NamedTuple):
    """What creating a topic would do: `rows` are `{label, before, after}`; `placement` has each partition's replicas, the preferred
    leader first, and is empty where the controller is to place them."""

    rows: list[dict[str, Any]]
    risks: list[str]
    placement: list[tuple[int, ...]]


def preview_topic(cluster: Cluster, name: str, partitions: int, replication_factor: int, configs: Mapping[str, str]) -> NewTopic:
    """Checked by the broker without doing it."""
    check_topic(name, partitions, replication_factor)
    kafka = KafkaCluster(connection_of(cluster))
    kafka.create_topic(name, partitions, replication_factor, configs, validate_only=True)
    rows: list[dict[str, Any]] = [
        {"label": "topic", "before": None, "after": name},
        {"label": "partitions", "before": None, "after": partitions},
        {"label": "replicas of each", "before": None, "after": replication_factor},
    ]
    placement: list[tuple[int, ...]] = []
    if DEFAULT not in (partitions, replication_factor):
        now, placement = replicas_by_broker(cluster, kafka), _placement(cluster, name, partitions, replication_factor)
        load = _load_of(now, placement) if placement else load_after(now, partitions, replication_factor)
        about = "" if placement else ", about"
        rows += [{"label": f"replicas on broker {broker}{about}", "before": then[0], "after": then[1]} for broker, then in load.items()]
    rows += [{"label": key, "before": known(key)["default"], "after": value} for key, value in configs.items()]
    return NewTopic(rows, _creation_risks(cluster, kafka, name, (partitions, replication_factor), configs), placement)


def _placement(cluster: Cluster, name: str, partitions: int, replication_factor: int) -> list[tuple[int, ...]]:
    """None for a topic that is too large to be shown, or where brokers are not known."""
    if partitions > PLACED_MOST:
        return []
    try:
        return placed(hosts_of(Snapshot(cluster.pk).brokers()), name, partitions, replication_factor)
    except (SnapshotUnavailable, Unreachable):
        return []


def _load_of(now: Mapping[int, int], placement: Sequence[Sequence[int]]) -> Load:
    added = Counter(broker for row in placement for broker in row)
    return {broker: (count, count + added[broker]) for broker, count in sorted(now.items())}


def delete_topic(actor: Actor, cluster: Cluster, name: str, *, confirm: str, settle: bool = True) -> Job | None:
    """The job that follows a deletion which goes on after the cluster's time for it was up. Without `settle` nobody waits until it is
    seen."""
    with audited(actor, ADMIN, "delete topic", name, cluster=cluster) as entry:
        topic = _known(cluster, name)
        entry.before = topic and {key: getattr(topic, key) for key in ("topic_id", "partitions", "messages", "size_bytes")}
        if confirm != name:
            raise Unconfirmed("confirm", f"Type the topic's name, {name}, to delete it with all its records.")
        try:
            KafkaCluster(connection_of(cluster)).delete_topic(name)
        except Unfinished:
            return follow(actor, cluster, Deletion.name, name, (entry.before or {}).get("partitions") or 0)
        except GatewayError as error:
            if error.name == "UNKNOWN_TOPIC_OR_PARTITION" and _is_there(cluster, name):
                raise Conflict(NOT_HEARD_OF.format(name)) from error
            raise
    ask_now(cluster.pk, "metadata")
    if not settle or await_snapshot(lambda: _gone_or_waiting(Snapshot(cluster.pk).topic(name))) or not _is_going(cluster, name):
        return None
    return follow(actor, cluster, Deletion.name, name, (entry.before or {}).get("partitions") or 0)


def _is_there(cluster: Cluster, name: str) -> bool:
    """Whether the topic exists by what is known at this moment: brokers hear of a new one a little later than we do."""
    try:
        return _known(cluster, name) is not None and not Snapshot(cluster.pk).as_of().stale
    except SnapshotUnavailable:
        return False


def _is_going(cluster: Cluster, name: str) -> bool:
    """Whether the topic is seen being deleted, piece by piece."""
    topic = _known(cluster, name)
    return topic is not None and topic.deleting is not None


def _known(cluster: Cluster, name: str) -> Topic | None:
    """The topic as it was last seen."""
    try:
        return Snapshot(cluster.pk).topic(name)
    except SnapshotUnavailable:
        return None


def _gone_or_waiting(topic: Topic | None) -> bool:
    """A deletion that waits for a broker is over when that is back: nobody waits here for it."""
    return topic is None or bool(topic.deleting and (topic.deleting.waits_for or topic.deleting.moving))


def add_partitions(
    actor: Actor,
    cluster: Cluster,
    name: str,
    total: int,
    now: int | None = None,
    *,
    confirm: bool = False,
    assignment: Sequence[Sequence[int]] = (),
) -> Job | None:
    """As `create_topic`: refuses too large a load without `confirm`, and returns the job that follows what takes longer."""
    with audited(actor, OPERATOR, "add partitions", name, cluster=cluster, before={"partitions": now}, after={"partitions": total}):
        _refuse_size(name, total, now)
        kafka = KafkaCluster(connection_of(cluster))
        if not confirm:
            topic = _known(cluster, name)
            _refuse(_load_risks(cluster, kafka, name, total - (now or 0), topic.replication_factor if topic else None))
        try:
            kafka.add_partitions(name, total, assignment=assignment)
        except Unfinished:
            return follow(actor, cluster, Growth.name, name, total)
    ask_now(cluster.pk, "metadata")
    await_snapshot(lambda: _serves(Snapshot(cluster.pk).topic(name), total))
    return None


def preview_growth(cluster: Cluster, name: str, total: int) -> list[dict[str, Any]]:
    """What more partitions would do, checked by the broker without doing it: `[{label, before, after}]`."""
    kafka = KafkaCluster(connection_of(cluster))
    now = next((len(topic["partitions"]) for topic in kafka.topics([name])), None)
    _refuse_size(name, total, now)
    kafka.add_partitions(name, total, validate_only=True)
    return [{"label": "partitions", "before": now, "after": total}]


def _refuse_size(name: str, total: int, now: int | None) -> None:
    if now is not None and total <= now:
        raise Invalid("count", f"{name} has {counted(now, 'partition')}; give a larger number, partitions cannot be taken away.")
    if total > PARTITIONS_LIMIT:
        raise Invalid("count", f"Give at most {whole(PARTITIONS_LIMIT)} partitions.")
