"""Transactions on pages and in REST, of a pretended cluster: what is asked, what is shown and bounded, what is not known, and who may end
what."""

from __future__ import annotations

import html
import json
import re
from typing import Any

import pytest
from django.test import Client

from console.clock import now_ms
from console.gateway.errors import ClusterUnreachable, from_code
from console.models import AuditEntry
from console.rules.transactions.told import Description, Ends, Listing, Producer
from console.transactions.listing import AGED_MOST
from tests.support.console_world import FakeKafka
from tests.support.openapi import check_answer

LOCAL = "/api/v1/clusters/local"
PLACE = ("orders", 1)
OLD_MS = 3_600_000


@pytest.fixture(autouse=True)
def stage(shown: Any, kafka: FakeKafka) -> None:
    """`books` has been in a transaction for 5 s, in two partitions; `idle` in none; 3 coordinators."""
    kafka.topics_ = {"orders": {p: [1, 2, 3] for p in range(3)}}
    kafka.listings = {1: [Listing("books", 7, "Ongoing", 1)], 2: [Listing("idle", 8, "CompleteCommit", 2)]}
    kafka.descriptions = {
        "books": Description("Ongoing", 7, 2, 60_000, now_ms() - 5_000, (PLACE, ("orders", 2))),
        "idle": Description("CompleteCommit", 8, 0, 30_000, None, ()),
    }
    kafka.producers_ = {PLACE: [Producer(7, 2, 4, now_ms(), None, 50), Producer(3, 0, 9, 1_000, 4, None)]}
    kafka.ends_ = {PLACE: Ends(50, 62)}


@pytest.fixture
def hangs(kafka: FakeKafka) -> Producer:
    """Producer 99 has left a transaction in `orders-1` that no coordinator has."""
    one = Producer(99, 1, 0, now_ms() - OLD_MS, 3, 40)
    kafka.producers_[PLACE] = [Producer(7, 2, 4, now_ms(), None, 50), one]
    kafka.ends_[PLACE] = Ends(40, 62)
    return one


def text_of(answer: Any) -> str:
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", " ", answer.content.decode()))).replace("\u202f", " ")


def get(tokens: dict[str, dict[str, str]], path: str, status: int = 200, role: str = "viewer") -> Any:
    found = Client().get(LOCAL + path, headers=tokens[role])
    assert found.status_code == status, found.content
    check_answer("GET", LOCAL + path, status, found.headers["Content-Type"].partition(";")[0], found.json())
    return found.json()


def post(tokens: dict[str, dict[str, str]], path: str, body: Any, status: int = 200, role: str = "admin") -> Any:
    found = Client().post(LOCAL + path, json.dumps(body), content_type="application/json", headers=tokens[role])
    assert found.status_code == status, found.content
    check_answer("POST", LOCAL + path, status, found.headers["Content-Type"].partition(";")[0], found.json())
    return found.json()


# --- the list


def test_the_page_shows_those_in_progress_and_all_on_request(people: dict[str, Client], kafka: FakeKafka) -> None:
    said = text_of(people["viewer"].get("/transactions"))
    assert re.search(r"1 transaction is in progress, for \d+ s of at most 60 s: books\.", said)
    assert "idle" not in said
    assert kafka.changes("transactions")[0][1:3] == ([1, 2, 3], ["Ongoing", "PrepareCommit", "PrepareAbort", "PrepareEpochFence"])
    said = text_of(people["viewer"].get("/transactions?state=any"))
    assert re.search(r"books Ongoing [\d.]+ s 7 1 2 2 60 s idle CompleteCommit – 8 2 0 – 30 s", said), said


def test_filters_are_the_brokers_and_wrong_ones_are_said(people: dict[str, Client], kafka: FakeKafka) -> None:
    said = text_of(people["viewer"].get("/transactions?state=any&producer_id=8&longer_s=30&q=ID"))
    assert kafka.changes("transactions")[0][2:] == ([], [8], 30_000)
    assert "1 transactional id is so." in said and "“ID” in the id" in said and "longer than 30 s" in said
    said = text_of(people["viewer"].get("/transactions?state=Gone&longer_s=soon"))
    assert "state='Gone' is not one of" in said and "longer_s='soon' is not a whole number" in said


