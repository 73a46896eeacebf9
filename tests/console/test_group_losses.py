"""The group's page says what retention has taken from it, or is about to."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client

from console.lagging import losses
from console.snapshot import keys
from console.snapshot.read import Snapshot

HOUR_MS = 3_600_000
Put = Any


@pytest.fixture
def put(shown: Any, redis: Any) -> Put:
    """Changes what the snapshot has of one thing."""

    def change(key: str, **known: Any) -> None:
        place = keys.place("local", key)
        redis.hset(*place, json.dumps(json.loads(redis.hget(*place)) | known))

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
