"""A partition's leader epochs as stretches of its log. Pure."""

from __future__ import annotations

from typing import NamedTuple

from broker_core.contract.partitions import Partition


class EpochLine(NamedTuple):
    """An epoch: where in the log it began and ended (None: unknown), and its share of what is shown, in percent. `is_last`: it is the
    newest that wrote, and goes on where the partition has a leader of this epoch."""

    epoch: int
    start: int
    end: int | None
    offsets: int | None
    share: int
    is_last: bool


def epoch_lines(value: Partition) -> list[EpochLine]:
    """Oldest first; what lies before the log's start is not counted. An epoch in which nothing was written yet is none of them."""
    first = value.log_start_offset or 0
    starts = [max(one.start_offset, first) for one in value.epochs]
    ends: list[int | None] = [*starts[1:], value.log_end_offset][: len(starts)]
    known = [max(end - start, 0) if end is not None else None for start, end in zip(starts, ends, strict=True)]
    total = sum(count or 0 for count in known)
    last = len(known) - 1
    return [
        EpochLine(one.epoch, start, end, count, round(100 * (count or 0) / total) if total else 0, place == last)
        for place, (one, start, end, count) in enumerate(zip(value.epochs, starts, ends, known, strict=True))
    ]
