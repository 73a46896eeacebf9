"""The topic's page and a partition's: their own verdict, a table that sorts all partitions, ladders on demand, and who reads what."""

from __future__ import annotations

import time
from typing import Any

import pytest
from django.test import Client

from broker_core.contract.feed import LeaderEpoch, Member
from broker_core.contract.partitions import Deletion, Replica
from console import queries
from console.models import Event
from console.rules.epochs import epoch_lines
from console.rules.topic_words import topic_sentence
from console.rules.words import spans
from console.snapshot.read import Snapshot
from tests.support.console_fixtures import publish
from tests.support.console_world import add_topic, cluster_state
from tests.support.feed_rows import batch, claim, group_claim
from tests.support.live_rows import partition, some

pytestmark = pytest.mark.spec("O1")
WIDE = 120


@pytest.fixture
def wide(redis: Any, people: Any, kafka: Any) -> Any:
    """`wide` with 120 partitions: partition n ends at 1000 − n; 7 and 100 have lost broker 3's copy."""
    now = time.time_ns() // 1_000_000
    state = cluster_state(now)
    add_topic(state, "wide", WIDE, now)
    rows = []
    for p in range(WIDE):
        replicas = [(p + i) % 3 + 1 for i in range(3)]
        isr = [b for b in replicas if b != 3] if p in (7, 99) else replicas
        rows.append(claim("wide", p, replicas[0], replicas, leader=replicas[0], isr=isr, end=1000 - p, leader_epoch=6))
        state.set_partition("wide", p, replicas[0], 6, isr)
    members = [
        Member("m1", "client-a", "/10.0.0.1", None, {"wide": [0, 1, 2, 5], "orders": [1]}),
        Member("m2", "client-b", "/10.0.0.2", None, {"orders": [0]}),
    ]
    for broker in (1, 2, 3):
        told = [row for row in rows if row.leader == broker]
        groups = [group_claim("readers", {"wide": {0: 900, 5: 800}}, members=members)] if broker == 1 else []
        state.apply_batch(batch(broker, told, now, groups=groups), now)
    state.take(now)
    publish(redis, state, now)
    return state


def numbers(people: Any, query: str) -> list[int]:
    return [row.partition for row in people["viewer"].get(f"/topics/wide{query}").context["rows"]]


def test_partitions_are_sorted_over_all_pages(people: dict[str, Client], wide: Any) -> None:
    assert numbers(people, "") == list(range(50))
    assert numbers(people, "?page=3") == list(range(100, 120))
    assert numbers(people, "?sort=log_end_offset&order=asc") == list(range(119, 69, -1))
    assert numbers(people, "?sort=partition&order=desc&page=2") == list(range(69, 19, -1))
    assert numbers(people, "?sort=state")[:3] == [7, 99, 0] == numbers(people, "?sort=isr")[:3]
    assert numbers(people, "?sort=leader")[:2] == [0, 3]
    heads = {head["field"]: head["sorted"] for head in people["viewer"].get("/topics/wide?sort=kept").context["heads"]}
    assert heads["kept"] == "descending" and heads["partition"] == ""


def test_more_partitions_than_are_sorted_is_said(people: dict[str, Client], wide: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queries, "SORTED_MOST", 100)
    answer = people["viewer"].get("/topics/wide?sort=size_bytes")
    assert [row.partition for row in answer.context["rows"]] == list(range(50))
    assert "more than 100 partitions" in answer.context["query_notes"][0]


def test_the_troubled_are_open_and_the_address_opens_and_shuts(people: dict[str, Client], wide: Any) -> None:
    def opened(query: str) -> set[int]:
        return set(people["viewer"].get(f"/topics/wide{query}").context["open"])

    assert opened("") == {7}
    assert opened("?open=3,x,4,-1,99999999") == {3, 4, 7}
    assert opened("?shut=7") == set()
    assert opened("?open=all&shut=0,7") == set(range(50)) - {0, 7}
    page = people["viewer"].get("/topics/wide?open=3").content.decode()
    assert 'id="ladder-3">' in page and 'id="ladder-4" hidden>' in page
    assert 'data-expand="3" aria-expanded="true" aria-controls="ladder-3" aria-label="Replicas of partition 3"' in page


def test_what_the_page_follows_live_is_what_it_shows(people: dict[str, Client], wide: Any) -> None:
    assert "topics=wide:0-49&" in people["viewer"].get("/topics/wide").context["ws_url"]
    assert "topics=wide:70-119&" in people["viewer"].get("/topics/wide?sort=log_end_offset&order=asc").context["ws_url"]


def test_a_row_says_it_in_words_too(people: dict[str, Client], wide: Any) -> None:
    page = people["viewer"].get("/topics/wide").content.decode()
    assert 'aria-label="broker 2 leads, broker 3 out of the ISR, broker 1 in sync"' in page
    assert '<span class="dot out">○3</span>' in page


