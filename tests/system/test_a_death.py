"""A broker is killed and started again: what is said of it, what a health report finds, and an election that undoes its traces."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.support.clients import produce
from tests.support.cluster import eventually
from tests.support.console_system import ConsoleSystem
from tests.support.rest import LOCAL, Rest, Visitor
from tests.system.conftest import MakeTopic, bystander_of, heard

PARTITIONS = 72
HANDFUL = 8
SECONDS = 60.0
"""A session ends 6 s after its broker's death."""

Value = dict[str, Any]


@dataclass
class Story:
    """What was seen, in this order."""

    topic: str
    broker: int
    whole: Value
    dead: Value = field(default_factory=dict)
    dead_report: Value = field(default_factory=dict)
    dead_events: list[Value] = field(default_factory=list)
    back: Value = field(default_factory=dict)
    back_report: Value = field(default_factory=dict)
    back_events: list[Value] = field(default_factory=list)
    back_leaders: list[int] = field(default_factory=list)
    election: Value = field(default_factory=dict)
    end_report: Value = field(default_factory=dict)


def report(system: ConsoleSystem, rest: Rest) -> Value:
    """A health report by a job, as its result and the page's text."""
    job = rest.until(rest.start("health_report"))
    assert job["state"] == "succeeded", job
    page = Visitor(system.layout.console_port, system.password).get("/health").body
    return {**job, "page": page}


def settled(rest: Rest, after: int, kind: str) -> list[Value]:
    """The events once the summary of that kind was said."""
    eventually(lambda: any(e["kind"] == kind for e in rest.events(after)), SECONDS, f"an event {kind}")
    eventually(lambda: any(e["kind"] == kind and e["partition"] is None for e in rest.events(after)), SECONDS, f"{kind} in sum")
    return rest.events(after)


