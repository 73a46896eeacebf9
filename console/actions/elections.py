"""Unclean elections: a replica that was not in sync leads, and what it does not have is lost."""

from __future__ import annotations

from typing import Any

from broker_core.contract.partitions import Partition
from console.actions.audit import audited
from console.errors import Invalid, Risky, Unconfirmed
from console.gateway.connection import connection_of
from console.gateway.kafka_cluster import KafkaCluster
from console.models import Cluster
from console.roles import ADMIN, Actor
from console.rules.partitions import OFFLINE
from console.rules.risks import unclean_risks
from console.rules.words import counted, whole
from console.snapshot.asking import ask_now
from console.snapshot.read import Snapshot

ELECTED_LIMIT = 1_000
"""Partitions of one request."""


def without_leader(snapshot: Snapshot, name: str) -> list[Partition]:
    """The topic's partitions that have no leader, as last seen, at most so many as one request elects."""
    numbers = snapshot.troubled_partitions(name)[:ELECTED_LIMIT]
    return [value for value in snapshot.some_partitions(name, numbers) if value.state == OFFLINE]


def elect_unclean(actor: Actor, cluster: Cluster, name: str, *, confirm: str | None) -> dict[str, Any]:
    """Elects for every partition of the topic that has no leader; `confirm` is the topic's name (None: not confirmed).
    `{topic, elected: [partition], failed: [{partition, error}]}`."""
    with audited(actor, ADMIN, "elect unclean leaders", name, cluster=cluster) as entry:
        snapshot = Snapshot(cluster.pk)
        if snapshot.topic(name) is None:
            raise Invalid("topic", f"There is no topic {name}.")
        found = without_leader(snapshot, name)
        entry.before = [{key: getattr(value, key) for key in ("partition", "leader_epoch", "isr", "assignment")} for value in found[:100]]
        if not found:
            raise Invalid("topic", f"Every partition of {name} has a leader: there is nothing that an unclean election could bring back.")
        if confirm is None:
            raise Risky(unclean_risks(name, found))
        if confirm != name:
            raise Unconfirmed("confirm", f"Type the topic's name, {name}: acknowledged records can be lost.")
        answers = KafkaCluster(connection_of(cluster)).elect_unclean([(name, value.partition) for value in found])
        done = {"topic": name, "elected": [p for (_, p), (code, _) in answers.items() if code == 0], "failed": _failed(answers)}
        entry.after = done
    ask_now(cluster.pk, "metadata")
    return done


def _failed(answers: dict[tuple[str, int], tuple[int, str]]) -> list[dict[str, Any]]:
    return [{"partition": p, "error": f"{words or 'refused'} ({code})"} for (_, p), (code, words) in answers.items() if code != 0]


def elected_sentence(done: dict[str, Any]) -> str:
    """What a page says of it."""
    failed = done["failed"]
    said = f"{counted(len(done['elected']), 'partition')} of {done['topic']} got a leader by an unclean election."
    return said if not failed else f"{said} {whole(len(failed))} did not: {failed[0]['error']}."
