"""Where a follower's log and its leader's part, and what the follower has to cut (KIP-101, KIP-279, KIP-320, KIP-595).

Both sides look an epoch up in their own list of (epoch, start offset): the answer is the largest epoch not above the one
asked for and the offset at which it ends. A fetch names the epoch of the follower's last record; the leader compares and
answers with its own (epoch, end offset) where the logs part. The follower looks the leader's epoch up in its own list and
cuts at the lesser end. If the two still differ in a yet lower epoch, the next fetch shows it.

    leader    e1 e1 e3            fetch at 4, last epoch 2 → leader: epoch 1 ends at 2 → diverging (1, 2)
    follower  e1 e1 e2 e2         follower: own epoch 1 ends at 2 → cut at 2, fetch at 2 with last epoch 1
"""

from __future__ import annotations

import enum
from typing import NamedTuple

from msgspec import Struct

UNDEFINED_EPOCH = -1
UNDEFINED_OFFSET = -1


class EpochEnd(NamedTuple):
    """An epoch and its exclusive end offset; (-1, -1) when the log knows no such epoch."""

    epoch: int
    end_offset: int

    @property
    def known(self) -> bool:
        return self.epoch != UNDEFINED_EPOCH and self.end_offset != UNDEFINED_OFFSET


class Comparison(enum.Enum):
    """How a fetch position relates to the log it is read from."""

    MATCHES = "matches"
    DIVERGES = "diverges"
    OUT_OF_RANGE = "out of range"


def compare_position(fetch_offset: int, last_fetched_epoch: int, log_start_offset: int, own: EpochEnd) -> Comparison:
    """The leader's side: `own` is its look-up of `last_fetched_epoch`.

    An offset below the log's start is out of range before any divergence is looked at (KAFKA-12996): the follower has to
    start over, and an epoch end below the log's start would tell it to cut records that nobody can compare.
    """
    if not own.known or fetch_offset < log_start_offset:
        return Comparison.OUT_OF_RANGE
    if own.epoch < last_fetched_epoch or own.end_offset < fetch_offset:
        return Comparison.DIVERGES
    return Comparison.MATCHES


class Cut(NamedTuple):
    """Cut the log at `offset`; ask the leader again before fetching when not `final`."""

    offset: int
    final: bool


def cut_for(leader: EpochEnd, own: EpochEnd, log_end_offset: int, fallback_offset: int) -> Cut:
    """The follower's side: `own` is its look-up of the leader's epoch, `fallback_offset` its high watermark.

    An undefined answer of the leader leaves only the high watermark. When the follower does not have the leader's epoch it
    cuts to the end of its own next lower one and asks again (KIP-279).
    """
    if leader.end_offset == UNDEFINED_OFFSET:
        return Cut(min(fallback_offset, log_end_offset), final=True)
    if leader.epoch == UNDEFINED_EPOCH or not own.known:
        return Cut(min(leader.end_offset, log_end_offset), final=True)
    if own.epoch != leader.epoch:
        return Cut(min(own.end_offset, leader.end_offset, log_end_offset), final=False)
    return Cut(min(own.end_offset, leader.end_offset, log_end_offset), final=True)


class Restart(enum.Enum):
    """What a follower does whose fetch offset the leader called out of range."""

    CUT = "cut to the leader's end"
    START_OVER = "drop all and start at the leader's start"
    KEEP = "fetch again from the own end"


class RestartPlan(Struct, frozen=True):
    action: Restart
    fetch_offset: int


def after_out_of_range(log_end_offset: int, leader_start_offset: int, leader_end_offset: int) -> RestartPlan:
    """Leader's log ends below ours: an unclean election, cut. It starts above our end: what we hold is gone there, start over."""
    if leader_end_offset < log_end_offset:
        return RestartPlan(Restart.CUT, leader_end_offset)
    if leader_start_offset > log_end_offset:
        return RestartPlan(Restart.START_OVER, leader_start_offset)
    return RestartPlan(Restart.KEEP, log_end_offset)