def test_rest_lists_in_order_of_age_then_the_rest(tokens: dict[str, dict[str, str]], kafka: FakeKafka) -> None:
    kafka.listings[3] = [Listing("elder", 9, "Ongoing", 3), Listing("aaa", 10, "Empty", 3)]
    kafka.descriptions["elder"] = Description("Ongoing", 9, 0, 60_000, now_ms() - 200_000, ())
    found = get(tokens, "/transactions")
    assert [row["transactional_id"] for row in found["items"]] == ["elder", "books", "aaa", "idle"]
    elder = found["items"][0]
    assert (elder["level"], elder["producer_epoch"], elder["partitions"], elder["coordinator"]) == ("warn", 0, 0, 3)
    assert elder["age_ms"] >= 200_000 and "past its time-out by" in elder["note"]
    assert (found["total"], found["unseen"], found["level"]) == (4, [], "warn")
    first = get(tokens, "/transactions?sort=producer_id&order=desc&limit=3")
    assert [row["producer_id"] for row in first["items"]] == [10, 9, 8]
    assert [row["producer_id"] for row in get(tokens, f"/transactions?sort=producer_id&order=desc&cursor={first['next']}")["items"]] == [7]
    for wrong in ("?state=Gone", "?sort=size", "?order=asc", "?cursor=x", "?producer_id=-1"):
        assert get(tokens, f"/transactions{wrong}", 400)["code"] == "bad-query"


def test_of_ten_thousand_ids_only_those_shown_are_described(people: dict[str, Client], kafka: FakeKafka) -> None:
    rows = [Listing(f"id-{n:05}", n, "CompleteCommit", 1) for n in range(10_000)]
    kafka.listings[1] = rows
    kafka.descriptions |= {row.transactional_id: Description("CompleteCommit", row.producer_id, 0, 60_000, None, ()) for row in rows}
    answer = people["viewer"].get("/transactions?state=any&page=3")
    assert answer.context["pages"]["total"] == 10_001 and answer.context["pages"]["last"] == 201
    asked = [name for call in kafka.changes("describe_transactions") for names in call[1].values() for name in names]
    assert asked == [f"id-{n:05}" for n in range(100, 150)]


def test_of_very_many_in_progress_no_ages_are_asked_for(people: dict[str, Client], kafka: FakeKafka) -> None:
    rows = [Listing(f"id-{n:05}", n, "Ongoing", 1) for n in range(AGED_MOST + 1)]
    kafka.listings = {1: rows}
    kafka.descriptions |= {row.transactional_id: Description("Ongoing", row.producer_id, 0, 60_000, 1, ()) for row in rows}
    said = text_of(people["viewer"].get("/transactions"))
    assert "501 transactions are in progress." in said
    assert "in order of their ids, not of their ages" in said
    assert sum(len(names) for call in kafka.changes("describe_transactions") for names in call[1].values()) == 50


def test_what_nobody_tells_is_said_to_be_unknown(people: dict[str, Client], tokens: Any, kafka: FakeKafka) -> None:
    kafka.listings[1] = ClusterUnreachable("broker 1 did not answer in time")
    kafka.state_partitions[7] = (None, 0)
    found = get(tokens, "/transactions")
    assert [row["transactional_id"] for row in found["items"]] == ["idle"]
    assert [(one["coordinator"], one["partitions"]) for one in found["unseen"]] == [(1, [0]), (None, [7])]
    assert found["level"] == "warn"
    said = text_of(people["viewer"].get("/transactions"))
    assert "broker 1, which leads 1 partition of __transaction_state, did not tell" in said
    assert "nobody leads 1 partition of" in said
    assert "Nothing is in progress" not in said
    rows = text_of(people["viewer"].get("/transactions?state=any"))
    assert "as those coordinators that answered told just now" in rows
    kafka.listings = dict.fromkeys((1, 2, 3), from_code(14, "broker does not list its transactions"))
    answer = people["viewer"].get("/transactions")
    assert answer.status_code == 503 and "COORDINATOR_LOAD_IN_PROGRESS" in text_of(answer)
    kafka.away = True
    answer = people["viewer"].get("/transactions")
    assert (answer.status_code, "The cluster does not answer" in text_of(answer)) == (503, True)
    assert get(tokens, "/transactions", 503)["code"] == "cluster-unreachable"


