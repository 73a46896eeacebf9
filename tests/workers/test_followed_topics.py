"""Jobs that follow a topic's creation, growth or deletion to its end (`workers/kinds/topics.py`)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from broker_core.contract import partitions
from console.actions.jobs import cancel_job, follow
from console.jobs.topics import Creation, Deletion, Growth
from console.models import Cluster, Job
from console.roles import Actor
from console.rules.load import load_after, load_risks
from tests.support.console_world import FakeKafka
from tests.support.live_rows import some
from workers import runner
from workers.kinds import topics

ACTOR = Actor("someone", "operator", "api")


@pytest.fixture(autouse=True)
def stage(local: Cluster, shown: Any, kafka: FakeKafka, sent: Any) -> None:
    kafka.topics_ = {"orders": {p: [1, 2, 3] for p in range(3)}}


def step(job: Job) -> Job:
    runner.advance(job.pk)
    return Job.objects.get(pk=job.pk)


def later(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    at = timezone.now() + timedelta(seconds=seconds)
    monkeypatch.setattr(topics, "_now", at.timestamp)


def test_a_creation_is_followed_until_all_lead(local: Cluster, kafka: FakeKafka) -> None:
    job = follow(ACTOR, local, Creation.name, "wide", 4)
    job = step(job)
    assert (job.state, job.done, job.total) == ("running", 0, 4)
    kafka.topics_["wide"] = {p: [1, 2, 3] for p in range(3)}
    job = step(job)
    assert (job.done, job.message) == (3, "3 of 4 partitions of wide have a leader.")
    kafka.topics_["wide"][3] = [1, 2, 3]
    kafka.leaders["wide", 3] = -1
    assert step(job).state == "running"
    del kafka.leaders["wide", 3]
    job = step(job)
    assert (job.state, job.done, job.result) == ("succeeded", 4, {"partitions": 4})


def test_a_creation_with_the_default_number(local: Cluster, kafka: FakeKafka) -> None:
    kafka.topics_["some"] = {0: [1], 1: [2]}
    assert step(follow(ACTOR, local, Creation.name, "some", -1)).state == "succeeded"


def test_a_growth_without_progress_ends(local: Cluster, kafka: FakeKafka, monkeypatch: pytest.MonkeyPatch) -> None:
    job = step(follow(ACTOR, local, Growth.name, "orders", 9))
    assert (job.state, job.done) == ("running", 3)
    later(monkeypatch, topics.STUCK_S - 5)
    kafka.topics_["orders"][3] = [1]
    job = step(job)
    assert (job.state, job.done) == ("running", 4)
    later(monkeypatch, 2 * topics.STUCK_S)
    job = step(job)
    assert job.state == "failed"
    assert job.message == "Nothing has moved for 5 minutes. 4 of 9 partitions of orders have a leader."


def test_a_deletion_is_followed_until_nothing_is_left(
    local: Cluster, kafka: FakeKafka, redis: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = step(follow(ACTOR, local, Deletion.name, "orders", 3))
    assert (job.state, job.done, job.total) == ("running", 0, 3)
    del kafka.topics_["orders"]
    job = step(job)
    assert (job.state, job.done) == ("running", 3), "its znodes are still there"
    monkeypatch.setattr("console.snapshot.read.Snapshot.topic", lambda _self, _name: None)
    job = step(job)
    assert (job.state, job.message) == ("succeeded", "orders is deleted.")


def test_a_deletion_that_waits_for_a_broker_is_not_given_up(local: Cluster, kafka: FakeKafka, monkeypatch: pytest.MonkeyPatch) -> None:
    waiting = some(partitions.Topic, deleting=partitions.Deletion((2,), False, "It waits for broker 2."))
    monkeypatch.setattr("console.snapshot.read.Snapshot.topic", lambda _self, _name: waiting)
    job = step(follow(ACTOR, local, Deletion.name, "orders", 3))
    later(monkeypatch, 5 * topics.STUCK_S)
    job = step(job)
    assert (job.state, job.message) == ("running", "It waits for broker 2.")


def test_cancelled_it_looks_no_more(local: Cluster, kafka: FakeKafka) -> None:
    job = step(follow(ACTOR, local, Growth.name, "orders", 9))
    job = step(cancel_job(ACTOR, job))
    assert job.state == "cancelled"
    assert not kafka.changes("add_partitions")


def test_the_load_is_spread_and_told_above_the_limit() -> None:
    load = load_after({2: 20, 1: 10}, 5, 3)
    assert load == {1: (10, 18), 2: (20, 28)}
    assert load_risks("t", load, 28) == []
    (said,) = load_risks("t", load, 27)
    assert "broker 1 from 10 to about 18; broker 2 from 20 to about 28" in said
    assert load_risks("t", load, 0) == load_risks("t", {}, 1) == []
    assert load_risks("t", load_after({1: 50}, 0, 3), 10) == [], "nothing is added"
