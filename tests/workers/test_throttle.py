"""A reassignment's throttle (KIP-73): set before the moves, and gone after them however they end."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from console.actions.jobs import cancel_job, create_job
from console.actions.reassignments import adopt_moves, adoption
from console.errors import Conflict, Invalid
from console.jobs.reassignment import Reassignment, parse_rate
from console.models import Cluster, Job
from console.roles import Actor
from console.rules import moves, throttle
from console.rules.throttle import FETCHERS, FOLLOWER_RATE, LEADER_RATE, SENDERS
from tests.support.console_world import FakeKafka
from workers import runner
from workers.kinds import reassignment

ACTOR = Actor("someone", "operator", "api")
RATE = 1_000_000
MOVES = [{"topic": "orders", "partition": 0, "replicas": [1, 3]}, {"topic": "orders", "partition": 1, "replicas": [2, 1]}]


@pytest.fixture(autouse=True)
def stage(local: Cluster, shown: Any, kafka: FakeKafka, sent: Any) -> None:
    kafka.topics_ = {"orders": {0: [1, 2], 1: [1, 2]}}
    kafka.configs = {"orders": {"retention.ms": "1000"}}


@pytest.fixture
def job(local: Cluster) -> Job:
    return create_job(ACTOR, local, "reassignment", {"assignments": MOVES, "throttle": RATE})


def advance(job: Job, until: str) -> Job:
    for _ in range(12):
        job = Job.objects.get(pk=job.pk)
        if until in (job.step, job.state):
            return job
        runner.advance(job.pk)
    raise AssertionError(f"{job.state} in {job.step}: {job.message}")


def clean(kafka: FakeKafka) -> bool:
    return kafka.configs == {"orders": {"retention.ms": "1000"}} and not any(kafka.broker_configs_.values())


def test_it_is_set_before_the_moves_and_taken_away_after_them(job: Job, kafka: FakeKafka) -> None:
    advance(job, "watch")
    assert kafka.broker_configs_ == {b: {LEADER_RATE: str(RATE), FOLLOWER_RATE: str(RATE)} for b in (1, 2, 3)}
    assert kafka.configs["orders"] == {"retention.ms": "1000", SENDERS: "0:1,0:2", FETCHERS: "0:3"}
    names = [call[0] for call in kafka.asked]
    assert names.index("alter_topic_config") > max(n for n, name in enumerate(names) if name == "alter_broker_config")
    assert names.index("reassign") > names.index("alter_topic_config")
    for partition in (0, 1):
        kafka.finish("orders", partition)
    job = advance(job, "succeeded")
    assert clean(kafka)
    assert (job.message, job.result) == ("2 of 2 partitions have moved.", {"partitions": 2, "moved": 2})
    assert job.log[-1]["text"] == "2 of 2 partitions have moved. The throttle is taken away."


def test_what_was_set_before_comes_back(job: Job, kafka: FakeKafka) -> None:
    kafka.broker_configs_ = {1: {LEADER_RATE: "7", "log.cleaner.threads": "2"}}
    kafka.configs["orders"] |= {SENDERS: "5:1", FETCHERS: "*"}
    advance(job, "watch")
    assert kafka.configs["orders"] == {"retention.ms": "1000", SENDERS: "5:1,0:1,0:2", FETCHERS: "*"}
    for partition in (0, 1):
        kafka.finish("orders", partition)
    advance(job, "succeeded")
    assert kafka.broker_configs_ == {1: {LEADER_RATE: "7", "log.cleaner.threads": "2"}, 2: {}, 3: {}}
    assert kafka.configs["orders"] == {"retention.ms": "1000", SENDERS: "5:1", FETCHERS: "*"}


@pytest.mark.parametrize("after", ["throttle", "submit", "watch", "release"])
def test_a_cancel_takes_it_away(job: Job, kafka: FakeKafka, after: str) -> None:
    if after == "release":
        advance(job, "watch")
        for partition in (0, 1):
            kafka.finish("orders", partition)
    cancel_job(ACTOR, advance(job, after))
    job = advance(job, "succeeded" if after == "release" else "cancelled")
    assert clean(kafka)
    assert kafka.moving == {}


@pytest.mark.parametrize("killed_in", ["start", "throttle", "submit", "watch", "release"])
def test_a_killed_worker_leaves_nothing_set(job: Job, kafka: FakeKafka, killed_in: str) -> None:
    """The step's effect has happened, its outcome was never written."""
    kafka.broker_configs_ = {2: {LEADER_RATE: "7"}}
    if killed_in == "release":
        advance(job, "watch")
        kafka.finish("orders", 0)
        kafka.finish("orders", 1)
    advance(job, killed_in)
    dead = runner._take(job.pk, "dead")
    assert dead is not None
    reassignment.advance(dead)
    Job.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    if killed_in != "release":
        advance(job, "watch")
        kafka.finish("orders", 0)
        kafka.finish("orders", 1)
    advance(job, "succeeded")
    assert kafka.broker_configs_.pop(2) == {LEADER_RATE: "7"}
    assert clean(kafka)