def test_a_topic_leads_with_its_own_verdict(people: dict[str, Client], wide: Any) -> None:
    page = people["viewer"].get("/topics/wide").content.decode()
    assert "2 partitions have fewer copies than wanted; all accept reads and writes. It has 120 partitions.</p>" in page
    assert 'aria-label="Verdict on wide"' in page


def test_the_words_on_a_topic() -> None:
    def words(deletion: Deletion | None = None, **counts: int) -> str:
        return topic_sentence({"partitions": 6, "unknown": 0, "starting": 0, **counts}, deletion)

    assert words() == "All 6 partitions are safe: every copy is in sync."
    assert words(partitions=1) == "Its one partition is safe: every copy is in sync."
    assert words(partitions=0) == "None of its partitions has been reported yet."
    assert words(offline=1) == "1 partition has no leader, so no reads and no writes. It has 6 partitions."
    assert (
        words(unknown=2, starting=1)
        == "Of 2 partitions the state is unknown: their leaders are silent; 1 partition is starting. It has 6 partitions."
    )
    assert words(Deletion((), False, "t is being deleted.")) == "Topic t is being deleted."


def test_who_reads_which_partition(people: dict[str, Client], wide: Any) -> None:
    ((row,), more) = queries.groups_reading(Snapshot("local"), "wide")
    assert ([(member.client_id, read) for member, read in row.members], more) == ([("client-a", "0–2, 5")], 0)
    assert '<span class="muted small">/10.0.0.1</span>: 0–2, 5</span>' in people["viewer"].get("/topics/wide").content.decode()
    assert spans([]) == "" and spans([9, 1, 2, 3, 7, 8]) == "1–3, 7–9"


# --- a partition's page


def test_a_partition_has_a_page(people: dict[str, Client], wide: Any, local: Any) -> None:
    Event.objects.create(cluster=local, at_ms=1, kind="isr_shrink", level="warn", sentence="seven shrank", topic="wide", partition=7)
    Event.objects.create(cluster=local, at_ms=1, kind="isr_shrink", level="warn", sentence="eight shrank", topic="wide", partition=8)
    answer = people["viewer"].get("/topics/wide/7")
    page = answer.content.decode()
    assert "wide-7 has fewer copies than wanted: broker 3 out of the ISR." in page
    assert "seven shrank" in page and "eight shrank" not in page
    assert "topics=wide:7-7&events=1" in answer.context["ws_url"]
    assert [(one.group, one.lag.committed, one.lag.client_id) for one in people["viewer"].get("/topics/wide/5").context["positions"]] == [
        ("readers", 800, "client-a")
    ]
    assert people["viewer"].get("/topics/wide/7").context["positions"] == []


@pytest.mark.parametrize("path", ["/topics/wide/120", "/topics/nothing/0", f"/topics/wide/{10**30}"])
def test_there_is_no_page_of_no_partition(people: dict[str, Client], wide: Any, path: str) -> None:
    assert people["viewer"].get(path).status_code == 404


def test_epochs_are_stretches_of_the_log() -> None:
    value = partition(epochs=(LeaderEpoch(3, 0), LeaderEpoch(5, 60), LeaderEpoch(6, 90)), log_start_offset=40, log_end_offset=140)
    assert [(line.epoch, line.start, line.end, line.offsets, line.share, line.is_last) for line in epoch_lines(value)] == [
        (3, 40, 60, 20, 20, False),
        (5, 60, 90, 30, 30, False),
        (6, 90, 140, 50, 50, True),
    ]
    assert epoch_lines(partition(epochs=(), log_end_offset=7)) == []
    (unknown,) = epoch_lines(partition(epochs=(LeaderEpoch(3, 9),)))
    assert (unknown.end, unknown.offsets, unknown.share) == (None, None, 0)


def test_what_is_counted_of_a_partition() -> None:
    replicas = (
        some(Replica, broker_id=1, is_leader=True, log_end_offset=100),
        some(Replica, broker_id=2, is_leader=False, log_end_offset=70),
        some(Replica, broker_id=3, is_leader=False),
    )
    value = partition(log_start_offset=20, log_end_offset=100, replicas=replicas)
    assert (value.kept, value.furthest_behind, value.unmeasured) == (80, 30, 1)
    all_told = (*replicas[:1], some(Replica, broker_id=2, is_leader=False, log_end_offset=100))
    assert partition(log_end_offset=100, replicas=all_told).furthest_behind == 0
    assert partition(log_end_offset=100, replicas=(*all_told, replicas[2])).furthest_behind is None, "the third may lack any number"
    assert (partition().kept, partition().furthest_behind) == (None, None)
    assert partition(log_end_offset=5, replicas=replicas[:1]).furthest_behind is None
