"""Between the coordinator's answer and the append (KIP-890)."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from broker_core.errors import ErrorCode, KafkaError
from broker_core.model import TopicPartition
from broker_core.records.batch import Record, build_batch, parse_header
from broker_core.records.markers import end_marker
from broker_core.replication import txn_verification
from broker_core.replication.partition import Partition
from broker_core.replication.txn_verification import Guard, TxnVerification
from broker_core.storage.producer_state import ProducerStateEntry

pytestmark = pytest.mark.spec("B17", "G5")

TP, ME = TopicPartition("t", 0), 7
BATCH = parse_header(build_batch([Record(0, 1, None, b"v", ())], producer_id=ME, producer_epoch=0, base_sequence=0, transactional=True))
PLAIN = parse_header(build_batch([Record(0, 1, None, b"v", ())], producer_id=ME, producer_epoch=0, base_sequence=0))
MARKER = parse_header(end_marker(ME, 0, commit=True, coordinator_epoch=0, now_ms=1))


def led(epoch: int = 3, *, is_open: bool = False) -> Partition:
    entries = {ME: ProducerStateEntry(ME, 0, txn_first_offset=5)} if is_open else {}
    log = SimpleNamespace(producer_state=SimpleNamespace(entries=entries))
    return cast(Partition, SimpleNamespace(tp=TP, log=log, leader_epoch=epoch))


def begun(verification: TxnVerification, partition: Partition) -> Guard:
    guard = verification.begin(partition, ME)
    assert guard is not None
    return guard


def refused(verification: TxnVerification, partition: Partition, header: Any = BATCH) -> bool:
    try:
        verification.check(partition, header)
    except KafkaError as error:
        assert error.code is ErrorCode.NOT_ENOUGH_REPLICAS, "who asks again is told for good"
        return True
    return False


@pytest.fixture
def verification() -> TxnVerification:
    return TxnVerification(lambda: True)


def test_a_transaction_begins_once_it_is_confirmed(verification: TxnVerification) -> None:
    partition = led()
    assert refused(verification, partition)
    guard = begun(verification, partition)
    verification.confirm(TP, ME, guard)
    assert not refused(verification, partition)
    assert not refused(verification, partition), "what was not written after all may come again"
    verification.began(TP, BATCH)
    assert refused(verification, partition), "what was confirmed is good for one beginning"


def test_a_marker_meanwhile_takes_the_answers_worth_away(verification: TxnVerification) -> None:
    partition = led()
    guard = begun(verification, partition)
    verification.ended(TP, ME)
    verification.confirm(TP, ME, guard)
    assert refused(verification, partition)
    verification.confirm(TP, ME, begun(verification, partition))
    verification.ended(TP, ME)
    assert refused(verification, partition)


def test_so_does_another_leadership(verification: TxnVerification) -> None:
    """Not for good: the producer may ask again, and then it is asked anew."""
    verification.confirm(TP, ME, begun(verification, led(3)))
    with pytest.raises(KafkaError) as told:
        verification.check(led(4), BATCH)
    assert told.value.code is ErrorCode.NOT_LEADER_OR_FOLLOWER
    verification.confirm(TP, ME, begun(verification, led(4)))
    assert not refused(verification, led(4))


def test_an_answer_to_an_earlier_leadership_ends_nobody(verification: TxnVerification) -> None:
    """It came while another producer of the id was asking in the new leadership: the one that was answered asks again."""
    earlier = begun(verification, led(3))
    begun(verification, led(4))
    verification.confirm(TP, ME, earlier)
    assert refused(verification, led(4))


def test_of_too_many_questions_the_oldest_are_forgotten(verification: TxnVerification, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(txn_verification, "GUARDS_MAX", 2)
    partition, guards = led(), {}
    for producer_id in (ME, 8, 9):
        guards[producer_id] = verification.begin(partition, producer_id)
        verification.confirm(TP, producer_id, cast(Guard, guards[producer_id]))
    assert refused(verification, partition)
    assert verification.begin(partition, 9) is guards[9]


def test_who_was_fenced_meanwhile_is_told_so_by_the_log(verification: TxnVerification) -> None:
    """The marker of whoever fenced it took the answer's worth away, and has a later epoch."""
    partition = led()
    verification.confirm(TP, ME, begun(verification, partition))
    assert partition.log is not None
    partition.log.producer_state.entries[ME] = ProducerStateEntry(ME, 1)
    verification.ended(TP, ME)
    assert not refused(verification, partition)


def test_a_denied_question_is_forgotten(verification: TxnVerification) -> None:
    partition = led()
    first = begun(verification, partition)
    verification.drop(TP, ME, first)
    assert begun(verification, partition) is not first


def test_who_is_denied_takes_nothing_from_another_of_its_id(verification: TxnVerification) -> None:
    """One that was fenced asks at the same time as the one that fenced it; whoever is answered first."""
    partition = led()
    for fenced_first in (True, False):
        fenced, current = begun(verification, partition), begun(verification, partition)
        if fenced_first:
            verification.drop(TP, ME, fenced)
        verification.confirm(TP, ME, current)
        if not fenced_first:
            verification.drop(TP, ME, fenced)
        assert not refused(verification, partition)
        verification.ended(TP, ME)


def test_what_needs_no_question(verification: TxnVerification) -> None:
    """An open transaction, what is outside of any, markers, and where it is switched off."""
    assert verification.begin(led(is_open=True), ME) is None
    assert not refused(verification, led(is_open=True))
    assert not refused(verification, led(), PLAIN)
    assert not refused(verification, led(), MARKER)
    off = TxnVerification(lambda: False)
    assert off.begin(led(), ME) is None
    assert not refused(off, led())
