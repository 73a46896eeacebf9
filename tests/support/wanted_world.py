"""A pretended cluster that does what it is asked for, and a file that wants it otherwise."""

from __future__ import annotations

from typing import Any

import pytest

from console.gateway.kafka_cluster import KafkaCluster
from tests.support.console_world import FakeKafka

FILE = """
topics:
  orders:
    partitions: 4
    replication_factor: 3
    configs: {retention.ms: 500}
  fresh: {partitions: 2, replication_factor: 3}
  small: {partitions: 1}
brokers:
  configs: {log.retention.ms: 9}
"""


class Cluster(FakeKafka):
    """It does what it is asked for."""

    defaults: dict[str, str]
    limits: dict[str, dict[str, float]] | None = None
    """Quotas by entity; None: the brokers have none to tell of."""

    def own_topic_configs(self, names: list[str]) -> dict[str, dict[str, str]]:
        return {name: dict(self.configs.get(name, {})) for name in names}

    def broker_defaults(self) -> dict[str, str]:
        return dict(self.defaults)

    def alter_broker_defaults(self, changes: dict[str, Any]) -> None:
        self._called("alter_broker_defaults", changes)
        self.defaults.update({k: v for k, v in changes.items() if v is not None})

    def quotas(self) -> dict[str, dict[str, float]] | None:
        return None if self.limits is None else {entity: dict(one) for entity, one in self.limits.items()}

    def alter_quota(self, entity: str, changes: dict[str, float | None]) -> None:
        self._called("alter_quota", entity, changes)
        assert self.limits is not None
        left = {key: value for key, value in (self.limits.get(entity, {}) | changes).items() if value is not None}
        self.limits = {name: one for name, one in {**self.limits, entity: left}.items() if one}

    def create_topic(self, name: str, partitions: int, replication_factor: int, configs: Any, **more: Any) -> None:
        super().create_topic(name, partitions, replication_factor, configs, **more)
        self.topics_[name] = {n: [1, 2, 3][:replication_factor] for n in range(partitions)}
        self.configs[name] = dict(configs)

    def add_partitions(self, name: str, total: int, **more: Any) -> None:
        super().add_partitions(name, total, **more)
        rows = self.topics_[name]
        rows |= {
            n: list(more.get("assignment") or [])[n - len(rows)] if more.get("assignment") else rows[0] for n in range(len(rows), total)
        }

    def reassignments(self) -> dict[tuple[str, int], dict[str, list[int]]]:
        return {tp: {"replicas": to, "adding_replicas": [], "removing_replicas": []} for tp, to in self.moving.items()}


def put_in_place(monkeypatch: pytest.MonkeyPatch) -> Cluster:
    found = Cluster()
    found.defaults = {}
    found.topics_ = {"orders": {0: [1, 2], 1: [2, 3]}, "small": {0: [1], 1: [2]}, "extra": {0: [1]}, "__consumer_offsets": {0: [1]}}
    found.configs = {"orders": {"retention.ms": "1000", "segment.ms": "5"}}
    for name in [n for n in dir(Cluster) if not n.startswith("_") and hasattr(KafkaCluster, n)]:
        monkeypatch.setattr(KafkaCluster, name, lambda _self, *a, _name=name, **k: getattr(found, _name)(*a, **k))
    monkeypatch.setattr("console.snapshot.read.SETTLE_S", 0.0)
    return found
