"""A broker's page: what it has, over all pages and sorts; its settings; and what its stop would do."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from django.test import Client

from broker_core.contract.stored import Assignment, Topic
from console.live.merging.state import ClusterState
from console.models import AuditEntry
from console.snapshot import compare, keys, placed
from console.snapshot.connect import async_client
from console.snapshot.read import Snapshot
from tests.support.console_fixtures import publish
from tests.support.console_world import cluster_state
from tests.support.feed_rows import batch, claim

pytestmark = pytest.mark.spec("O1")
WIDE = 120


def add_wide(state: ClusterState, now_ms: int, first: list[int]) -> None:
    assigned = {p: Assignment((p % 2 + 1, (p + 1) % 2 + 1)) for p in range(WIDE)} | {0: Assignment(tuple(first))}
    state.set_topic("wide", Topic("id", False, 2, False, assigned), now_ms)
    for p, a in assigned.items():
        state.set_partition("wide", p, a.replicas[0], 5, list(a.replicas))


@pytest.fixture
def wide(redis: Any, people: Any, kafka: Any) -> Any:
    """`wide` with 120 partitions: partition n ends at 1000 − n, is led by broker n % 2 + 1, and broker 3 has none; 7 has lost broker 1."""
    now = time.time_ns() // 1_000_000
    state = cluster_state(now)
    add_wide(state, now, first=[1, 2])
    rows = []
    for p in range(WIDE):
        replicas = [p % 2 + 1, (p + 1) % 2 + 1]
        isr = [2] if p == 7 else replicas
        rows.append(claim("wide", p, replicas[0], replicas, leader=replicas[0], isr=isr, end=1000 - p, leader_epoch=6))
        state.set_partition("wide", p, replicas[0], 6, isr)
    for broker in (1, 2):
        state.apply_batch(batch(broker, [row for row in rows if row.leader == broker], now), now)
    state.take(now)
    publish(redis, state, now)
    return state


def numbers(people: Any, query: str) -> list[int]:
    rows = people["viewer"].get(f"/brokers/1?q=wide{query}").context["rows"]
    return [row.partition for row, _ in rows]


def test_its_partitions_the_worst_first(people: dict[str, Client], wide: Any) -> None:
    assert numbers(people, "") == [7, *range(7), *range(8, 25)]
    assert numbers(people, "&page=5") == list(range(100, 120))
    assert numbers(people, "&role=leader") == list(range(0, 50, 2))
    assert numbers(people, "&role=follower")[:3] == [7, 1, 3]
    assert numbers(people, "&sort=high_watermark&order=asc")[:2] != numbers(people, "&sort=high_watermark&order=desc")[:2]
    assert numbers(people, "&sort=name&order=desc")[:2] == [119, 118]
    assert "wide" not in people["viewer"].get("/brokers/3").content.decode().split("h-events")[0]


def test_a_replica_that_moved_is_the_other_brokers(redis: Any, wide: Any) -> None:
    before = Snapshot("local").hosted(3)
    now = time.time_ns() // 1_000_000
    add_wide(wide, now, first=[3, 2])
    wide.set_partition("wide", 0, 3, 7, [3, 2])
    wide.take(now)
    publish(redis, wide, now)
    after = Snapshot("local")
    assert set(after.hosted(3)) - set(before) == {placed.Place("wide", 0)}
    assert placed.Place("wide", 0) not in after.hosted(1)
    pipe = redis.pipeline(transaction=True)
    placed.put_places(pipe, "local", {keys.partition("wide", p): None for p in range(WIDE)})
    pipe.execute()
    assert not [place for broker in (1, 2, 3) for place in after.hosted(broker) if place.topic == "wide"]


async def test_what_is_placed_and_not_known_is_found(redis: Any, shown: Any) -> None:
    client = async_client()
    known = shown.everything(0).keys()
    try:
        assert await compare.differences(client, "local", known) == (set(), set())
        redis.hset(keys.named("local", placed.PLACED), "ghost/000007", "2 1 1,2")
        redis.hdel(keys.named("local", placed.PLACED), "orders/000000")
        assert await compare.differences(client, "local", known) == ({"partition/orders/0"}, {"partition/ghost/7"})
    finally:
        await client.aclose()


def test_settings_are_shown_as_a_difference_first(people: dict[str, Client], shown: Any, kafka: Any) -> None:
    admin, path = people["admin"], "/brokers/2/settings"
    asked = admin.post(path, {"v:num.replica.fetchers": "4", "w:num.replica.fetchers": "1"}).content.decode()
    assert "<del>1</del>" in asked and "<ins>4</ins>" in asked
    assert not kafka.broker_configs_
    assert admin.post(path, {"set:num.replica.fetchers": "4", "save": "yes"}).status_code == 303
    assert kafka.broker_configs_ == {2: {"num.replica.fetchers": "4"}}
    entry = AuditEntry.objects.latest("id")
    assert (entry.action, entry.before, entry.after) == (
        "change broker settings",
        {"num.replica.fetchers": "1", "inherited": ["num.replica.fetchers"]},
        {"num.replica.fetchers": "4"},
    )
    assert "this broker</span>" in admin.get("/brokers/2").content.decode()


@pytest.mark.parametrize(("key", "words"), [("broker.id", "start only"), ("no.such", "has no setting")])
def test_what_cannot_be_set_is_said(people: dict[str, Client], shown: Any, kafka: Any, key: str, words: str) -> None:
    answer = people["admin"].post("/brokers/2/settings", {f"set:{key}": "4", "save": "yes"})
    assert (answer.status_code, words in answer.content.decode()) == (422, True)
    assert not kafka.broker_configs_


def test_only_admins_change_settings(people: dict[str, Client], shown: Any, kafka: Any) -> None:
    answer = people["operator"].post("/brokers/2/settings", {"set:num.replica.fetchers": "4", "save": "yes"})
    assert answer.status_code == 403
    assert "Save…" not in people["operator"].get("/brokers/2/settings").content.decode()


def test_without_the_broker_the_rest_is_shown(people: dict[str, Client], shown: Any, kafka: Any) -> None:
    kafka.away = True
    page = people["viewer"].get("/brokers/2").content.decode()
    assert "could not be read" in page
    assert "orders-0" in page
    assert people["viewer"].get("/brokers/77").status_code == 404


def test_a_broker_without_its_folder_takes_over_nothing(people: dict[str, Client], wide: Any, redis: Any) -> None:
    asked = lambda: people["viewer"].get("/brokers/2/if-it-stops").context["found"].counts.without_leader  # noqa: E731
    before = asked()
    key = keys.place("local", keys.broker(1))
    told = json.loads(redis.hget(*key))
    told["log_dir"] = {"path": "/x", "state": "folder_offline", "level": "bad", "sentence": "Off.", "pieces": [], "replicas": 1}
    redis.hset(*key, json.dumps(told))
    assert Snapshot("local").broker(1).log_dir.state == "folder_offline"
    assert (before, asked()) == (1, WIDE)


def test_what_its_stop_would_do(people: dict[str, Client], tokens: Any, wide: Any) -> None:
    page = people["viewer"].get("/brokers/2/if-it-stops").content.decode()
    assert "wide-7" in page
    assert "would have no leader" in page
    found = Client().get("/api/v1/clusters/local/brokers/2/if-it-stops", headers=tokens["viewer"]).json()
    assert (found["level"], "wide" in {row["topic"] for row in found["leaderless"]}) == ("bad", True)
    assert people["viewer"].get("/brokers/77/if-it-stops").status_code == 404


def test_the_forecast_is_paged_and_told_partition_by_partition(people: dict[str, Client], tokens: Any, wide: Any) -> None:
    page = people["viewer"].get("/brokers/2/if-it-stops?becomes=refuses")
    assert {row.becomes for row in page.context["rows"]} == {"refuses"}
    assert page.context["pages"]["last"] > 1
    assert len(page.context["rows"]) < page.context["pages"]["total"] < WIDE
    path = "/api/v1/clusters/local/brokers/2/if-it-stops/partitions"
    ask = lambda query: Client().get(f"{path}?{query}", headers=tokens["viewer"]).json()  # noqa: E731
    first = ask("limit=100&how=shutdown")
    second = ask(f"limit=100&how=shutdown&cursor={first['next']}")
    places = [(row["topic"], row["partition"]) for row in first["items"] + second["items"]]
    assert second["next"] is None
    assert (len(set(places)), len(first["items"])) == (len(places), 100)
    assert {("wide", p) for p in range(WIDE)} <= set(places)
    assert [row["becomes"] for row in ask("becomes=offline")["items"]] == ["offline"]
    assert Client().get(f"{path}?becomes=nonsense", headers=tokens["viewer"]).status_code == 400


def test_leaderships_are_told_before_and_after_of_each_broker(people: dict[str, Client], tokens: Any, wide: Any) -> None:
    found = Client().get("/api/v1/clusters/local/brokers/2/if-it-stops", headers=tokens["viewer"]).json()
    one = next(share for share in found["brokers"] if share["broker_id"] == 1)
    assert one["leaders_then"] == one["leaders"] + one["gains"]
    assert one["gains"] >= WIDE // 2 - 1
