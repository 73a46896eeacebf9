"""A reassignment whose throttle is steered: by what the live snapshot tells, said in the job's log, and gone afterwards like any other."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from console.actions.jobs import cancel_job, create_job
from console.errors import Invalid
from console.jobs.reassignment import Reassignment, parse_throttle
from console.live.merging.state import ClusterState
from console.models import Cluster, Job
from console.roles import Actor
from console.rules.throttle import FETCHERS, FOLLOWER_RATE, LEADER_RATE, SENDERS
from tests.support.console_fixtures import publish
from tests.support.console_world import FakeKafka
from tests.support.feed_rows import STAGES, batch, requests
from workers import runner
from workers.kinds import reassignment

ACTOR = Actor("someone", "operator", "api")
FLOOR, CEILING = 1_000_000, 11_000_000
STEERED = {"floor": FLOOR, "ceiling": CEILING}
MOVES = [{"topic": "orders", "partition": 0, "replicas": [1, 3]}, {"topic": "orders", "partition": 1, "replicas": [2, 1]}]


class World:
    """The snapshot and the time: every look at the clock of steering has the time that the test set."""

    def __init__(self, redis: Any, state: ClusterState, at_ms: int) -> None:
        self.redis, self.state, self.at_ms = redis, state, at_ms
        self.count = dict.fromkeys((1, 2, 3), 0)
        self.spent_ms = dict.fromkeys((1, 2, 3), 0.0)

    def pass_s(self, seconds: int, produce_ms: float) -> None:
        """Each broker answers ten produces a second, and each takes so long."""
        for _ in range(seconds):
            self.at_ms += 1_000
            for broker in self.count:
                self.count[broker] += 10
                self.spent_ms[broker] += 10 * produce_ms
                said = requests(self.count[broker], stages_ms={**STAGES, "total": self.spent_ms[broker]})
                self.state.apply_batch(batch(broker, [], self.at_ms, {"requests": {"Produce": said}}), self.at_ms)
        self.state.take(self.at_ms)
        publish(self.redis, self.state, self.at_ms)


@pytest.fixture
def world(local: Cluster, redis: Any, shown: ClusterState, kafka: FakeKafka, sent: Any, monkeypatch: pytest.MonkeyPatch) -> World:
    kafka.topics_ = {"orders": {0: [1, 2], 1: [1, 2]}}
    kafka.configs = {"orders": {"retention.ms": "1000"}}
    found = World(redis, shown, int(timezone.now().timestamp() * 1000))
    monkeypatch.setattr("workers.kinds.steering.now_ms", lambda: found.at_ms)
    monkeypatch.setattr("console.snapshot.read.now_ms", lambda: found.at_ms)
    found.pass_s(12, produce_ms=20)
    return found


@pytest.fixture
def job(world: World, local: Cluster) -> Job:
    return create_job(ACTOR, local, "reassignment", {"assignments": MOVES, "throttle": STEERED})


def advance(job: Job, until: str = "") -> Job:
    """One step, or those until the job is there."""
    for _ in range(12 if until else 1):
        job = Job.objects.get(pk=job.pk)
        if until and until in (job.step, job.state):
            return job
        runner.advance(job.pk)
    if until:
        raise AssertionError(f"{job.state} in {job.step}: {job.message}")
    return Job.objects.get(pk=job.pk)


def rates(kafka: FakeKafka) -> set[str]:
    return {rate for broker in (1, 2, 3) for rate in kafka.broker_configs_[broker].values()}


def clean(kafka: FakeKafka) -> bool:
    return kafka.configs == {"orders": {"retention.ms": "1000"}} and not any(kafka.broker_configs_.values())


def test_it_begins_at_the_floor_rises_and_is_lowered_with_its_reason(job: Job, world: World, kafka: FakeKafka) -> None:
    advance(job, "watch")
    assert rates(kafka) == {str(FLOOR)}
    assert kafka.configs["orders"] == {"retention.ms": "1000", SENDERS: "0:1,0:2", FETCHERS: "0:3"}
    world.pass_s(11, produce_ms=20)
    job = advance(job)
    assert rates(kafka) == {str(FLOOR + 1_000_000)}
    world.pass_s(11, produce_ms=20)
    advance(job)
    world.pass_s(12, produce_ms=50)
    job = advance(job)
    assert rates(kafka) == {"1500000"}
    assert "Lowered to 1.43\u202fMiB/s: a produce on broker" in job.log[-1]["text"]
    assert "takes 50\u202fms, 2.5 times what it took before the moves." in job.log[-1]["text"]
    assert [change["rate"] for change in job.plan["throttle"]["steering"]["history"]] == [FLOOR, 2_000_000, 3_000_000, 1_500_000]
    said = len(job.log)
    world.pass_s(2, produce_ms=50)
    assert len(advance(job).log) == said, "a rate that stays is no event"
    for partition in (0, 1):
        kafka.finish("orders", partition)
    advance(job, "succeeded")
    assert clean(kafka)


def test_a_silent_broker_holds_it_and_brings_it_to_the_floor(job: Job, world: World, kafka: FakeKafka) -> None:
    advance(job, "watch")
    world.pass_s(11, produce_ms=20)
    assert advance(job).plan["throttle"]["rate"] == 2_000_000
    world.at_ms += 20_000
    job = advance(job)
    assert (job.plan["throttle"]["rate"], "not known now" in job.plan["throttle"]["steering"]["why"]) == (2_000_000, True)
    world.at_ms += 20_000
    job = advance(job)
    assert rates(kafka) == {str(FLOOR)}
    assert job.log[-1]["text"].startswith("Lowered to the floor, 977\u202fKiB/s: the figures of brokers 1, 2 and 3 are not known for 40")


def test_a_broker_that_was_down_gets_the_rate_when_it_is_back(job: Job, world: World, kafka: FakeKafka) -> None:
    advance(job, "watch")
    kafka.online = {1, 2}
    world.pass_s(11, produce_ms=20)
    advance(job)
    assert [kafka.broker_configs_[broker][LEADER_RATE] for broker in (1, 3)] == ["2000000", str(FLOOR)]
    kafka.online = {1, 2, 3}
    world.pass_s(1, produce_ms=20)
    job = advance(job)
    assert kafka.broker_configs_[3] == {LEADER_RATE: "2000000", FOLLOWER_RATE: "2000000"}
    assert job.plan["throttle"]["late"] == []


@pytest.mark.parametrize("cancelled", [False, True])
@pytest.mark.parametrize("killed_in", ["start", "throttle", "submit", "watch", "release"])
def test_a_killed_worker_leaves_nothing_set(job: Job, world: World, kafka: FakeKafka, killed_in: str, cancelled: bool) -> None:
    """The step's effect has happened, its outcome was never written; in `watch` a rate was set that the plan does not know."""
    kafka.broker_configs_ = {2: {LEADER_RATE: "7"}}
    if killed_in == "release":
        advance(job, "watch")
        kafka.finish("orders", 0)
        kafka.finish("orders", 1)
    advance(job, killed_in)
    world.pass_s(11, produce_ms=20)
    dead = runner._take(job.pk, "dead")
    assert dead is not None
    reassignment.advance(dead)
    if killed_in == "watch":
        assert rates(kafka) == {"2000000"}
        assert Job.objects.get(pk=job.pk).plan["throttle"]["rate"] == FLOOR
    Job.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    if cancelled:
        cancel_job(ACTOR, Job.objects.get(pk=job.pk))
        job = advance(job, "succeeded" if killed_in == "release" else "cancelled")
    else:
        if killed_in != "release":
            advance(job, "watch")
            kafka.finish("orders", 0)
            kafka.finish("orders", 1)
        job = advance(job, "succeeded")
    assert kafka.broker_configs_.pop(2) == {LEADER_RATE: "7"}
    assert (clean(kafka), kafka.moving) == (True, {})


@pytest.mark.parametrize(
    ("throttle", "why"),
    [
        ({"floor": 5}, "Give a ceiling"),
        ({"floor": True, "ceiling": 9}, "Give a floor"),
        ({"floor": 1, "ceiling": 2**63}, "Give a ceiling"),
        ({"floor": 9, "ceiling": 9}, "ceiling must be above"),
        ({"floor": 1, "ceiling": 9, "pace": 3}, "no pace"),
    ],
)
def test_what_is_no_steered_throttle_is_refused(throttle: dict[str, Any], why: str) -> None:
    with pytest.raises(Invalid, match=why):
        Reassignment().checked({"assignments": MOVES, "throttle": throttle})


def test_a_form_takes_a_floor_and_a_ceiling() -> None:
    assert parse_throttle("5 MiB  to 50 MiB/s") == {"floor": 5 * 2**20, "ceiling": 50 * 2**20}
    assert parse_throttle("10 MiB") == 10 * 2**20
    assert parse_throttle("") is None
    with pytest.raises(Invalid, match="Give both the floor and the ceiling"):
        parse_throttle(" to 5 MiB")