def test_an_empty_list_teaches(people: dict[str, Client], kafka: FakeKafka) -> None:
    kafka.listings, kafka.state_partitions = {}, {}
    said = text_of(people["viewer"].get("/transactions?state=any"))
    assert "there never was a transactional producer" in said and "init_transactions()" in said
    assert "Nothing is in progress" in text_of(people["viewer"].get("/transactions"))


# --- one transaction


def test_a_transaction_says_where_it_holds_readers_back(people: dict[str, Client], tokens: Any) -> None:
    found = get(tokens, "/transactions/books")
    assert (found["state"], found["producer_epoch"], found["partitions"], found["coordinator"]) == ("Ongoing", 2, 2, 1)
    held, empty = found["places"]
    assert (held["start_offset"], held["held"], held["holds"]) == (50, 12, True)
    assert 5_000 <= held["held_for_ms"] < 65_000
    assert (empty["start_offset"], empty["held"], empty["holds"], empty["held_for_ms"]) == (None, 0, False, None)
    said = text_of(people["viewer"].get("/transactions/books"))
    assert "wait for it: for 12 offsets of orders-1." in said and "End and fence" not in said
    assert "End and fence" in text_of(people["admin"].get("/transactions/books"))


def test_an_earlier_one_is_what_holds_them_back(tokens: Any, hangs: Producer) -> None:
    held = get(tokens, "/transactions/books")["places"][0]
    assert (held["held"], held["holds"], held["held_for_ms"]) == (22, False, None)


def test_an_id_may_be_called_anything(people: dict[str, Client], tokens: Any, kafka: FakeKafka) -> None:
    name = "a/b ?#<b>"
    kafka.listings[1] = [Listing(name, 7, "Ongoing", 1)]
    kafka.descriptions[name] = kafka.descriptions["books"]
    page = people["viewer"].get("/transactions").content.decode()
    assert "<b>" not in page
    (url,) = set(re.findall(r'href="(/transactions/[^"?]+)"', page))
    assert name in text_of(people["viewer"].get(html.unescape(url)))
    assert get(tokens, "/transactions/a%2Fb%20%3F%23%3Cb%3E")["transactional_id"] == name


def test_one_that_no_coordinator_knows_is_not_there(people: dict[str, Client], tokens: Any, kafka: FakeKafka) -> None:
    problem = get(tokens, "/transactions/nobody", 404)
    assert problem["kafka_name"] == "TRANSACTIONAL_ID_NOT_FOUND"
    assert people["viewer"].get("/transactions/nobody").status_code == 404
    assert post(tokens, "/transactions/nobody/termination", {"confirm": True}, 404)["code"] == "not-found"
    assert not kafka.changes("take_over_transactions"), "it would be made by that"


def test_only_an_admin_who_types_the_id_ends_it(people: dict[str, Client], kafka: FakeKafka) -> None:
    path = "/transaction-end/books"
    for role in ("viewer", "operator"):
        assert people[role].get(path).status_code == people[role].post(path, {"confirm": "books"}).status_code == 403
    assert "aborted in 2 partitions" in text_of(people["admin"].get(path))
    refused = people["admin"].post(path, {"confirm": "book"})
    assert (refused.status_code, refused.context["form_error"]["field"]) == (422, "confirm")
    assert not kafka.changes("take_over_transactions")
    done = people["admin"].post(path, {"confirm": "books"})
    assert (done.status_code, done.headers["Location"]) == (303, "/transactions/books")
    assert kafka.changes("take_over_transactions") == [("take_over_transactions", 1, "books", 60_000)]
    entry = AuditEntry.objects.get(action="end transaction", outcome="done")
    assert (entry.target, entry.before["producer_epoch"], entry.after) == ("books", 2, {"producer_id": 7, "producer_epoch": 3})


