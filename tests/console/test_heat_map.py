"""Where each broker stands in each partition: squares by state, what is said of them, and how much one picture has."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from broker_core.contract.partitions import Partition, Reassigning
from console.heat_map import COLUMNS, heat_map
from console.models import Cluster
from console.views import heat_map as view
from tests.support import live_rows
from tests.support.past import THEN_MS, lay_out

ALL = {1: True, 2: True, 3: True}


def partition(number: int, leader: int | None, isr: tuple[int, ...], assignment: tuple[int, ...] = (1, 2, 3), **more: Any) -> Partition:
    return live_rows.partition("orders", number, leader=leader, isr=isr, assignment=assignment, **more)


def kinds(one: Partition, online: dict[int, bool] = ALL) -> list[str]:
    return [kind for kind, _ in heat_map([one], online).blocks[0].paths]


def test_each_state_has_its_square() -> None:
    assert kinds(partition(0, 1, (1, 2, 3))) == ["leader", "follower"]
    assert kinds(partition(0, 1, (1,))) == ["leader", "behind"]
    assert kinds(partition(0, 1, (1, 2), reassigning=Reassigning((3,), ()))) == ["leader", "follower", "joining"]
    assert kinds(partition(0, 1, (1, 2)), {1: True, 2: True, 3: False}) == ["leader", "follower", "lost"]
    assert kinds(partition(0, None, (1,))) == ["lost"], "without a leader nothing is said to be in sync"
    assert kinds(partition(0, 9, (9,), (9,))) == ["lost"], "a broker of which nothing is known"


def test_it_is_said_in_words() -> None:
    found = heat_map([partition(0, 1, (1, 2, 3)), partition(1, 2, (2,))], ALL)
    assert found.sentence == "2 partitions on 3 brokers; of 6 replicas 2 lead, 2 in sync, 2 out of sync."
    assert found.rows == "Rows are brokers 1, 2, 3 from the top."
    (block,) = found.blocks
    assert (block.level, block.worst, block.label) == ("warn", "some out of sync", "orders, partitions 0 to 1")
    assert heat_map([], dict.fromkeys(range(300), True)).rows == "Rows are 300 brokers from the top, 0 to 299."


def test_a_wide_topic_has_several_blocks() -> None:
    found = heat_map([partition(n, 1, (1, 2, 3)) for n in range(COLUMNS + 1)], ALL)
    assert [block.label for block in found.blocks] == [f"orders, partitions 0 to {COLUMNS - 1}", f"orders, partition {COLUMNS}"]


def test_the_page_and_the_overviews_part(shown: Any, people: dict[str, Client]) -> None:
    assert 'hx-get="/heat-map"' in people["viewer"].get("/").content.decode()
    for headers in ({}, {"HX-Request": "true"}):
        page = people["viewer"].get("/heat-map", headers=headers).content.decode()
        assert "on 3 brokers" in page and 'href="/topics/orders"' in page and 'class="heat-leader"' in page
        assert ("<html" in page) is not bool(headers)


def test_so_much_and_a_way_to_the_rest(shown: Any, people: dict[str, Client], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(view, "TOPICS_MAX", 1)
    page = people["viewer"].get("/heat-map").content.decode()
    assert "Topics 1 to 1 of" in page and "The next topics" in page
    monkeypatch.setattr(view, "PARTITIONS_MAX", 2)
    page = people["viewer"].get("/heat-map?from=orders").content.decode()
    assert "Of a topic the first 2 partitions" in page and "From the first" in page and "2 partitions on" in page
    assert "There is no topic &#x27;nowhere&#x27;" in people["viewer"].get("/heat-map?from=nowhere").content.decode()


def test_in_the_past(shown: Any, local: Cluster, redis: Any, people: dict[str, Client]) -> None:
    lay_out(redis)
    page = people["viewer"].get(f"/at/{THEN_MS}/heat-map").content.decode()
    assert f'href="/at/{THEN_MS}/topics/before"' in page and "not there" in page