@pytest.fixture(scope="module")
def story(system: ConsoleSystem, rest: Rest, make_topic: MakeTopic) -> Iterator[Story]:
    bystander = bystander_of(rest)
    others = [b for b in (1, 2, 3) if b != bystander]
    replicas = [[*((bystander, *others) if p < PARTITIONS // 2 else (*others, bystander))] for p in range(PARTITIONS)]
    topic = make_topic("death", replicas)
    produce(system, topic, [b"x" * 100] * 200)
    told = Story(topic, bystander, heard(rest))
    report(system, rest)
    mark = rest.last_event()
    system.kill(bystander)
    eventually(lambda: rest.live()["brokers_online"] == 2, SECONDS, "a broker fewer")
    eventually(lambda: all(bystander not in p["isr"] for p in rest.partitions(topic)), SECONDS, "smaller ISRs")
    told.dead_events, told.dead = settled(rest, mark, "isr_shrink"), heard(rest)
    told.dead_report = report(system, rest)
    mark = rest.last_event()
    system.start(bystander)
    eventually(lambda: all(bystander in p["isr"] for p in rest.partitions(topic)), 60, "whole ISRs")
    eventually(lambda: rest.live()["under_replicated"] == 0, 60, "whole partitions")
    told.back_events, told.back = settled(rest, mark, "isr_expand"), heard(rest)
    told.back_leaders = [p["leader"] for p in rest.partitions(topic)]
    told.back_report = report(system, rest)
    told.election = rest.until(rest.start("preferred_leader_election", topics=[topic]))
    eventually(lambda: all(p["leader"] == p["preferred_leader"] for p in rest.partitions(topic)), SECONDS, "preferred leaders")
    rest.until(rest.start("preferred_leader_election"))
    eventually(lambda: rest.live()["not_preferred"] == 0, SECONDS, "preferred leaders everywhere")
    told.end_report = report(system, rest)
    yield told


def kinds(events: list[Value]) -> set[str]:
    return {e["kind"] for e in events}


def handful(events: list[Value]) -> int:
    """How many sentences are few: so many each ten seconds, over which a slow machine may spread what happens."""
    times = [e["at_ms"] for e in events]
    return HANDFUL * (1 + (max(times) - min(times)) // 10_000)


def test_a_death_is_told_in_a_handful_of_sentences(story: Story) -> None:
    """72 partitions and more lose a replica, half of them their leader."""
    assert story.dead["under_replicated"] >= PARTITIONS
    assert kinds(story.dead_events) >= {"broker_died", "leader_moved", "isr_shrink"}
    about = [e for e in story.dead_events if e["kind"] in ("broker_died", "leader_moved", "isr_shrink")]
    died = next(e for e in about if e["kind"] == "broker_died")
    assert died["sentence"].startswith(f"broker {story.broker} is gone: ")
    assert len(about) <= handful(about), [e["sentence"] for e in about]
    assert any(f"broker {story.broker} is down" in e["sentence"] for e in about if e["kind"] == "leader_moved")


def test_a_return_is_told_in_a_handful_of_sentences(story: Story) -> None:
    assert kinds(story.back_events) >= {"broker_returned", "isr_expand"}
    about = [e for e in story.back_events if e["kind"] in ("broker_returned", "isr_expand")]
    assert len(about) <= handful(about), [e["sentence"] for e in about]


def test_the_verdict_names_the_cause_first(story: Story) -> None:
    assert story.whole["verdict"]["text"].startswith("All ")
    verdict = story.dead["verdict"]
    count = story.dead["under_replicated"]
    wanted = f"Broker {story.broker} is down: {count} partitions have fewer copies than wanted; all accept reads and writes."
    first = verdict["parts"][0]
    assert (first["level"], first["text"], first["about"]) == ("warn", wanted, "brokers")
    assert "preferred" not in verdict["text"]
    assert story.back["verdict"]["parts"][0]["level"] == "ok"


@pytest.mark.spec("O3")
def test_who_returns_leads_nothing_until_an_election(story: Story) -> None:
    """A restarted broker leads no partition; a preferred election gives it its own back."""
    assert story.broker not in story.back_leaders
    job = story.election
    assert job["state"] == "succeeded"
    assert job["result"] == {"elected": PARTITIONS // 2, "not_needed": 0, "failed": []}
    assert job["progress"] == {"done": PARTITIONS // 2, "total": PARTITIONS // 2, "unit": "partitions"}
    assert job["message"]
    assert job["started_at"] <= job["ended_at"]


def test_reports_tell_what_changed(story: Story) -> None:
    assert story.dead_report["result"]["level"] == "warn"
    assert story.dead_report["result"]["new"] >= PARTITIONS
    assert "under-replicated (" in story.dead_report["message"]
    assert story.back_report["result"]["gone"] >= PARTITIONS
    assert "leader balance" in story.back_report["message"]
    assert f"Broker {story.broker} leads nothing" in story.back_report["page"]
    assert story.end_report["result"]["gone"] >= 1
    assert "leader balance" not in story.end_report["message"]


@pytest.mark.spec("O2")
def test_settings_that_can_lose_records_are_found(system: ConsoleSystem, rest: Rest, make_topic: MakeTopic) -> None:
    """Fewer than 3 replicas, and acks other than all, are named."""
    topic = make_topic("thin", [[1]])
    produce(system, topic, [b"x"], acks="1")
    eventually(
        lambda: sum((b["produce_by_acks"] or {}).get("1", 0) for b in rest.get(f"{LOCAL}/brokers")["items"]), 60, "a request with acks=1"
    )
    made = report(system, rest)
    assert "settings against loss" in made["message"]
    assert f"{topic}: 1 copy of each record, 3 wanted." in made["page"]
    assert "with acks=1" in made["page"]


def test_the_controller_s_move_is_told(system: ConsoleSystem, rest: Rest) -> None:
    before, mark = rest.live(), rest.last_event()
    system.kill(before["controller_id"])
    eventually(lambda: rest.live()["controller_id"] not in (None, before["controller_id"]), SECONDS, "another controller")
    told = eventually(lambda: [e for e in rest.events(mark) if e["kind"] == "controller_moved"], SECONDS, "the controller's move in words")
    cause = told[0]["sentence"].partition(f"(was broker {before['controller_id']}): broker {before['controller_id']} is ")[2]
    assert cause in ("down.", "registered still."), "the store may tell of the death a good while after the other controller"
    assert rest.live()["controller_epoch"] > before["controller_epoch"]
    system.start(before["controller_id"])
    eventually(lambda: rest.live()["brokers_online"] == 3 and rest.live()["under_replicated"] == 0, 60, "a whole cluster")