def test_the_end_of_the_old_one_is_waited_for(tokens: Any, kafka: FakeKafka, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = [from_code(51, "wait"), from_code(51, "wait"), (7, 3)]

    def take(*_asked: Any) -> Any:
        found = answers.pop(0)
        if isinstance(found, Exception):
            raise found
        return found

    monkeypatch.setattr("console.gateway.kafka_cluster.KafkaCluster.take_over_transactions", take)
    monkeypatch.setattr("console.actions.transactions.time.sleep", lambda _s: None)
    asked = post(tokens, "/transactions/books/termination", {}, 422)
    assert (asked["code"], asked["field"], len(answers)) == ("unconfirmed", "confirm", 3)
    assert post(tokens, "/transactions/books/termination", {"dry_run": True})["done"] is False
    found = post(tokens, "/transactions/books/termination", {"confirm": True})
    assert (found["done"], found["producer_epoch"], answers) == (True, 3, [])


# --- producers, and those that hang


def test_producers_of_a_partition_with_those_in_a_transaction_first(people: dict[str, Client], tokens: Any, kafka: FakeKafka) -> None:
    found = get(tokens, "/topics/orders/partitions/1/producers")
    assert [(one["producer_id"], one["transaction"], one["transactional_id"]) for one in found["producers"]] == [
        (7, "in_progress", "books"),
        (3, "none", None),
    ]
    assert (found["held"], found["level"], found["total"]) == (12, "ok", 2)
    assert [call[3] for call in kafka.changes("transactions")] == [[7]], "only who is in a transaction is asked for"
    said = text_of(people["viewer"].get("/topics/orders/1/producers"))
    assert "Readers of committed transactions wait: the last stable offset is 12 offsets behind" in said and "Abort" not in said
    assert get(tokens, "/topics/orders/partitions/9/producers", 404)["code"] == "not-found"


def test_one_that_hangs_is_named_where_that_is_sure(people: dict[str, Client], tokens: Any, kafka: FakeKafka, hangs: Producer) -> None:
    found = get(tokens, "/topics/orders/partitions/1/producers")
    assert [(one["producer_id"], one["transaction"]) for one in found["producers"]] == [(99, "hanging"), (7, "in_progress")]
    assert found["level"] == "bad" and found["held"] == 22
    page = people["admin"].get("/topics/orders/1/producers").content.decode()
    assert page.count('href="/topics/orders/1/abort?start_offset=40"') == 1 and "start_offset=50" not in page
    kafka.listings[3] = ClusterUnreachable("broker 3 did not answer in time")
    found = get(tokens, "/topics/orders/partitions/1/producers")
    assert [one["transaction"] for one in found["producers"]] == ["unknown", "in_progress"], "what broker 3 has is not known"
    assert found["level"] == "warn"


def test_coordinators_that_change_meanwhile_make_nothing_sure(tokens: Any, kafka: FakeKafka, hangs: Producer) -> None:
    """Neither the one that resigned nor the one that has not heard yet lists what lies between."""
    asked = kafka.transaction_coordinators

    def moving() -> Any:
        found = asked()
        kafka.state_partitions[1] = (3, kafka.state_partitions[1][1] + 1)
        return found

    kafka.transaction_coordinators = moving  # type: ignore[method-assign]
    assert get(tokens, "/topics/orders/partitions/1/producers")["producers"][0]["transaction"] == "unknown"


@pytest.mark.parametrize("found", [[{3: [2]}], [{}, {3: [2]}]], ids=["before", "after"])
def test_a_broker_that_lists_what_it_does_not_coordinate_makes_nothing_sure(
    found: list[dict[int, list[int]]], tokens: Any, kafka: FakeKafka, hangs: Producer
) -> None:
    """The cluster's metadata may tell of a leader before that has heard of it itself; it answers as if nothing were there."""
    kafka.lacking = [dict(one) for one in found]
    (unseen,) = get(tokens, "/transactions")["unseen"]
    assert (unseen["coordinator"], unseen["partitions"]) == (3, [2])
    kafka.lacking = [dict(one) for one in found]
    assert get(tokens, "/topics/orders/partitions/1/producers")["producers"][0]["transaction"] == "unknown"


def test_one_that_ends_meanwhile_does_not_hang(tokens: Any, kafka: FakeKafka, hangs: Producer) -> None:
    asked = kafka.producers

    def ending(by_leader: Any) -> Any:
        found = asked(by_leader)
        kafka.producers_[PLACE] = []
        return found

    kafka.producers = ending  # type: ignore[method-assign]
    assert get(tokens, "/topics/orders/partitions/1/producers")["producers"][0]["transaction"] == "none"


def test_a_search_finds_what_hangs(people: dict[str, Client], tokens: Any, kafka: FakeKafka, hangs: Producer) -> None:
    found = get(tokens, "/hanging-transactions?topic=orders")
    assert [(one["producer_id"], one["partition"], one["start_offset"], one["transaction"]) for one in found["items"]] == [
        (99, 1, 40, "hanging")
    ]
    assert (found["partitions"], found["unanswered"], found["level"]) == (3, 0, "bad")
    assert get(tokens, f"/hanging-transactions?topic=orders&max_timeout_ms={10 * OLD_MS}")["items"] == []
    assert get(tokens, "/hanging-transactions?topic=orders&partition=0")["partitions"] == 1
    assert [one["producer_id"] for one in get(tokens, "/hanging-transactions?broker=1")["items"]] == [99]
    assert get(tokens, "/hanging-transactions", 400)["field"] == "topic"
    assert get(tokens, "/hanging-transactions?partition=1&broker=1", 400)["field"] == "partition"
    assert get(tokens, "/hanging-transactions?topic=none", 404)["code"] == "not-found"
    assert "1 transaction hangs in the 3 partitions" in text_of(people["viewer"].get("/hanging-transactions?topic=orders"))
    kafka.producers_[("orders", 2)] = from_code(6, "it has moved")
    assert get(tokens, "/hanging-transactions?topic=orders")["unanswered"] == 1


def test_an_abort_is_for_admins_who_type_the_partition(people: dict[str, Client], kafka: FakeKafka, hangs: Producer) -> None:
    path, form = "/topics/orders/1/abort", {"start_offset": "40", "confirm": "orders-1"}
    for role in ("viewer", "operator"):
        assert people[role].get(f"{path}?start_offset=40").status_code == people[role].post(path, form).status_code == 403
    said = text_of(people["admin"].get(f"{path}?start_offset=40"))
    assert "An abort marker of producer 99, epoch 1, would be written to orders-1." in said and "nothing else will end it" in said
    refused = people["admin"].post(path, {**form, "confirm": "orders"})
    assert (refused.status_code, refused.context["form_error"]["field"]) == (422, "confirm")
    assert not kafka.changes("abort_transaction")
    assert people["admin"].post(path, form).status_code == 303
    assert kafka.changes("abort_transaction") == [("abort_transaction", 1, PLACE, hangs)]
    entry = AuditEntry.objects.get(action="abort transaction", outcome="done")
    assert (entry.target, entry.before["transaction"], entry.after["coordinator_epoch"]) == ("orders-1", "hanging", 3)
    assert people["admin"].post(path, form).status_code == 422, "it has ended"


def test_rest_aborts_what_was_confirmed(tokens: Any, kafka: FakeKafka, hangs: Producer) -> None:
    path = "/topics/orders/partitions/1/abort-transaction"
    plan = post(tokens, path, {"start_offset": 50, "dry_run": True})
    assert (plan["transaction"], plan["transactional_id"], plan["coordinator_epoch"]) == ("in_progress", "books", 0)
    assert "half done" in " ".join(plan["risks"])
    assert post(tokens, path, {"start_offset": 40}, 422)["field"] == "confirm"
    assert post(tokens, path, {"start_offset": 41, "confirm": True}, 422)["field"] == "start_offset"
    assert post(tokens, path, {"start_offset": 40, "confirm": True}, 403, "operator")["code"] == "forbidden"
    assert not kafka.changes("abort_transaction")
    done = post(tokens, path, {"start_offset": 40, "confirm": True})
    assert (done["done"], done["held"], done["sentence"]) == (
        True,
        0,
        "The transaction is aborted in orders-1. Nothing holds readers back there now.",
    )
    assert AuditEntry.objects.filter(action="abort transaction", via="api", outcome="done").count() == 1


def test_what_a_leader_refuses_is_told_in_its_words(
    tokens: Any, kafka: FakeKafka, hangs: Producer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_asked: Any) -> None:
        raise from_code(47, "no abort marker was written to orders-1")

    monkeypatch.setattr("console.gateway.kafka_cluster.KafkaCluster.abort_transaction", refuse)
    problem = post(tokens, "/topics/orders/partitions/1/abort-transaction", {"start_offset": 40, "confirm": True}, 422)
    assert (problem["code"], problem["kafka_name"]) == ("cluster-refused", "INVALID_PRODUCER_EPOCH")
    kafka.producers_[PLACE] = from_code(31, "not allowed")
    assert get(tokens, "/topics/orders/partitions/1/producers", 403)["code"] == "cluster-forbids"
