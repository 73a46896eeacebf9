"""What the demo's topics look like, and what one record of each is."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable
from dataclasses import dataclass, field

MIB = 1024 * 1024
BOUNDED = {"segment.bytes": str(2 * MIB), "retention.bytes": str(8 * MIB), "retention.ms": str(6 * 3600 * 1000)}
"""At most 8 MiB and a segment per partition, however long the demo runs."""

Record = tuple[bytes | None, bytes]
MakeRecord = Callable[[random.Random, int], Record]
RateAt = Callable[[float], float]


@dataclass(frozen=True, slots=True)
class Shape:
    """A topic and its traffic; `rate_at(seconds since start)` is in records per second."""

    topic: str
    partitions: int
    replication_factor: int
    make: MakeRecord
    rate_at: RateAt
    config: dict[str, str] = field(default_factory=lambda: dict(BOUNDED))


def steady(rate: float) -> RateAt:
    return lambda seconds: rate


def waves(low: float, high: float, period_s: float) -> RateAt:
    """Between `low` and `high` records/s, as a day's traffic would, once in `period_s`."""
    return lambda seconds: low + (high - low) * (1 + math.sin(2 * math.pi * seconds / period_s)) / 2


def bursts(idle: float, peak: float, every_s: float, for_s: float) -> RateAt:
    return lambda seconds: peak if seconds % every_s < for_s else idle


def order(source: random.Random, number: int) -> Record:
    customer = f"customer-{source.randrange(500)}"
    body = {"order": number, "customer": customer, "items": source.randrange(1, 9), "total_cents": source.randrange(500, 90000)}
    return customer.encode(), json.dumps(body).encode()


def click(source: random.Random, number: int) -> Record:
    body = {"click": number, "page": f"/products/{source.randrange(2000)}", "ms": source.randrange(20, 900)}
    return None, json.dumps(body).encode()


def stock(source: random.Random, number: int) -> Record:
    product = f"product-{source.randrange(200)}"
    return product.encode(), json.dumps({"product": product, "stock": source.randrange(1000), "revision": number}).encode()


def reading(source: random.Random, number: int) -> Record:
    values = [round(source.gauss(20.0, 3.0), 2) for _ in range(60)]
    return f"sensor-{number % 10}".encode(), json.dumps({"reading": number, "celsius": values}).encode()


SHAPES = (
    Shape("orders", 6, 3, order, waves(10, 60, 300.0), {**BOUNDED, "min.insync.replicas": "2"}),
    Shape("clicks", 12, 2, click, bursts(20, 200, 60.0, 10.0), {**BOUNDED, "min.insync.replicas": "1"}),
    Shape("inventory", 3, 3, stock, steady(5), {"cleanup.policy": "compact", "segment.bytes": str(MIB), "min.insync.replicas": "2"}),
    Shape("sensor-readings", 1, 3, reading, steady(2), {**BOUNDED, "min.insync.replicas": "2"}),
)
