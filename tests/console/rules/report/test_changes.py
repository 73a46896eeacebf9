"""What differs between two reports: exactly what was made to differ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from broker_core.contract.live import Broker
from broker_core.contract.partitions import Topic
from console.rules.report import Facts, changes, report
from console.rules.report.changes import KINDS
from console.rules.report.facts import Happened, Shrinks
from tests.support.live_rows import partition, some

DAY_MS = 24 * 3_600_000
Told = dict[str, list[tuple[str, str]]]


def told(before: dict[str, Any], after: dict[str, Any]) -> Told:
    """By kind the rule and key of each difference."""
    found = changes(before, after)
    assert all(kind["count"] == len(kind["items"]) for kind in found.values())
    return {kind: [(one["number"], one["key"]) for one in rows["items"]] for kind, rows in found.items() if rows["count"]}


def day(number: int, shrinks: Sequence[Shrinks] = (), moves: int = 0, **known: Any) -> Facts:
    settings = {"replication_factor": 3, "min_insync_replicas": 2, "unclean": False, "internal": False, "own_settings": {}}
    plain = [some(Topic, topic=name, **settings) for name in ("orders", "clicks")]
    known.setdefault("topics", plain)
    return Facts(now_ms=number * DAY_MS, happened=Happened((number - 1) * DAY_MS, shrinks, moves), **known)


def under(topic: str, number: int, *isr: int) -> Any:
    return partition(topic, number, "under_replicated", isr=isr, assignment=(1, 2, 3, 4), min_insync_replicas=1)


def test_two_days_differ_by_what_was_made_to_differ() -> None:
    flaps = [Shrinks(2, "orders", 0, 4, 0), Shrinks(2, "orders", 1, 3, 0), Shrinks(3, "clicks", 0, 9, 0)]
    monday = day(
        1,
        flaps,
        moves=4,
        trouble=[under("orders", 0, 1, 2, 3), under("orders", 1, 1, 2), under("clicks", 0, 1, 2, 3), under("clicks", 1, 1, 2, 3)],
    )
    calmer = [Shrinks(2, "orders", 0, 5, 5), Shrinks(2, "orders", 1, 8, 5), Shrinks(3, "clicks", 0, 5, 5)]
    tuesday = day(
        2,
        calmer,
        moves=12,
        trouble=[under("orders", 0, 1, 2), under("orders", 1, 1, 2, 3), under("clicks", 0, 1, 2, 3), partition("new", 0, "offline")],
    )
    assert told(report(monday), report(tuesday)) == {
        "new": [("HW-001", "new-0")],
        "worse": [("HW-004", "orders-0"), ("HW-010", "broker 2 of orders-1"), ("HW-018", "controller")],
        "better": [("HW-004", "orders-1"), ("HW-010", "broker 3 of clicks-0")],
        "gone": [("HW-004", "clicks-1")],
    }
    assert told(report(monday), report(day(1, flaps, moves=4, trouble=monday.trouble))) == {}


def test_differences_are_told_in_words() -> None:
    before = report(day(1, moves=4, trouble=[under("orders", 0, 1, 2, 3)]))
    found = changes(before, report(day(2, moves=12, trouble=[under("orders", 0, 1, 2)])))
    words = [one["sentence"] for one in found["worse"]["items"]]
    assert words == [
        "orders-0 has fewer copies than wanted: brokers 3 and 4 out of the ISR. "
        "Before: in sync: 1, 2, 3 of 1, 2, 3, 4; out: broker 4; min.insync.replicas 1. "
        "Now: in sync: 1, 2 of 1, 2, 3, 4; out: brokers 3 and 4; min.insync.replicas 1.",
        "The controller moves again and again. It was warning before, it is bad now.",
    ]


def test_what_can_no_longer_be_judged_is_not_gone_and_what_could_not_be_is_not_new() -> None:
    flaps = day(2, [Shrinks(2, "orders", 0, 4, 0)])
    blind = Facts(now_ms=2 * DAY_MS, topics=flaps.topics)
    for before, after, words in (
        (flaps, blind, "Whether this is still so is unknown, because events are not kept of this cluster."),
        (blind, flaps, "The report before could not tell, because events are not kept of this cluster."),
    ):
        found = changes(report(before), report(after))
        assert told(report(before), report(after)) == {"uncertain": [("HW-010", "broker 2 of orders-0")]}
        assert found["uncertain"]["items"][0]["sentence"].endswith(words)


def test_the_first_report_has_nothing_to_differ_from() -> None:
    assert {rows["count"] for rows in changes(None, report(day(1, moves=9))).values()} == {0}


def test_a_rule_that_only_one_of_them_has_is_not_compared() -> None:
    before, after = report(day(1, moves=9)), report(day(2))
    before["checks"] = [check for check in before["checks"] if check["number"] != "HW-018"]
    assert told(before, after) == {}


def test_one_that_is_not_listed_is_still_told_by_its_name() -> None:
    many = [under("wide", n, 1, 2, 3) for n in range(40)]
    found = changes(report(day(1, trouble=many[:30])), report(day(2, trouble=many)))
    assert (found["new"]["count"], found["gone"]["count"]) == (10, 0)
    assert found["new"]["items"][0]["sentence"] == "Under-replicated: wide-30."


def test_of_very_many_only_the_counts_are_compared() -> None:
    many = [under("wide", n, 1, 2, 3) for n in range(3_000)]
    found = changes(report(day(1, trouble=many[:2_500])), report(day(2, trouble=many)))
    words = [one["sentence"].replace("\u202f", " ") for one in found["worse"]["items"]]
    assert words == ["Under-replicated: 3 000 found, 2 500 before."]
    assert not any(found[kind]["count"] for kind in KINDS if kind != "worse")


def test_figures_that_only_go_on_are_no_news() -> None:
    """More requests of a kind, a little more lag, do not make another finding."""

    def made(count: int) -> dict[str, Any]:
        return report(day(1, brokers=[some(Broker, broker_id=1, state="online", produce_by_acks={"-1": 10, "1": count})]))

    assert told(made(2), made(5_000)) == {}
