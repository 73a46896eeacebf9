"""Which open transactions hang, and what is said of transactions."""

from __future__ import annotations

import pytest

from console.rules.transactions.judging import Known, is_old, judge, same
from console.rules.transactions.shown import HeldPlace, SeenProducer, Transaction, Unseen
from console.rules.transactions.told import Coordinators, Description, Ends, Producer
from console.rules.transactions.words import (
    LIMITED,
    abort_risks,
    hanging_verdict,
    list_verdict,
    narrowed_verdict,
    one_sentence,
    overdue_ms,
    producers_verdict,
)

PLACE = ("orders", 1)
OPEN = Producer(7, 2, 4, 1_000, None, 50)


def description(state: str = "Ongoing", *places: tuple[str, int]) -> Description:
    return Description(state, 7, 2, 60_000, 1_000, places)


def known(told: Description | None = None, *, complete: bool = True) -> Known:
    return Known({7: "books"}, {"books": told}, complete)


NOBODY = Known({}, {}, complete=True)


@pytest.mark.parametrize(
    ("what", "found"),
    [
        (known(description("Ongoing", PLACE)), "in_progress"),
        (known(description("PrepareCommit", PLACE)), "ending"),
        (known(description("Ongoing", ("orders", 0))), "hanging"),
        (known(description("CompleteAbort")), "hanging"),
        (known(description("CompleteAbort"), complete=False), "unknown"),
        (known(None), "unknown"),
        (NOBODY, "hanging"),
        (NOBODY._replace(complete=False), "unknown"),
    ],
)
def test_only_what_no_coordinator_has_hangs(what: Known, found: str) -> None:
    assert judge(OPEN, PLACE, what, is_old=True, is_still_open=True) == found


def test_a_transaction_that_ended_meanwhile_does_not_hang() -> None:
    assert judge(OPEN, PLACE, NOBODY, is_old=True, is_still_open=False) == "none"
    assert judge(OPEN, PLACE, NOBODY, is_old=True, is_still_open=None) == "unknown", "its leader did not say"
    assert judge(OPEN._replace(start_offset=None), PLACE, NOBODY, is_old=True, is_still_open=True) == "none"


def test_a_young_one_is_not_called_hanging() -> None:
    assert judge(OPEN, PLACE, NOBODY, is_old=False, is_still_open=True) == "orphaned"
    assert [is_old(OPEN, 900_000, now) for now in (901_000, 901_001)] == [False, True]
    assert not is_old(OPEN._replace(last_at_ms=None), 0, 10**15), "of an unknown time nothing is said"


def test_a_transaction_is_the_same_by_where_it_begins() -> None:
    assert same(OPEN, OPEN._replace(last_sequence=9, last_at_ms=5_000))
    assert not same(OPEN, OPEN._replace(start_offset=51))
    assert not same(OPEN, OPEN._replace(epoch=3))


def test_coordinators_are_the_leaders() -> None:
    some = Coordinators({0: (2, 1), 1: (None, 4), 2: (2, 1), 3: (1, 0)})
    assert (some.leaders, some.of(2), some.of(None)) == ([1, 2], [0, 2], [1])
    assert (Ends(90, 100).held, Ends(100, 90).held) == (10, 0)


def row(name: str = "books", state: str = "Ongoing", **more: object) -> Transaction:
    fields: dict[str, object] = {"age_ms": 5_000, "timeout_ms": 60_000, "partitions": 2, **more}
    return Transaction(transactional_id=name, state=state, producer_id=7, coordinator=1, **fields)  # type: ignore[arg-type]


def clean(text: str) -> str:
    return text.replace("\u202f", " ")


def test_late_is_what_is_well_past_its_time_out() -> None:
    assert overdue_ms("Ongoing", 89_000, 60_000) is None, "its coordinator looks every 10 s"
    assert overdue_ms("PrepareAbort", 95_000, 60_000) == 35_000
    assert overdue_ms("CompleteCommit", 10**9, 60_000) is None
    assert overdue_ms("Ongoing", None, 60_000) is None


