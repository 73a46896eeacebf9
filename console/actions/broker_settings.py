"""Settings of one broker that it takes while it runs (KIP-226)."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any

from console.actions.audit import audited
from console.errors import Invalid
from console.gateway.connection import connection_of
from console.gateway.errors import GatewayError
from console.gateway.kafka_cluster import KafkaCluster
from console.models import Cluster
from console.roles import ADMIN, Actor
from console.snapshot.read import await_snapshot


def broker_configs(cluster: Cluster, broker_id: int) -> list[dict[str, Any]]:
    """`[{name, value, set_for, read_only, sensitive, doc, …}]` by name, as the broker itself says."""
    return KafkaCluster(connection_of(cluster)).broker_configs(broker_id)


def check_setting(cluster: Cluster, broker_id: int, key: str) -> str | None:
    """Its present value; `Invalid` where there is none such, or it is not one that a running broker takes."""
    row = next((row for row in broker_configs(cluster, broker_id) if row["name"] == key), None)
    if row is None:
        raise Invalid("key", f"Broker {broker_id} has no setting {key!r}." if key else "Name a setting.")
    if row["read_only"]:
        raise Invalid("key", f"{key} is read at a broker's start only: change its file and restart it.")
    return "hidden" if row["sensitive"] else row["value"]


def set_broker_config(actor: Actor, cluster: Cluster, broker_id: int, changes: Mapping[str, str | None]) -> None:
    """None takes the broker's own value away. The broker hears of it by ZooKeeper: until it says so itself a little is waited."""
    with audited(actor, ADMIN, "change broker settings", str(broker_id), cluster=cluster, after=dict(changes)) as entry:
        entry.before = {key: check_setting(cluster, broker_id, key) for key in changes}
        KafkaCluster(connection_of(cluster)).alter_broker_config(broker_id, changes)
    with contextlib.suppress(GatewayError):
        await_snapshot(lambda: _has(cluster, broker_id, changes))


def _has(cluster: Cluster, broker_id: int, changes: Mapping[str, str | None]) -> bool:
    own = KafkaCluster(connection_of(cluster)).own_broker_configs(broker_id)
    return all(own.get(key) == value for key, value in changes.items())
