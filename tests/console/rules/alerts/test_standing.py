"""How a rule stands over time: holes, clocks that jump, what flaps, and what something else explains."""

from __future__ import annotations

import pytest

from console.errors import Invalid
from console.rules.alerts.figures import FIGURES, SHIPPED, Condition, checked
from console.rules.alerts.notices import PAUSES_S, Notice, headline, pause_s, signature, slack
from console.rules.alerts.standing import CLEAR_MS, OK, step

S = 1_000


def states(*looks: tuple[int, bool | None], for_s: int = 60, explained: bool = False) -> list[str]:
    """Looks are seconds and whether it holds; of each the state, with `?` where it is not known."""
    standing, found = OK, []
    for at_s, holds in looks:
        standing = step(standing, holds, at_s * S, for_s * S, explained=explained)
        found.append(standing.state + ("" if standing.is_known else "?"))
    return found


@pytest.mark.parametrize(
    ("looks", "last"),
    [
        ([(0, True), (30, True), (59, True)], "pending"),
        ([(0, True), (30, True), (60, True)], "firing"),
        ([(0, True), (30, False), (60, True), (90, True)], "pending"),
        ([(0, True), (30, None), (60, True), (90, True)], "pending"),
        ([(0, True), (30, None), (60, True), (90, True), (120, True)], "firing"),
        ([(0, True), (30, None), (60, None)], "pending?"),
        ([(0, None), (60, None)], "ok?"),
        ([(0, True), (3_600, True)], "pending"),
        ([(100, True), (130, True), (10, True), (40, True)], "pending"),
        ([(100, True), (130, True), (10, True), (40, True), (70, True)], "firing"),
    ],
    ids=[
        *("too short", "long enough", "interrupted", "a hole", "after a hole", "unknown does not fire", "never known"),
        *("nobody looked", "clock set back", "after it was set back"),
    ],
)
def test_it_fires_once_it_is_known_to_have_held_for_long_enough(looks: list[tuple[int, bool | None]], last: str) -> None:
    assert states(*looks)[-1] == last


FIRED = [(0, True), (30, True), (60, True)]


@pytest.mark.parametrize(
    ("looks", "last"),
    [
        ([(75, False)], "firing"),
        ([(75, False), (90, True), (105, False), (150, False)], "firing"),
        ([(75, False), (105, False), (135, False)], "ok"),
        ([(75, None), (10_000, None)], "firing?"),
        ([(75, None), (10_000, False)], "firing"),
        ([(75, False), (105, None), (140, False)], "firing"),
        ([(75, False), (105, None), (140, False), (170, False), (200, False)], "ok"),
    ],
    ids=["not yet", "flaps", "over", "unknown does not end it", "one look after a hole", "a hole while it ends", "ended after a hole"],
)
def test_it_ends_once_it_is_known_not_to_have_held_for_a_minute(looks: list[tuple[int, bool | None]], last: str) -> None:
    assert CLEAR_MS == 60 * S
    assert states(*FIRED, *looks)[-1] == last


def test_what_something_else_explains_waits_and_what_fires_may_end() -> None:
    assert states(*FIRED, (90, True), explained=True)[-1] == "pending"
    firing = step(OK, True, 0, 0)
    assert firing.state == "firing"
    clearing = step(firing, False, 30 * S, 0, explained=True)
    assert step(clearing, False, 90 * S, 0, explained=True).state == "ok"


def test_the_time_that_it_was_last_known_stays() -> None:
    assert step(step(OK, True, 5 * S, 60 * S), None, 9 * S, 60 * S).known_ms == 5 * S


def test_each_shipped_rule_can_be_kept_and_waits_for_none_that_waits_itself() -> None:
    by_name = {one.name: one for one in SHIPPED}
    for one in SHIPPED:
        assert checked({"name": one.name, "severity": one.severity, "sentence": one.sentence, **one.condition._asdict()})
        assert not one.unless or not by_name[one.unless].unless
        assert FIGURES[one.condition.figure].page


@pytest.mark.parametrize(
    ("field", "value"),
    [("name", " "), ("figure", "moon"), ("comparison", "=="), ("severity", "loud"), ("threshold", "nan"), ("for_s", -1), ("sentence", "")],
)
def test_what_cannot_be_a_rule_is_refused_with_its_field(field: str, value: object) -> None:
    asked = {"name": "A", "severity": "warning", "sentence": "B.", **Condition("offline", ">", 0, 60)._asdict(), field: value}
    with pytest.raises(Invalid) as error:
        checked(asked)
    assert error.value.field == field


def test_unknown_neither_holds_nor_does_not() -> None:
    assert [Condition("offline", ">", 0, 60).holds(value) for value in (None, 0, 1)] == [None, False, True]


NOTICE = Notice(
    event="fired", rule="GroupBehind", severity="warning", cluster="north", target="a\r\nBcc: x <!channel>", sentence="It is & behind.",
    value="yes", since="2026-06-01 02:00:00 UTC", at="2026-06-01 02:00:15 UTC",
)  # fmt: skip


def test_names_make_neither_headers_nor_calls() -> None:
    assert "\n" not in headline(NOTICE) and "\r" not in headline(NOTICE)
    text = slack(NOTICE)["text"]
    assert "<!channel>" not in text and "&lt;!channel&gt;" in text and "It is &amp; behind." in text


def test_pauses_grow_and_end() -> None:
    found = [pause_s(tries) for tries in range(1, len(PAUSES_S) + 2)]
    assert found[:-1] == sorted(PAUSES_S) and found[-1] is None


def test_a_signature_is_of_secret_and_body() -> None:
    assert signature("k", b"{}") == signature("k", b"{}") != signature("k", b"{ }")
    assert signature("k", b"{}").startswith("sha256=")