def test_the_list_names_the_oldest_and_what_is_not_known() -> None:
    level, said = list_verdict(2, [row(), row("late", age_ms=40_000)], [], never=False)
    assert (level, clean(said)) == ("ok", "2 transactions are in progress, the longest for 40 s of at most 60 s: late.")
    unseen = [Unseen(2, [0, 1, 2, 7], "CLUSTER_UNREACHABLE: broker 2 did not answer"), Unseen(None, [9], "")]
    level, said = list_verdict(0, [], unseen, never=False)
    assert level == "warn"
    assert said.startswith("As far as is known, no transaction is in progress. Not known is")
    assert "broker 2, which leads 4 partitions of __transaction_state, did not tell" in said
    assert "nobody leads 1 partition of __transaction_state" in said
    assert list_verdict(0, [], [], never=True)[1].endswith("there never was a transactional producer.")
    assert list_verdict(600, [], [], never=False)[1] == "600 transactions are in progress.", "none was described"
    assert list_verdict(1, [row(level="warn")], [], never=False)[0] == "warn"
    assert narrowed_verdict(1, []) == ("ok", "1 transactional id is so.")


def held(held: int | None, *, holds: bool = True, partition: int = 1) -> HeldPlace:
    return HeldPlace(
        topic="orders",
        partition=partition,
        leader=1,
        start_offset=50,
        last_stable_offset=50,
        high_watermark=None if held is None else 50 + held,
        held=held,
        held_for_ms=5_000,
        holds=holds,
        error="",
    )


def test_one_transaction_says_where_readers_wait_for_it() -> None:
    said = clean(one_sentence(row(), [held(3), held(9, partition=2), held(4, holds=False)], 0))
    assert said.startswith("It has been in progress for 5 s, in 2 partitions; unless it ends before, it is aborted after 60 s.")
    assert said.endswith("wait for it: for 9 offsets of orders-2, and in 1 other partition.")
    assert "Its coordinator should have aborted it" in one_sentence(row(age_ms=600_000), [], 0)
    assert "Some leader does not take its marker" in one_sentence(row(state="PrepareCommit", age_ms=600_000), [], 0)
    assert one_sentence(row(state="CompleteAbort", age_ms=None), [], 0) == "No transaction is in progress. The last one was aborted."


def seen(kind: str, start: int | None = 50, name: str | None = None) -> SeenProducer:
    return SeenProducer(
        topic="orders",
        partition=1,
        producer_id=7,
        producer_epoch=2,
        last_sequence=4,
        last_at_ms=1_000,
        coordinator_epoch=None,
        start_offset=start,
        transaction=kind,  # type: ignore[arg-type]
        transactional_id=name,
        silent_ms=1,
    )


@pytest.mark.parametrize(
    ("rows", "level", "words"),
    [
        ([], "ok", "read up to the high watermark"),
        ([seen("none", None)], "ok", "read up to the high watermark"),
        ([seen("in_progress", name="books")], "ok", "books is in a transaction here."),
        ([seen("in_progress"), seen("hanging")], "bad", "no coordinator knows of it any more (a transaction lasts 15 min at most)"),
        ([seen("orphaned")], "warn", "it will not end by itself"),
        ([seen("unknown")], "warn", "not all coordinators told"),
    ],
)
def test_a_partition_says_what_readers_wait_for(rows: list[SeenProducer], level: str, words: str) -> None:
    told, said = producers_verdict(12 if rows and rows[0].start_offset else 0, rows, 900_000)
    assert told == level and words in clean(said)
    assert producers_verdict(None, rows, None)[0] in (level, "unknown")


def test_a_search_says_what_it_could_not_look_at() -> None:
    assert hanging_verdict([], 3, 0, 900_000) == ("ok", "No transaction hangs in the 3 partitions that were looked at.")
    level, said = hanging_verdict([seen("hanging"), seen("unknown")], 1, 2, 900_000)
    assert (level, said.startswith("1 transaction hangs in the 1 partition that was looked at.")) == ("bad", True)
    assert "Of 1 " in said and said.endswith("2 partitions could not be looked at.")


def test_an_abort_says_when_it_breaks_a_transaction() -> None:
    assert "half done" in " ".join(abort_risks("orders-1", "in_progress", "books", 3, limited=False))
    assert "nothing else will end it" in " ".join(abort_risks("orders-1", "hanging", None, 3, limited=False))
    assert LIMITED in abort_risks("orders-1", "hanging", None, None, limited=True)
