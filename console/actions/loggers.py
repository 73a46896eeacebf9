"""Log levels of a broker's process (KIP-412): what is in force, and changed while it runs. They are kept nowhere: its restart ends them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from msgspec import Meta, Struct

from console.actions.audit import audited
from console.errors import Invalid
from console.gateway.connection import connection_of
from console.gateway.kafka_cluster import KafkaCluster
from console.models import Cluster
from console.roles import ADMIN, Actor

LEVELS = ("TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL")
ROOT = "root"
CHANGES_MAX = 100


class Logger(Struct):
    """`level` is the one in force, be it its own or that of a logger above it; `root` is above all."""

    name: str
    level: str


class LevelChange(Struct):
    name: str
    before: str
    after: Annotated[str | None, Meta(description="null: that of the logger above it is in force")]


def read_loggers(cluster: Cluster, broker_id: int) -> list[Logger]:
    """By name, as the broker says at this moment; none where it tells of none."""
    return [Logger(name, level) for name, level in sorted(KafkaCluster(connection_of(cluster)).loggers(broker_id).items())]


def preview_levels(cluster: Cluster, broker_id: int, levels: Mapping[str, str | None]) -> list[LevelChange]:
    """What would be changed; `Invalid` names the logger or the level that is none."""
    known = {one.name: one.level for one in read_loggers(cluster, broker_id)}
    if len(levels) > CHANGES_MAX:
        raise Invalid("levels", f"At most {CHANGES_MAX} loggers are changed at once.")
    for name, level in levels.items():
        if name not in known:
            raise Invalid(f"levels.{name}", f"Broker {broker_id} has no logger {name[:200]!r}.")
        if level is None and name == ROOT:
            raise Invalid(f"levels.{name}", f"There is no logger above {ROOT}: give it a level.")
        if level is not None and level not in LEVELS:
            raise Invalid(f"levels.{name}", f"{level[:40]!r} is no level: {', '.join(LEVELS)} are.")
    return [LevelChange(name, known[name], level) for name, level in levels.items()]


def change_levels(actor: Actor, cluster: Cluster, broker_id: int, levels: Mapping[str, str | None]) -> list[LevelChange]:
    """Takes effect at once; None takes a logger's own level away."""
    with audited(actor, ADMIN, "change log levels", str(broker_id), cluster=cluster, after=dict(levels)) as entry:
        changes = preview_levels(cluster, broker_id, levels)
        entry.before = {one.name: one.before for one in changes}
        KafkaCluster(connection_of(cluster)).alter_loggers(broker_id, levels)
    return changes
