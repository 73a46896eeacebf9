"""The states of a transaction, with the numbers and names that Kafka has for them."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from types import MappingProxyType


class TransactionState(enum.Enum):
    """The value is the name that DescribeTransactions tells, and that ListTransactions is filtered by."""

    EMPTY = "Empty"
    ONGOING = "Ongoing"
    PREPARE_COMMIT = "PrepareCommit"
    PREPARE_ABORT = "PrepareAbort"
    COMPLETE_COMMIT = "CompleteCommit"
    COMPLETE_ABORT = "CompleteAbort"
    DEAD = "Dead"
    PREPARE_EPOCH_FENCE = "PrepareEpochFence"
    """Kafka's while it fences a producer; here that is one step, and no transaction is ever in it."""


NUMBERS: Mapping[TransactionState, int] = MappingProxyType({state: number for number, state in enumerate(TransactionState)})
"""As records of `__transaction_state` have them."""
STATES: Mapping[int, TransactionState] = MappingProxyType({number: state for state, number in NUMBERS.items()})

OVER = frozenset({TransactionState.EMPTY, TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT})
"""Nothing is going on: the next transaction may begin, and the id may expire."""
ENDING = frozenset({TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT})
"""Decided, and on its way to the partitions as markers."""

TRANSITIONS: Mapping[TransactionState, frozenset[TransactionState]] = MappingProxyType(
    {
        TransactionState.EMPTY: OVER,
        TransactionState.ONGOING: OVER | {TransactionState.ONGOING},
        TransactionState.PREPARE_COMMIT: frozenset({TransactionState.ONGOING}),
        TransactionState.PREPARE_ABORT: frozenset({TransactionState.ONGOING}),
        TransactionState.COMPLETE_COMMIT: frozenset({TransactionState.PREPARE_COMMIT}),
        TransactionState.COMPLETE_ABORT: frozenset({TransactionState.PREPARE_ABORT}),
        TransactionState.DEAD: OVER,
        TransactionState.PREPARE_EPOCH_FENCE: frozenset(),
    }
)
"""From which states a state may be reached."""
