"""The group's page says what retention has taken from it, or is about to."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from django.test import Client

from console.alert_figures import read_figures
from console.lagging import losing_in_s, losses
from console.rules.alerts.figures import FIGURES, LOSES_IN, SHIPPED
from console.rules.words import THIN
from console.snapshot import keys
from console.snapshot.read import Snapshot

HOUR_MS = 3_600_000
Put = Any


@pytest.fixture
def put(shown: Any, redis: Any) -> Put:
    """Changes what the snapshot has of one thing, or adds one like that of partition 0."""

    def change(key: str, **known: Any) -> None:
        place = keys.place("local", key)
        there = json.loads(redis.hget(*place) or redis.hget(*keys.place("local", key.rpartition("/")[0] + "/0")))
        redis.hset(*place, json.dumps(there | known))

    return change


def page_of(people: dict[str, Client]) -> str:
    return people["viewer"].get("/groups/billing").content.decode()


def test_what_retention_is_about_to_take_is_told_with_the_time(people: dict[str, Client], put: Put) -> None:
    put(keys.topic("orders"), own_settings={"retention.ms": str(2 * HOUR_MS)})
    put(keys.lag("billing", "orders", 0), lag=900, lag_s=1.5 * 3600, lag_basis="record")
    page = page_of(people)
    assert "billing is about to lose records of orders-0." in page
    assert "UTC on, at the earliest" in page
    assert "Raise retention.ms of orders" in page


def test_what_is_gone_unread_is_told(people: dict[str, Client], put: Put) -> None:
    put(keys.lag("billing", "orders", 0), lag=900, committed=100)
    put(keys.partition("orders", 0), log_start_offset=600)
    assert "billing has lost records of orders-0: they were deleted before it read them." in page_of(people)


def test_where_it_is_not_known_that_is_said(people: dict[str, Client], put: Put) -> None:
    put(keys.topic("orders"), own_settings={})
    put(keys.lag("billing", "orders", 0), lag=900, lag_s=5 * 3600, lag_basis="record")
    page = page_of(people)
    assert "is not known everywhere: the topic&#x27;s own settings say no retention.ms" in page
    assert "about to lose" not in page


def test_of_a_group_that_has_read_all_nothing_is_asked(shown: Any) -> None:
    rows = [row for row in Snapshot("local").lag_rows("billing") if not row.lag]
    assert losses(Snapshot("local"), rows) == ((), "", "")


def left() -> float | None:
    return losing_in_s(Snapshot("local"), ["billing"])["billing"]


def test_as_a_figure_the_nearest_loss_counts(put: Put) -> None:
    put(keys.topic("orders"), own_settings={"retention.ms": str(2 * HOUR_MS)})
    put(keys.lag("billing", "orders", 0), lag=900, lag_s=0.9 * 3600, lag_basis="record")
    assert left() == math.inf, "less than half of the retention is over"
    put(keys.lag("billing", "orders", 0), lag_s=1.5 * 3600)
    assert left() == 1800
    put(keys.lag("billing", "orders", 1), partition=1, lag=900, lag_s=1.75 * 3600, lag_basis="estimate")
    assert left() == 900
    put(keys.lag("billing", "orders", 2), partition=2, lag=900, lag_s=1.8 * 3600, lag_basis="at_least")
    assert left() == 900, "what is not known of one partition hides no loss of another"
    put(keys.lag("billing", "orders", 0), committed=100)
    put(keys.partition("orders", 0), log_start_offset=600)
    assert left() == 0


def test_as_a_figure_what_is_not_known_is_not_taken_for_safe(put: Put) -> None:
    put(keys.topic("orders"), own_settings={"retention.ms": str(2 * HOUR_MS)})
    put(keys.lag("billing", "orders", 0), lag=900, lag_s=1.8 * 3600, lag_basis="at_least")
    assert left() is None


def test_a_rule_of_every_cluster_judges_it(put: Put, redis: Any) -> None:
    rule = next(one for one in SHIPPED if one.condition.figure == LOSES_IN)
    put(keys.topic("orders"), own_settings={"retention.ms": str(2 * HOUR_MS)})
    put(keys.lag("billing", "orders", 0), lag=900, lag_s=1.5 * 3600, lag_basis="record")
    values = read_figures(Snapshot("local"), {LOSES_IN}, {"billing"}).values[LOSES_IN]
    assert rule.condition.holds(values["billing"]) and FIGURES[LOSES_IN].say(1800) == f"30{THIN}min"
    assert rule.condition.holds(0.0) and rule.condition.holds(math.inf) is False and rule.condition.holds(None) is None
    assert (FIGURES[LOSES_IN].say(0), FIGURES[LOSES_IN].say(math.inf)) == ("some are lost", "none is ahead")


def test_where_too_much_is_read_the_rest_is_not_known(put: Put, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("console.lagging.ROWS_MOST", 0)
    assert losing_in_s(Snapshot("local"), ["billing"]) == {}
