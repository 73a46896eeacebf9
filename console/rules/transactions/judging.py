"""Which open transaction of a partition hangs (KIP-664). Pure.

1. A transaction that its coordinator has, with this partition in it, ends by its coordinator's word: it is in progress, or ending.
2. One that no coordinator has is `orphaned`: no marker will ever come. That is said only where every coordinator told, none changed while
   they were asked, and the partition still had the transaction afterwards: before a producer writes, its coordinator knows the partition.
3. It is called `hanging` once nothing was written in it for longer than a transaction may last at all, as Kafka's tool has it.
4. Else it is `unknown`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from console.rules.transactions.shown import Kind
from console.rules.transactions.told import ENDING, OPEN, Description, Place, Producer


class Known(NamedTuple):
    """What the coordinators told of some producers. `names`: the transactional ids by producer id; `told`: of these what each is, None
    where it was not told (one that its coordinator does not have is in neither); `complete`: every coordinator answered, and none
    changed."""

    names: Mapping[int, str]
    told: Mapping[str, Description | None]
    complete: bool


def judge(producer: Producer, place: Place, known: Known, *, is_old: bool, is_still_open: bool | None) -> Kind:
    """`is_still_open`: whether its leader still had the very transaction after the coordinators had told; None: it did not say."""
    if producer.start_offset is None:
        return "none"
    name = known.names.get(producer.producer_id)
    if name is not None:
        told = known.told.get(name)
        if told is None:
            return "unknown"
        if told.state in OPEN and place in told.places:
            return "ending" if told.state in ENDING else "in_progress"
    if not known.complete or is_still_open is None:
        return "unknown"
    if not is_still_open:
        return "none"
    return "hanging" if is_old else "orphaned"


def is_old(producer: Producer, max_timeout_ms: int, now_ms: int) -> bool:
    """Nothing was written for longer than a transaction may last. One of an unknown time is not old."""
    return producer.last_at_ms is not None and now_ms - producer.last_at_ms > max_timeout_ms


def same(one: Producer, other: Producer) -> bool:
    """Whether both have the same open transaction: an offset is where only one can begin."""
    return (one.producer_id, one.epoch, one.start_offset) == (other.producer_id, other.epoch, other.start_offset)
