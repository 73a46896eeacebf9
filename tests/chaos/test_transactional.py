"""The checks of transactions in a chaos run find what they are there for."""

from __future__ import annotations

import threading
from collections.abc import Mapping

import pytest

from tests.chaos import transactional
from tests.chaos.transactional import WRITTEN, TransactionalWriter, transaction_violations

Placed = dict[int, dict[int, int]]


def placed(*numbers: int) -> Placed:
    """Each number in each partition, with a marker after it."""
    return {partition: {2 * place: number for place, number in enumerate(numbers)} for partition in range(WRITTEN)}


@pytest.fixture
def writer() -> TransactionalWriter:
    made = TransactionalWriter("127.0.0.1:1", "t", "librdkafka")
    made.committed, made.aborted, made.unknown = {1, 3}, {2}, {4}
    return made


def told(writer: TransactionalWriter, there: Placed, read: Mapping[int, Mapping[int, int]] | None = None, offset: int = 3) -> list[str]:
    return list(transaction_violations(writer, there, placed(1) if read is None else read, offset))


def test_whole_transactions_are_right_whatever_became_of_the_unknown(writer: TransactionalWriter) -> None:
    assert told(writer, placed(1, 3)) == []
    assert told(writer, placed(1, 3, 4), offset=4) == []


def test_each_wrong_is_told(writer: TransactionalWriter) -> None:
    (lost,) = told(writer, placed(1), offset=1)
    assert lost == "t: 1 committed transactions are lost: [3]"
    assert "t: 1 aborted transactions are read: [2]" in told(writer, placed(1, 2, 3))
    assert "t: 1 transactions are there that nobody committed: [9]" in told(writer, placed(1, 3, 9), offset=9)
    assert "t: 1 records are there twice: [3]" in told(writer, placed(1, 3, 3))
    half = placed(1, 3)
    half[0][4] = 4
    assert told(writer, half) == ["t: 1 transactions are there in part: [4]"]
    assert any("out of order" in each for each in told(writer, placed(3, 1), read=placed(3)))
    assert any("records that were read are not there: [(0, 4)]" in each for each in told(writer, placed(1, 3), read=placed(4)))
    assert told(writer, placed(1, 3), offset=1) == ["t: the group's offset is 1, the last transaction 3"]


def test_a_library_that_does_not_come_back_ends_no_run(monkeypatch: pytest.MonkeyPatch) -> None:
    within, leave = threading.Event(), threading.Event()

    class Stuck:
        def __init__(self, bootstrap: str, transactional_id: str) -> None: ...

        def begin(self) -> None: ...

        def write(self, topic: str, value: bytes, offset: int) -> None:
            within.set()
            leave.wait()

        def end(self, *, commit: bool) -> bool:
            return commit

        def close(self) -> None: ...

    monkeypatch.setitem(transactional.LIBRARIES, "stuck", Stuck)
    monkeypatch.setattr(transactional, "STUCK_SECONDS", 0.01)
    writer = TransactionalWriter("127.0.0.1:1", "t", "stuck")
    writer.start()
    try:
        assert within.wait(10)
        writer.finish()
        assert (writer.unknown, writer.said["still in a call"]) == ({1}, 1)
    finally:
        leave.set()
