"""What a leader does about the controller's answer to one ISR change (KIP-497; Partition.handleAlterPartitionError).

A change that was not answered, or put off, may be written all the same, and late: a request can outlive the connection it was sent by. So
only an answer to the first try tells that a change is not made and will not be. Kafka's leaders take any such answer for that.
"""

from __future__ import annotations

import enum

from broker_core.errors import ErrorCode


class Step(enum.Enum):
    """What comes next, after an answer of that kind."""

    TAKE = "the change is made"
    WITHDRAW = "it was not made and will not be"
    SETTLE = "it is not made so far: the store is asked for a write of the ISR as it was, after which no earlier request can be carried out"
    LOOK_UP = "another state was written, be it by an earlier try: the store knows"
    GIVE_UP = "another leader epoch has begun: LeaderAndIsr will tell"
    ASK_AGAIN = "it is not known what became of it"


_NOT_MADE = (ErrorCode.INELIGIBLE_REPLICA, ErrorCode.OPERATION_NOT_ATTEMPTED)
_OVER = (ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.NEW_LEADER_ELECTED)


def step_after(code: ErrorCode | None, *, tries: int) -> Step:
    """`code` is the answer to try number `tries`, None where there was none."""
    if code is ErrorCode.NONE:
        return Step.TAKE
    if code in _NOT_MADE:
        return Step.SETTLE if tries > 1 else Step.WITHDRAW
    if code is ErrorCode.INVALID_UPDATE_VERSION:
        return Step.LOOK_UP
    return Step.GIVE_UP if code in _OVER else Step.ASK_AGAIN
