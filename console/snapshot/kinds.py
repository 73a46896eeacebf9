"""Which type the values under a kind of key have."""

from __future__ import annotations

from typing import Any

from broker_core.contract.groups import Group, Lag, Reader
from broker_core.contract.jobs import Job
from broker_core.contract.live import Broker, Cluster
from broker_core.contract.partitions import Partition, Topic

KINDS: dict[str, Any] = {kind.__name__.lower(): kind for kind in (Cluster, Broker, Topic, Partition, Group, Lag, Reader, Job)}


def kind_of(key: str) -> str:
    return key.partition("/")[0]
