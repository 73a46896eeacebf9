"""Live values of which a test names only what matters: all else is unknown."""

from __future__ import annotations

from typing import Any, TypeVar

from broker_core.contract.partitions import Partition

T = TypeVar("T")


def some(kind: type[T], **known: Any) -> T:
    return kind(**(dict.fromkeys(kind.__struct_fields__) | known))  # type: ignore[attr-defined]


def partition(topic: str = "orders", number: int = 3, state: str = "safe", **known: Any) -> Partition:
    return some(Partition, **{"topic": topic, "partition": number, "state": state, "isr": (), "assignment": (), "replicas": (), **known})
