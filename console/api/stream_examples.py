"""What a listener of the live state reads, for the OpenAPI description: written as it is sent, of values as the description has them."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Raw, Struct

from broker_core.contract.frames import Beat, Changes, Snapshot, Values
from broker_core.contract.live import Broker, Cluster
from broker_core.contract.partitions import Partition, Topic
from console.api.examples import NOON_MS, example_of
from console.live.browser.stream import RETRY, End, Missed, as_sent
from console.snapshot import keys

SEQ = 4711


def examples() -> dict[str, str]:
    """By what they show."""
    state = {keys.CLUSTER: _value(Cluster)}
    brokers, topic = {keys.broker(1): _value(Broker)}, {keys.topic("orders"): _value(Topic)}
    changed = {keys.partition("orders", 0): _value(Partition)}
    beat = as_sent("beat", Beat(NOON_MS + 40, NOON_MS, NOON_MS - 200, NOON_MS + 2800))
    then = as_sent("changes", Changes(SEQ + 1, NOON_MS + 900, changed), SEQ + 1)
    found = {
        "listening": [_snapshot(state | brokers | topic | changed), beat, then],
        "back-and-nothing-missed": [as_sent("resumed", Missed(SEQ, SEQ), SEQ), beat, then],
        "back-and-something-missed": [as_sent("missed", Missed(SEQ - 9, SEQ)), _snapshot(state)],
        "the-end": [as_sent("end", End("signed out", again=False))],
    }
    return {name: b"".join([RETRY, *events]).decode() for name, events in found.items()}


def _snapshot(values: Values) -> bytes:
    return as_sent("snapshot", Snapshot(SEQ, NOON_MS, values), SEQ)


def _value(kind: type[Struct]) -> Raw:
    schema: dict[str, Any] = msgspec.json.schema(kind)
    return Raw(msgspec.json.encode(example_of(schema, schema["$defs"])))
