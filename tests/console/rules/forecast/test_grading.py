"""How a forecast is graded: right, wrong, or changed by somebody else in between."""

from __future__ import annotations

from typing import Any

import pytest

from console.rules.forecast.fates import Around, Fate, fate_of
from console.rules.forecast.grading import Around as Ran
from console.rules.forecast.grading import Grade, Seen, grade, verdict
from tests.support.live_rows import partition

pytestmark = pytest.mark.spec("O1")
REPLICAS = (2, 1, 3)
NOW = Seen(2, (2, 1, 3), REPLICAS, 7)
STAYED = frozenset({1, 3})


def fate(seen: Seen = NOW) -> Fate:
    row = partition(leader=seen.leader, isr=seen.isr, assignment=seen.replicas, min_insync_replicas=2)
    return fate_of(row, Around(2, "death", STAYED | {2}, unclean={"orders": False}))


def graded(after: Seen | None, *, at_kill: Seen | None = NOW, ran: frozenset[int] = STAYED, runs: frozenset[int] = STAYED) -> Grade:
    return grade(fate(), at_kill, after, Ran(2, ran, runs))


@pytest.mark.parametrize(
    ("asked", "came", "words"),
    [
        ({"after": Seen(1, (3, 1), REPLICAS, 8)}, "right", ""),
        ({"after": Seen(3, (1, 3), REPLICAS, 8)}, "wrong", "Foretold were leader 1 and the ISR 1, 3; found were leader 3"),
        ({"after": Seen(None, (1, 3), REPLICAS, 8)}, "wrong", "found were no leader"),
        ({"after": Seen(1, (2, 1, 3), REPLICAS, 8)}, "wrong", "the ISR 1, 2, 3"),
        ({"after": None}, "changed", "not there any more"),
        ({"after": Seen(1, (1, 3), (1, 3), 8)}, "changed", "being moved"),
        ({"after": Seen(1, (1,), REPLICAS, 8), "at_kill": Seen(2, (2, 1), REPLICAS, 7)}, "changed", "the forecast was made of leader 2"),
        ({"after": Seen(1, (1,), REPLICAS, 8), "runs": frozenset({1})}, "changed", "3 came or went"),
        ({"after": Seen(3, (1, 3), REPLICAS, 11)}, "changed", "4 changes of its leadership"),
        ({"after": Seen(1, (1,), REPLICAS, 8)}, "changed", "Its leader has changed the ISR since"),
        ({"after": Seen(1, (1,), REPLICAS, 8, 11), "at_kill": Seen(2, (2, 1, 3), REPLICAS, 7, 9)}, "changed", "Its leader has"),
        ({"after": Seen(1, (1,), REPLICAS, 8, 10), "at_kill": Seen(2, (2, 1, 3), REPLICAS, 7, 9)}, "wrong", "the ISR 1"),
    ],
)
def test_what_others_changed_is_neither_right_nor_wrong(asked: Any, came: str, words: str) -> None:
    found = graded(**asked)
    assert (found.came, words in found.why) == (came, True), found


@pytest.mark.parametrize(("versions", "came"), [((None, None), "changed"), ((9, 11), "changed"), ((9, 10), "wrong")])
def test_who_joins_before_the_election_may_win_it(versions: Any, came: str) -> None:
    """With the state's version told it is known whether anybody did; an election alone is one write."""
    at_kill, after = Seen(2, (2, 3), REPLICAS, 7, versions[0]), Seen(1, (3, 1), REPLICAS, 8, versions[1])
    found = grade(fate(at_kill), at_kill, after, Ran(2, STAYED, STAYED))
    assert (found.came, ("came in before the election" in found.why)) == (came, came == "changed")


def test_who_is_elected_out_of_turn_is_wrong_whoever_joined() -> None:
    at_kill, after = Seen(2, (2, 1), REPLICAS, 7), Seen(3, (1, 3), REPLICAS, 8)
    assert grade(fate(at_kill), at_kill, after, Ran(2, STAYED, STAYED)).came == "wrong"


def test_what_was_not_known_was_not_foretold() -> None:
    unknown = fate_of(partition(state="unknown"), Around(2, "death", STAYED | {2}))
    assert grade(unknown, NOW, NOW, Ran(2, STAYED, STAYED)).came == "unknown"


def test_the_verdict_counts_what_could_be_judged() -> None:
    grades = [Grade("t", n, came) for n, came in enumerate(("right", "right", "wrong", "changed", "unknown"))]
    level, words = verdict(2, grades)
    assert (level, words.partition("; ")[0]) == ("bad", "The forecast was right for 2 of 3 partitions")
    assert "1 partition changed in between and is not counted; of 1 partition nothing was foretold." in words
    assert verdict(2, grades[:2]) == ("ok", "The forecast was right for 2 of 2 partitions.")
    assert verdict(2, grades[3:])[0] == "unknown"
    assert verdict(2, [])[0] == "notice"
