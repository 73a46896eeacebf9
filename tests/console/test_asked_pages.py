"""Pages and REST of a cluster that is asked: what it cannot give is said to be missing, and is shown nowhere as a figure."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from django.test import Client

from console.collector.pace import EVERY_MS
from console.collector.taking import Taken
from console.gateway.answers import Controller, Metadata, Node, PartitionMetadata, TopicMetadata
from console.live.merging.asked_state import AskedState
from console.live.merging.partition import Asked
from console.live.merging.questions import Questions
from console.snapshot import keys
from tests.support.console_fixtures import publish


@pytest.fixture
def asked(local: Any, kafka: Any, redis: Any) -> AskedState:
    """Brokers 1 and 2, of which 2 is out of the ISR of `orders-0`; everything was asked for just now."""
    now = time.time_ns() // 1_000_000
    state = AskedState("local", Questions(EVERY_MS, now))
    taken = Taken(state)
    told = PartitionMetadata(1, 4, (1, 2), (1,), ())
    brokers = {b: Node("127.0.0.1", 9000 + b, f"rack-{b}") for b in (1, 2)}
    taken.take_metadata(Metadata(brokers, 1, {"orders": TopicMetadata("id", False, {0: told})}), Controller(1, None), now)
    taken.take_logs({("orders", 0): Asked(1234, 200, 1234)})
    state.set_size("orders", 0, 1, 5000)
    for broker in brokers:
        state.broker_answered(broker, now)
    for kind, every_ms in EVERY_MS.items():
        state.answered(kind, now, every_ms, now)
    state.unanswered("log_dirs", "CLUSTER_AUTHORIZATION_FAILED (31)", now)
    state.take(now)
    publish(redis, state, now, 0)
    redis.mset({keys.named("local", "beat"): now + 600_000, keys.named("local", "due"): now + 600_000})
    return state


def page(client: Client, path: str) -> str:
    answer = client.get(path)
    assert answer.status_code == 200
    return answer.content.decode()


def test_the_overview_says_what_is_asked_and_what_was_refused(asked: AskedState, people: dict[str, Client]) -> None:
    text = page(people["viewer"], "/")
    assert "are not available from it" in text
    assert "CLUSTER_AUTHORIZATION_FAILED (31)" in text
    assert "records per second, by where the logs end" in text
    assert "<dt>Written</dt>" not in text


def test_the_brokers_page_has_no_columns_of_dashes(asked: AskedState, people: dict[str, Client]) -> None:
    text = page(people["viewer"], "/brokers")
    assert "not available from this cluster" in text
    assert "rack-1" in text
    for missing in ('id="h-waiting"', 'data-label="idle"', 'data-label="traffic"', 'data-field="broker_epoch"'):
        assert missing not in text


def test_a_topics_page_says_why_its_replicas_have_no_ends(asked: AskedState, people: dict[str, Client]) -> None:
    text = page(people["viewer"], "/topics/orders")
    assert "How far each replica is, is not available from this cluster" in text
    assert 'data-part="leo"' not in text
    assert "the cluster does not tell why" in text
    one = page(people["viewer"], "/topics/orders/0")
    assert "How far each replica is, is not available from this cluster" in one
    for missing in ('id="h-epochs"', "<dt>Log end</dt>", "Heard of"):
        assert missing not in one


def test_rest_names_the_source_and_goes_by_its_intervals(asked: AskedState, tokens: dict[str, dict[str, str]], redis: Any) -> None:
    def ask() -> Any:
        return json.loads(Client().get("/api/v1/clusters/local", headers=tokens["viewer"]).content)

    found = ask()
    assert (found["source"], found["as_of"]["stale"], found["produce_bytes_per_s"]) == ("collector", False, None)
    assert found["questions"]["metadata"]["age"]["every_ms"] == 5_000
    assert found["questions"]["log_dirs"]["error"] == "CLUSTER_AUTHORIZATION_FAILED (31)"
    redis.set(keys.named("local", "due"), time.time_ns() // 1_000_000 - 1)
    assert ask()["as_of"]["stale"]


def test_metrics_name_each_question(asked: AskedState, tokens: dict[str, dict[str, str]]) -> None:
    text = Client().get("/metrics", headers=tokens["viewer"]).content.decode()
    assert 'highwater_question_failing{cluster="local",kind="log_dirs"} 1' in text
    assert 'highwater_question_interval_seconds{cluster="local",kind="metadata"} 5.0' in text
    assert "highwater_cluster_requests_per_s" not in text
