"""Every event of a transaction in every state."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from broker_core.errors import ErrorCode
from broker_core.model import TopicPartition
from broker_core.transactions import transaction
from broker_core.transactions.states import ENDING, OVER, TRANSITIONS, TransactionState
from broker_core.transactions.transaction import LAST_EPOCH, NEW_PRODUCER, NO_EPOCH, Producer, Target, Transaction

pytestmark = pytest.mark.spec("G5", "B17")

A, B = TopicPartition("t", 0), TopicPartition("t", 1)
ME = Producer(7, 3)
REACHABLE = (*OVER, *ENDING, TransactionState.ONGOING)
CONCURRENT = ErrorCode.CONCURRENT_TRANSACTIONS


def txn(state: TransactionState, **fields: object) -> Transaction:
    made = Transaction("id", ME.producer_id, 1_000, 50, ME.epoch, state=state, started_ms=40)
    made.partitions = {A: None} if state is TransactionState.ONGOING or state in ENDING else {}
    for name, value in fields.items():
        setattr(made, name, value)
    return made


def outcome(found: Target | ErrorCode) -> object:
    return found if isinstance(found, ErrorCode) else found.state


S = TransactionState
EVENTS: dict[str, tuple[Callable[[Transaction], Target | ErrorCode], dict[TransactionState, object]]] = {
    "a new producer": (
        lambda one: transaction.initialize(one, NEW_PRODUCER, 2_000, None, 60),
        {S.EMPTY: S.EMPTY, S.COMPLETE_COMMIT: S.EMPTY, S.COMPLETE_ABORT: S.EMPTY}
        | dict.fromkeys((S.ONGOING, S.PREPARE_COMMIT, S.PREPARE_ABORT), CONCURRENT),
    ),
    "the producer again": (
        lambda one: transaction.initialize(one, ME, 2_000, None, 60),
        {S.EMPTY: S.EMPTY, S.COMPLETE_COMMIT: S.EMPTY, S.COMPLETE_ABORT: S.EMPTY}
        | dict.fromkeys((S.ONGOING, S.PREPARE_COMMIT, S.PREPARE_ABORT), CONCURRENT),
    ),
    "a partition": (
        lambda one: transaction.add(one, ME, [B], 60),
        {S.EMPTY: S.ONGOING, S.COMPLETE_COMMIT: S.ONGOING, S.COMPLETE_ABORT: S.ONGOING, S.ONGOING: S.ONGOING}
        | dict.fromkeys((S.PREPARE_COMMIT, S.PREPARE_ABORT), CONCURRENT),
    ),
    "a partition that is in it": (
        lambda one: transaction.add(one, ME, [A], 60),
        {S.EMPTY: S.ONGOING, S.COMPLETE_COMMIT: S.ONGOING, S.COMPLETE_ABORT: S.ONGOING, S.ONGOING: ErrorCode.NONE}
        | dict.fromkeys((S.PREPARE_COMMIT, S.PREPARE_ABORT), CONCURRENT),
    ),
    "is the partition in it?": (
        lambda one: transaction.verify(one, ME, A),
        dict.fromkeys(OVER, ErrorCode.TRANSACTION_ABORTABLE) | dict.fromkeys(ENDING, CONCURRENT) | {S.ONGOING: ErrorCode.NONE},
    ),
    "is another in it?": (
        lambda one: transaction.verify(one, ME, B),
        dict.fromkeys((*OVER, S.ONGOING), ErrorCode.TRANSACTION_ABORTABLE) | dict.fromkeys(ENDING, CONCURRENT),
    ),
    "commit": (
        lambda one: transaction.end(one, ME, commit=True, now_ms=60),
        {
            S.EMPTY: ErrorCode.INVALID_TXN_STATE,
            S.ONGOING: S.PREPARE_COMMIT,
            S.PREPARE_COMMIT: CONCURRENT,
            S.PREPARE_ABORT: ErrorCode.INVALID_TXN_STATE,
            S.COMPLETE_COMMIT: ErrorCode.NONE,
            S.COMPLETE_ABORT: ErrorCode.INVALID_TXN_STATE,
        },
    ),
    "abort": (
        lambda one: transaction.end(one, ME, commit=False, now_ms=60),
        {
            S.EMPTY: ErrorCode.INVALID_TXN_STATE,
            S.ONGOING: S.PREPARE_ABORT,
            S.PREPARE_COMMIT: ErrorCode.INVALID_TXN_STATE,
            S.PREPARE_ABORT: CONCURRENT,
            S.COMPLETE_COMMIT: ErrorCode.INVALID_TXN_STATE,
            S.COMPLETE_ABORT: ErrorCode.NONE,
        },
    ),
    "its time is up": (
        lambda one: transaction.fence(one, 60),
        dict.fromkeys((*OVER, *ENDING), CONCURRENT) | {S.ONGOING: S.PREPARE_ABORT},
    ),
}


@pytest.mark.parametrize("state", REACHABLE, ids=lambda state: state.value)
@pytest.mark.parametrize("event", EVENTS)
def test_what_an_event_comes_to(event: str, state: TransactionState) -> None:
    act, expected = EVENTS[event]
    assert outcome(act(txn(state))) == expected[state]


@pytest.mark.parametrize("state", REACHABLE, ids=lambda state: state.value)
@pytest.mark.parametrize("event", [name for name in EVENTS if "is " not in name])
def test_a_change_that_is_being_stored_is_waited_for(event: str, state: TransactionState) -> None:
    act, _ = EVENTS[event]
    assert outcome(act(txn(state, pending=TransactionState.ONGOING))) == CONCURRENT


@pytest.mark.parametrize("state", REACHABLE, ids=lambda state: state.value)
@pytest.mark.parametrize(
    ("who", "code"),
    [
        (Producer(8, 3), ErrorCode.INVALID_PRODUCER_ID_MAPPING),
        (Producer(7, 2), ErrorCode.PRODUCER_FENCED),
        (Producer(7, 4), ErrorCode.PRODUCER_FENCED),
    ],
)
def test_another_producer_changes_nothing(state: TransactionState, who: Producer, code: ErrorCode) -> None:
    one = txn(state)
    assert transaction.add(one, who, [B], 60) is code
    assert transaction.verify(one, who, A) is code
    assert transaction.end(one, who, commit=True, now_ms=60) is code


@pytest.mark.parametrize("state", REACHABLE, ids=lambda state: state.value)
@pytest.mark.parametrize("event", EVENTS)
def test_no_event_makes_a_move_that_there_is_not(event: str, state: TransactionState) -> None:
    act, _ = EVENTS[event]
    one = txn(state)
    target = act(one)
    if isinstance(target, Target):
        assert state in TRANSITIONS[target.state]
        one.begin(target)
        one.reach(target)
        assert one.pending is None


def reached(one: Transaction, target: Target | ErrorCode) -> Producer:
    assert isinstance(target, Target)
    one.begin(target)
    one.reach(target)
    return Producer(one.producer_id, one.epoch)


def test_each_new_producer_fences_the_one_before() -> None:
    one = txn(TransactionState.EMPTY, epoch=NO_EPOCH)
    assert reached(one, transaction.initialize(one, NEW_PRODUCER, 2_000, None, 60)) == Producer(7, 0)
    assert one.timeout_ms == 2_000
    assert reached(one, transaction.initialize(one, NEW_PRODUCER, 2_000, None, 60)) == Producer(7, 1)
    assert transaction.initialize(one, Producer(7, 0), 2_000, None, 60) is ErrorCode.PRODUCER_FENCED


def test_a_producer_that_did_not_hear_the_answer_gets_the_same_epoch() -> None:
    one = txn(TransactionState.EMPTY)
    assert reached(one, transaction.initialize(one, ME, 2_000, None, 60)) == Producer(7, 4)
    assert reached(one, transaction.initialize(one, ME, 2_000, None, 60)) == Producer(7, 4)
    assert reached(one, transaction.initialize(one, Producer(7, 4), 2_000, None, 60)) == Producer(7, 5)
    assert transaction.initialize(one, ME, 2_000, None, 60) is ErrorCode.PRODUCER_FENCED


@pytest.mark.parametrize("who", [NEW_PRODUCER, Producer(7, LAST_EPOCH)])
def test_an_id_without_epochs_is_replaced(who: Producer) -> None:
    one = txn(TransactionState.COMPLETE_COMMIT, epoch=LAST_EPOCH)
    assert transaction.needs_new_id(one, who)
    assert transaction.initialize(one, who, 2_000, None, 60) is CONCURRENT, "no id was got, as it was not needed a moment ago"
    assert reached(one, transaction.initialize(one, who, 2_000, 9, 60)) == Producer(9, 0)
    again = transaction.initialize(one, Producer(7, LAST_EPOCH), 2_000, None, 60)
    if who == NEW_PRODUCER:
        assert again is ErrorCode.PRODUCER_FENCED
    else:
        assert reached(one, again) == Producer(9, 0), "it did not hear the answer"


def test_fencing_uses_up_one_epoch_however_often_it_cannot_be_stored() -> None:
    one = txn(TransactionState.ONGOING, epoch=LAST_EPOCH)
    for _ in range(3):
        target = transaction.fence(one, 60)
        assert isinstance(target, Target)
        assert target.epoch == one.epoch == LAST_EPOCH + 1
        one.begin(target)
        assert transaction.end(one, Producer(7, LAST_EPOCH), commit=True, now_ms=60) is ErrorCode.PRODUCER_FENCED
        one.failed()
    reached(one, transaction.fence(one, 60))
    reached(one, transaction.complete(one, 70))
    assert one.state is TransactionState.COMPLETE_ABORT
    assert reached(one, transaction.initialize(one, NEW_PRODUCER, 2_000, 9, 80)) == Producer(9, 0)


def test_a_transaction_knows_when_it_began_and_what_is_in_it() -> None:
    one = txn(TransactionState.COMPLETE_ABORT)
    reached(one, transaction.add(one, ME, [A, A], 100))
    reached(one, transaction.add(one, ME, [B, A], 200))
    assert (list(one.partitions), one.started_ms, one.updated_ms, one.ends_ms) == ([A, B], 100, 200, 1_100)
    reached(one, transaction.end(one, ME, commit=True, now_ms=300))
    assert list(one.partitions) == [A, B]
    reached(one, transaction.complete(one, 400))
    assert (one.state, list(one.partitions), one.started_ms) == (TransactionState.COMPLETE_COMMIT, [], 100)
