"""The lists of topics and groups: sorted and filtered on the server over all rows, in the address, and as each person left them."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from broker_core.contract.groups import Group
from broker_core.contract.partitions import Topic
from console import listing
from console.listing import Wanted, names_after, page_of_names
from console.models import ListChoice
from console.queries import BadCursor
from console.rules.imbalance import leader_skew
from console.snapshot import keys, sorting, write
from console.snapshot.read import Snapshot
from tests.support.console_fixtures import AHEAD_MS
from tests.support.console_world import add_topic, cluster_state
from tests.support.feed_rows import batch, claim, group_claim
from tests.support.live_rows import some

pytestmark = pytest.mark.spec("O1")
BASE = "/api/v1/clusters/local"
TOPICS = 130


def put(redis: Any, values: dict[str, Any]) -> None:
    pipe = redis.pipeline(transaction=True)
    write.put(pipe, "local", values)
    ahead_ms = time.time_ns() // 1_000_000 + AHEAD_MS
    write.beat(pipe, "local", ahead_ms, ahead_ms)
    pipe.execute()


def topic(name: str, **known: Any) -> Topic:
    return some(
        Topic, **{"topic": name, "state": "safe", "sentence": "", "internal": name.startswith("__"), "groups": 0, "partitions": 1, **known}
    )


def group(name: str, **known: Any) -> Group:
    return some(Group, **{"group": name, "state": "Stable", "members": (), "topics": (), "trend": "caught_up", **known})


@pytest.fixture
def many(redis: Any, local: Any, kafka: Any) -> Snapshot:
    """t000 to t129: the figures run against the names, every tenth lags, of every seventh the records are not known."""
    topics = [
        topic(f"t{n:03}", messages=None if n % 7 == 0 else 1000 - n, lag=n if n % 10 == 0 else 0, size_bytes=n % 3, messages_per_s=n / 10)
        for n in range(TOPICS)
    ]
    topics += [topic("__own", messages=5000), topic("Broken", state="offline", offline=1, messages=1)]
    put(redis, {keys.topic(one.topic): one for one in topics})
    return Snapshot("local")


def walked(snapshot: Snapshot, limit: int, **wanted: Any) -> list[str]:
    found: list[str] = []
    names, cursor = names_after(snapshot, Wanted(kind="topic", **wanted).checked(), None, limit)
    found += names
    while cursor is not None:
        names, cursor = names_after(snapshot, Wanted(kind="topic", **wanted).checked(), cursor, limit)
        assert names
        found += names
    return found


def listed(snapshot: Snapshot, **wanted: Any) -> list[str]:
    return list(page_of_names(snapshot, Wanted(kind="topic", **wanted), 1, 1000).names)


# --- order


def test_every_column_sorts_all_rows_and_not_the_page(many: Snapshot) -> None:
    for column in ("name", *sorting.COLUMNS["topic"]):
        for order in ("asc", "desc"):
            every = listed(many, sort=column, order=order)
            assert sorted(every) == sorted(many.topic_names()), column
            first = page_of_names(many, Wanted(kind="topic", sort=column, order=order), 1, 20)
            second = page_of_names(many, Wanted(kind="topic", sort=column, order=order), 2, 20)
            assert [*first.names, *second.names] == every[:40]
            assert (first.last, first.total) == (7, TOPICS + 2)
            assert walked(many, 9, sort=column, order=order) == every


def test_a_column_is_sorted_by_its_values(many: Snapshot) -> None:
    known = [f"t{n:03}" for n in range(TOPICS) if n % 7]
    unknown = {f"t{n:03}" for n in range(0, TOPICS, 7)}
    falling, rising = listed(many, sort="messages"), listed(many, sort="messages", order="asc")
    assert falling[: len(known) + 2] == ["__own", *known, "Broken"]
    assert rising[: len(known) + 2] == ["Broken", *known[::-1], "__own"]
    assert set(falling[len(known) + 2 :]) == set(rising[len(known) + 2 :]) == unknown, "what is not known is last in both orders"
    assert listed(many, sort="state")[0] == "Broken"
    assert listed(many)[0] == "Broken" and listed(many)[-1] == "__own"
    assert listed(many, sort="size_bytes")[:3] == ["t002", "t005", "t008"], "names are in order among equals"


def test_a_cursor_goes_on_after_a_row_that_has_moved_or_gone(many: Snapshot, redis: Any) -> None:
    wanted = Wanted(kind="topic", sort="messages_per_s", order="desc")
    names, cursor = names_after(many, wanted, None, 10)
    assert names == [f"t{n}" for n in range(129, 119, -1)]
    put(
        redis,
        {
            keys.topic("t120"): None,
            keys.topic("t125"): topic("t125", messages_per_s=0.0),
            keys.topic("new"): topic("new", messages_per_s=11.95),
        },
    )
    names, cursor = names_after(many, wanted, cursor, 3)
    assert names == ["new", "t119", "t118"]
    with pytest.raises(BadCursor):
        names_after(many, Wanted(kind="topic", sort="messages_per_s", order="asc"), cursor, 3)


@pytest.mark.parametrize(
    "text", ['["name",false,"0"]', "[]", "7", '["name",false,"1_0","a"]', '["name",false,"0","\\ud800"]', '["name",false,0,"a"]', "{}"]
)
def test_a_cursor_of_another_making_is_refused(many: Snapshot, tokens: Any, text: str) -> None:
    answer = Client().get(f"{BASE}/topics?cursor={listing.cursor(text)}", headers=tokens["viewer"])
    assert (answer.status_code, json.loads(answer.content)["field"]) == (400, "cursor")


def test_groups_are_sorted_too(redis: Any, local: Any) -> None:
    groups = [
        group("a", lag=5, lag_s=None, protocol="sticky", coordinator=3, trend="stalled"),
        group("b", lag=None, protocol=None, coordinator=1, state=None),
        group("c", lag=9, lag_s=2.5, protocol="range", coordinator=2, trend="falling_behind", state="Dead"),
    ]
    put(redis, {keys.group(one.group): one for one in groups})

    def names(**wanted: Any) -> list[str]:
        return list(page_of_names(Snapshot("local"), Wanted(kind="group", **wanted), 1).names)

    assert names(sort="lag") == ["c", "a", "b"] and names(sort="lag", order="asc") == ["a", "c", "b"]
    assert names(sort="lag_s") == ["c", "a", "b"]
    assert names(sort="protocol") == ["c", "a", "b"] and names(sort="protocol", order="desc") == ["a", "c", "b"]
    assert names(sort="coordinator") == ["b", "c", "a"]
    assert names(sort="trend")[:2] == ["a", "c"] and names(sort="state")[0] == "c"
    assert names(lag="1") == ["a", "c"] and names(state="Dead") == ["c"] and names(q="B") == ["b"]


def test_an_index_forgets_what_is_gone(many: Snapshot, redis: Any) -> None:
    put(redis, {keys.topic(name): None for name in many.topic_names()})
    assert not [index for index in sorting.indexes("topic") if redis.exists(keys.named("local", index))]


# --- filters


def test_filters_leave_what_they_say(many: Snapshot) -> None:
    assert listed(many, q="T00") == [f"t00{n}" for n in range(10)]
    assert listed(many, lag="1") == [f"t{n:03}" for n in range(10, TOPICS, 10)]
    assert listed(many, internal="1") == ["__own"] and "__own" not in listed(many, internal="0")
    assert listed(many, state="offline") == listed(many, troubled="1") == ["Broken"]
    assert listed(many, lag="1", q="01") == ["t010"]
    assert walked(many, 4, lag="1", sort="lag", order="desc") == [f"t{n:03}" for n in range(120, 0, -10)]


def test_topics_that_a_group_reads_and_groups_that_read_a_topic(redis: Any, local: Any) -> None:
    state = cluster_state(1000)
    state.apply_batch(batch(1, [], 1100, groups=[group_claim("other", {"clicks": {0: 80}, "orders": {0: 80}})]), 1100)
    state.take(1200)
    put(redis, state.everything(1200))
    snapshot = Snapshot("local")
    assert listed(snapshot, group="other") == ["clicks", "orders"] and listed(snapshot, group="billing") == ["orders"]
    assert listed(snapshot, group="nobody") == []
    assert list(page_of_names(snapshot, Wanted(kind="group", topic="clicks"), 1).names) == ["other"]


def test_no_topic_but_those_of_the_page_is_read(many: Snapshot, people: dict[str, Client], monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    read = Snapshot.topics
    monkeypatch.setattr(Snapshot, "topics", lambda self, names: read(self, (asked.append(len(names)), names)[1]))
    for query in ("?sort=lag", "?q=t0&lag=1", "?sort=size_bytes&order=asc&page=2"):
        assert people["viewer"].get(f"/topics{query}").status_code == 200
    assert asked == [50, 9, 50]


# --- what lists are made of, as it is kept


def test_a_topics_lag_is_that_of_all_its_groups(redis: Any) -> None:
    state = cluster_state(1000)
    state.take(1100)
    assert state.everything(1100)["topic/orders"].lag == 40
    assert state.everything(1100)["topic/clicks"].lag is None
    state.apply_batch(batch(2, [], 1200, groups=[group_claim("other", {"clicks": {0: 80}, "orders": {0: 70, 1: 85}})]), 1200)
    changed = state.take(1300)[0]
    assert (changed["topic/orders"].lag, changed["topic/orders"].groups, changed["topic/clicks"].lag) == (65, 2, 10)
    state.apply_batch(batch(1, [], 1400, removed_groups=["billing"]), 1400)
    assert state.take(1500)[0]["topic/orders"].lag == 25
    state.apply_batch(batch(2, [], 1600, removed_groups=["other"]), 1600)
    changed = state.take(1700)[0]
    assert (changed["topic/orders"].lag, changed["topic/orders"].groups, changed["topic/clicks"].lag) == (None, 0, None)


def test_how_unevenly_a_topic_is_led() -> None:
    assert leader_skew([1, 0, 0], 3) == 0 and leader_skew([2, 2, 1], 3) == 0
    assert leader_skew([3, 0, 0], 3) == 66.7 and leader_skew([4, 2, 0], 3) == 33.3
    assert leader_skew([], 3) is None and leader_skew([0, 0], 2) is None
    state = cluster_state(1000)
    state.take(1100)
    assert state.everything(1100)["topic/orders"].leader_skew == 0
    add_topic(state, "one", 3, 1200)
    for p in range(3):
        state.set_partition("one", p, 2, 6, [1, 2, 3])
    rows = [claim("one", p, 2, [(p + i) % 3 + 1 for i in range(3)], leader=2, isr=[1, 2, 3], end=1, leader_epoch=6) for p in range(3)]
    state.apply_batch(batch(2, rows, 1300), 1300)
    assert state.take(1400)[0]["topic/one"].leader_skew == 66.7
    state.drop_topic("one", 1500)
    state.take(1600)
    assert not [key for key in state.counts._sums if key[0] == "leads" and key[1][0] == "one"]


# --- pages


def test_the_heads_turn_the_order_round(many: Snapshot, people: dict[str, Client]) -> None:
    heads = {head["field"]: head for head in people["viewer"].get("/topics?sort=messages&q=t").context["heads"]}
    assert heads["messages"]["sorted"] == "descending" and heads["messages"]["url"] == "?sort=messages&q=t&order=asc"
    assert heads["name"]["sorted"] == "" and heads["name"]["url"] == "?sort=name&q=t&order=asc"
    assert heads["lag"]["url"] == "?sort=lag&q=t&order=desc"
    page = people["viewer"].get("/topics?sort=lag&order=asc").content.decode()
    assert page.count('aria-sort="ascending"') == 1


def test_a_list_is_as_its_person_left_it_and_says_so(many: Snapshot, people: dict[str, Client]) -> None:
    viewer = people["viewer"]
    assert viewer.get("/topics?q=t00&sort=lag&page=1").status_code == 200
    led = viewer.get("/topics")
    assert (led.status_code, led.headers["Location"]) == (302, "/topics?q=t00&sort=lag")
    page = viewer.get("/topics", follow=True).content.decode()
    assert "Filtered by <strong>“t00” in the name</strong>" in page and 'href="?clear=1"' in page
    assert people["operator"].get("/topics").status_code == viewer.get("/groups").status_code == 200
    assert viewer.get("/topics?clear=1").headers["Location"] == "/topics"
    assert viewer.get("/topics").status_code == 200 and not ListChoice.objects.exists()
    viewer.get("/topics?state=offline", headers={"HX-Request": "true"})
    assert viewer.get("/topics").headers["Location"] == "/topics?state=offline"
    answer = viewer.get("/topics", headers={"HX-Request": "true"})
    assert answer.status_code == 200 and b"<html" not in answer.content, "who empties the filters wants no filters"
    assert viewer.get("/topics").status_code == 200


def test_what_is_kept_of_a_person_is_bounded(many: Snapshot, people: dict[str, Client]) -> None:
    for n in range(5):
        people["viewer"].get(f"/topics?q=t{n}")
        people["viewer"].get(f"/groups?q=g{n}")
    assert ListChoice.objects.filter(user=User.objects.get(username="viewer")).count() == 2
    people["viewer"].get("/topics?q=" + "%00é" * 300)
    assert all(len(choice.query) <= ListChoice.QUERY_MAX for choice in ListChoice.objects.all())


def test_an_empty_page_names_its_filters(many: Snapshot, people: dict[str, Client]) -> None:
    page = people["viewer"].get("/topics?q=nowhere&lag=1").content.decode()
    assert "No topic that is known is so: “nowhere” in the name, with lag." in page, "nobody tells of this cluster now"


# --- REST


def test_rest_sorts_filters_and_walks(many: Snapshot, tokens: Any) -> None:
    found: list[str] = []
    cursor = ""
    while cursor is not None:
        answer = Client().get(f"{BASE}/topics?sort=lag&order=desc&lag=1&limit=5&cursor={cursor}", headers=tokens["viewer"])
        page = json.loads(answer.content)
        found, cursor = found + [item["topic"] for item in page["items"]], page["next"]
    assert found == [f"t{n:03}" for n in range(120, 0, -10)]


@pytest.mark.parametrize(
    ("path", "field"),
    [
        ("topics?sort=bogus", "sort"),
        ("topics?order=asc", "order"),
        ("topics?sort=lag&order=up", "order"),
        ("topics?state=fine", "state"),
        ("topics?internal=yes", "internal"),
        ("groups?sort=offline", "sort"),
        ("groups?lag=2", "lag"),
    ],
)
def test_rest_names_what_cannot_be_asked(many: Snapshot, tokens: Any, path: str, field: str) -> None:
    answer = Client().get(f"{BASE}/{path}", headers=tokens["viewer"])
    said = json.loads(answer.content)
    assert answer.status_code in (400, 422)
    assert field in (said.get("field") or json.dumps(said))