def test_a_failure_takes_it_away(job: Job, kafka: FakeKafka, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(moves, "DOUBT_MS", 0)
    advance(job, "watch")
    kafka.moving.clear()
    job = advance(job, "failed")
    assert "taken back by somebody else" in job.message
    assert clean(kafka)


def test_an_error_of_ours_takes_it_away(job: Job, kafka: FakeKafka, monkeypatch: pytest.MonkeyPatch) -> None:
    advance(job, "watch")
    monkeypatch.setattr(reassignment, "_watch", lambda *_: 1 / 0)
    job = advance(job, "failed")
    assert job.message == "An error of ours: ZeroDivisionError: division by zero"
    assert clean(kafka)


def test_a_topic_that_is_gone_holds_nothing_up(job: Job, kafka: FakeKafka, monkeypatch: pytest.MonkeyPatch) -> None:
    from console.gateway.errors import from_code
    from console.gateway.kafka_cluster import KafkaCluster

    def gone(_self: Any, name: str) -> Any:
        raise from_code(3, f"Topic {name!r} does not exist.")

    advance(job, "watch")
    kafka.moving.clear()
    kafka.topics_.clear()
    monkeypatch.setattr(KafkaCluster, "topic_configs", gone)
    monkeypatch.setattr(moves, "DOUBT_MS", 0)
    assert "the partition is gone" in advance(job, "failed").message
    assert not any(kafka.broker_configs_.values())


def test_a_broker_that_is_down_is_waited_for_but_not_for_ever(job: Job, kafka: FakeKafka) -> None:
    advance(job, "watch")
    for partition in (0, 1):
        kafka.finish("orders", partition)
    kafka.online = {1, 2}
    advance(job, "release")
    runner.advance(job.pk)
    job = Job.objects.get(pk=job.pk)
    assert (job.state, job.message) == (
        "running",
        "2 of 2 partitions have moved. Waiting for broker 3, to take the rate of the throttle away there.",
    )
    assert kafka.configs == {"orders": {"retention.ms": "1000"}}
    outcome = {**job.plan["outcome"], "at_s": job.plan["outcome"]["at_s"] - reassignment.RELEASE_PATIENCE_S}
    Job.objects.update(plan={**job.plan, "outcome": outcome})
    job = advance(job, "succeeded")
    assert "of broker 3 stay set, without effect" in job.message


def test_a_throttle_that_cannot_be_taken_away_is_told_with_how_the_moves_ended(job: Job, kafka: FakeKafka) -> None:
    advance(job, "watch")
    for partition in (0, 1):
        kafka.finish("orders", partition)
    advance(job, "release")
    kafka.refuse = (31, "Cluster authorization failed.")
    job = advance(job, "failed")
    assert job.message == (
        "2 of 2 partitions have moved. The throttle may still be set, delete it by hand: "
        "CLUSTER_AUTHORIZATION_FAILED (31): Cluster authorization failed."
    )


def test_nothing_to_copy_is_not_throttled(local: Cluster, kafka: FakeKafka) -> None:
    swap = [{"topic": "orders", "partition": 0, "replicas": [2, 1]}]
    job = advance(create_job(ACTOR, local, "reassignment", {"assignments": swap, "throttle": RATE}), "watch")
    assert clean(kafka)
    kafka.finish("orders", 0)
    advance(job, "succeeded")


def test_two_throttles_at_once_are_a_clash(local: Cluster, job: Job) -> None:
    other = [{"topic": "clicks", "partition": 0, "replicas": [1, 2]}]
    with pytest.raises(Conflict, match=f"Job {job.pk} throttles brokers"):
        create_job(ACTOR, local, "reassignment", {"assignments": other, "throttle": 1})
    create_job(ACTOR, local, "reassignment", {"assignments": other})


@pytest.mark.parametrize("rate", [0, -1, 1.5, "1", True, 2**63])
def test_a_rate_is_a_number_of_bytes(rate: Any) -> None:
    with pytest.raises(Invalid):
        Reassignment().checked({"assignments": MOVES, "throttle": rate})


@pytest.mark.parametrize(
    ("text", "rate"),
    [("", None), ("1000", 1000), ("10 MiB", 10 * 2**20), ("1.5mib/s", 3 * 2**19), ("2 kB/s", 2000), ("500 B", 500), ("1 GiB", 2**30)],
)
def test_a_form_takes_rates_with_units(text: str, rate: int | None) -> None:
    assert parse_rate(text) == rate


@pytest.mark.parametrize("text", ["fast", "-1", "1 TiB", "1e9", "MiB", "1,5 MiB", "٣"])
def test_a_form_says_what_is_no_rate(text: str) -> None:
    with pytest.raises(Invalid, match="is not a rate"):
        parse_rate(text)


def test_the_least_time_is_that_of_the_busiest_broker() -> None:
    row = {"adding": [2, 3], "leader": 1, "copy_bytes": 2_000}
    assert throttle.least_seconds([row, {**row, "adding": [2], "copy_bytes": 1_000}], 100) == 30.0
    assert throttle.least_seconds([{**row, "copy_bytes": None}], 100) is None
    assert throttle.least_seconds([], 100) == 0


def test_moves_that_others_began_are_taken_over_and_throttled(local: Cluster, kafka: FakeKafka) -> None:
    """Nothing is asked of the controller; the job ends with them, without its throttle."""
    kafka.moving = {("orders", 0): [1, 3], ("orders", 1): [2, 1]}
    job = advance(adopt_moves(ACTOR, local, adoption(local, [("orders", 0)]), {"throttle": RATE}), "watch")
    assert [(row["partition"], row["from"], row["to"], row["state"]) for row in job.plan["detail"]] == [(0, [1, 2], [1, 3], "moving")]
    assert [line["text"] for line in job.log][:2] == [
        "Takes over moves that somebody else began.",
        "1 partition to move, 1 of them is on its way already.",
    ]
    assert not kafka.changes("reassign") and kafka.configs["orders"][FETCHERS] == "0:3"
    kafka.finish("orders", 0)
    job = advance(job, "succeeded")
    assert job.result == {"partitions": 1, "moved": 1}
    kafka.moving.clear()
    assert clean(kafka)


def test_a_job_that_took_moves_over_takes_them_back_when_it_is_cancelled(local: Cluster, kafka: FakeKafka) -> None:
    kafka.moving = {("orders", 0): [1, 3], ("orders", 1): [2, 1]}
    job = advance(adopt_moves(ACTOR, local, adoption(local, None), {}), "watch")
    assert len(job.plan["detail"]) == 2
    with pytest.raises(Conflict, match="Nothing is being moved"):
        adopt_moves(ACTOR, local, adoption(local, None), {})
    with pytest.raises(Conflict, match=f"by job {job.pk}"):
        adopt_moves(ACTOR, local, adoption(local, [("orders", 1)]), {})
    cancel_job(ACTOR, job)
    job = advance(job, "cancelled")
    assert (kafka.moving, job.result) == ({}, {"partitions": 2, "moved": 0})
