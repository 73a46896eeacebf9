"""Replicas are moved through REST, with data and with faults: a worker killed, a broker killed, a change of mind."""

from __future__ import annotations

from typing import Any

import pytest
from confluent_kafka.admin import AdminClient, ConfigResource

from tests.support.clients import produce, read_all
from tests.support.cluster import eventually
from tests.support.console_system import ConsoleSystem
from tests.support.rest import Rest
from tests.system.conftest import MakeTopic

RECORDS = 4_000
RECORD_BYTES = 1_000
UNENDING_BYTES = 10_000
"""Of each record of a move that shall not end: whatever the rate, a MiB of each partition comes whenever the window of the rate has
passed (11 s), so these take some two minutes."""
SECONDS = 60.0
TRIES = 3


def assignments(topic: str, partitions: int, replicas: list[int]) -> list[dict[str, Any]]:
    return [{"topic": topic, "partition": p, "replicas": replicas} for p in range(partitions)]


def assigned(rest: Rest, topic: str) -> list[list[int]]:
    return [p["assignment"] for p in rest.partitions(topic)]


def filled(system: ConsoleSystem, make_topic: MakeTopic, replicas: list[list[int]], record_bytes: int = RECORD_BYTES) -> str:
    topic = make_topic("moved", replicas)
    produce(system, topic, [b"r" * record_bytes] * RECORDS, **{"sticky.partitioning.linger.ms": 0})
    return topic


@pytest.fixture
def places(bystander: int) -> tuple[list[int], list[int]]:
    """Where a topic lies, and where it shall lie: the bystander comes in."""
    first, second = (b for b in (1, 2, 3) if b != bystander)
    return [first, second], [first, bystander]


@pytest.fixture
def stuck(system: ConsoleSystem, rest: Rest, make_topic: MakeTopic, places: tuple[list[int], list[int]], bystander: int) -> Any:
    """A running job whose moves cannot end: the broker that shall take them is paused.

    It stays registered for 6 s more; on a busy machine the worker may come too late for that, so this is tried again.
    """
    topic = filled(system, make_topic, [places[0]] * 3)
    for _ in range(TRIES):
        system.pause(bystander)
        job = rest.start("reassignment", assignments=assignments(topic, 3, places[1]))
        eventually(lambda job=job: under_way(rest, topic) or rest.job(job)["state"] == "failed", SECONDS, "a move under way")
        if under_way(rest, topic):
            return topic, job
        system.resume(bystander)
        eventually(lambda: rest.live()["brokers_online"] == 3, SECONDS, "all brokers")
    raise AssertionError(rest.job(job))


def under_way(rest: Rest, topic: str) -> bool:
    return all(p["reassigning"] for p in rest.partitions(topic))


def test_data_moves_and_progress_is_seen(
    system: ConsoleSystem, rest: Rest, stuck: tuple[str, Any], places: tuple[list[int], list[int]], bystander: int
) -> None:
    topic, job = stuck
    rest.until(job, SECONDS, "running")
    seen: list[tuple[int, int]] = []

    def over() -> bool:
        found = rest.job(job)
        if found["progress"]["unit"] == "records":
            seen.append((found["progress"]["done"], found["progress"]["total"]))
        return found["state"] not in ("queued", "running")

    eventually(lambda: "moving" in rest.job(job)["message"], SECONDS, "a message about moves")
    system.resume(bystander)
    eventually(over, SECONDS, "the end of the job")
    found = rest.job(job)
    assert (found["state"], found["result"]) == ("succeeded", {"partitions": 3, "moved": 3}), found
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert found["progress"]["done"] == found["progress"]["total"]
    eventually(lambda: assigned(rest, topic) == [places[1]] * 3, SECONDS, "the new assignment")
    assert len(read_all(system, topic, RECORDS, 3)) == RECORDS


def test_the_same_partition_twice_is_a_clash(rest: Rest, stuck: tuple[str, Any], places: tuple[list[int], list[int]]) -> None:
    topic, job = stuck
    answer = rest.ask("POST", "/api/v1/jobs", {"kind": "reassignment", "assignments": assignments(topic, 1, places[0])})
    assert (answer.status, answer.kind) == (409, "application/problem+json")
    assert f"{topic}-0 is being moved by job {job['id']}" in answer.body["detail"]
    assert rest.ask("DELETE", f"/api/v1/jobs/{job['id']}").status == 202
    assert rest.until(job, SECONDS)["state"] == "cancelled"


def test_a_change_of_mind_restores_the_assignment(
    system: ConsoleSystem, rest: Rest, stuck: tuple[str, Any], places: tuple[list[int], list[int]], bystander: int
) -> None:
    topic, job = stuck
    answer = rest.ask("DELETE", f"/api/v1/jobs/{job['id']}")
    assert (answer.status, answer.body["state"]) == (202, "cancelling")
    found = rest.until(job, SECONDS)
    assert (found["state"], found["result"]) == ("cancelled", {"partitions": 3, "moved": 0})
    eventually(lambda: assigned(rest, topic) == [places[0]] * 3, SECONDS, "the old assignment")
    system.resume(bystander)
    eventually(lambda: not any(p["reassigning"] for p in rest.partitions(topic)), SECONDS, "no move under way")
    assert [sorted(p["isr"]) for p in rest.partitions(topic)] == [sorted(places[0])] * 3
    assert len(read_all(system, topic, RECORDS, 3)) == RECORDS


def test_a_killed_worker_and_a_killed_broker_only_delay_it(
    system: ConsoleSystem, rest: Rest, stuck: tuple[str, Any], places: tuple[list[int], list[int]], bystander: int
) -> None:
    topic, job = stuck
    rest.until(job, SECONDS, "running")
    system.kill_program("worker")
    system.kill(bystander)
    eventually(lambda: rest.live()["brokers_online"] == 2, SECONDS, "a broker fewer")
    assert rest.job(job)["state"] == "running"
    system.start_program("worker")
    system.start(bystander)
    found = rest.until(job, 180)
    assert (found["state"], found["result"]) == ("succeeded", {"partitions": 3, "moved": 3}), found
    eventually(lambda: assigned(rest, topic) == [places[1]] * 3, SECONDS, "the new assignment")
    assert len(read_all(system, topic, RECORDS, 3)) == RECORDS


SLOW, QUICK = 20_000, 50_000_000
RATES = ("leader.replication.throttled.rate", "follower.replication.throttled.rate")
LISTS = ("leader.replication.throttled.replicas", "follower.replication.throttled.replicas")


def throttles(system: ConsoleSystem, topic: str) -> dict[str, str]:
    """What of a throttle is set on brokers and the topic, by any client's eyes: a broker tells what it has heard of its settings."""
    admin = AdminClient({"bootstrap.servers": system.bootstrap_servers})
    asked = {ConfigResource(ConfigResource.Type.BROKER, str(broker)): RATES for broker in (1, 2, 3)}
    asked[ConfigResource(ConfigResource.Type.TOPIC, topic)] = LISTS
    found = {}
    for resource, keys in asked.items():
        entries = admin.describe_configs([resource])[resource].result(30)
        found |= {f"{resource.name}: {key}": entries[key].value for key in keys if key in entries and not entries[key].is_default}
    return found


def test_a_throttle_holds_while_records_are_copied_and_a_cancel_takes_it_away(
    system: ConsoleSystem, rest: Rest, make_topic: MakeTopic, places: tuple[list[int], list[int]], bystander: int
) -> None:
    topic = filled(system, make_topic, [places[0]] * 3, UNENDING_BYTES)
    job = rest.start("reassignment", assignments=assignments(topic, 3, places[1]), throttle=SLOW)
    eventually(lambda: under_way(rest, topic), SECONDS, "a move under way")
    senders = ",".join(f"{p}:{b}" for p in range(3) for b in places[0])
    expected = {f"{b}: {key}": str(SLOW) for b in (1, 2, 3) for key in RATES}
    expected |= {f"{topic}: {LISTS[0]}": senders, f"{topic}: {LISTS[1]}": ",".join(f"{p}:{bystander}" for p in range(3))}
    eventually(lambda: throttles(system, topic) == expected, what="the throttle")
    system.kill_program("worker")
    system.start_program("worker")
    rest.until(job, SECONDS, "running")
    eventually(lambda: throttles(system, topic) == expected, what="the throttle")
    assert rest.ask("DELETE", f"/api/v1/jobs/{job['id']}").status == 202
    assert rest.until(job, SECONDS)["state"] == "cancelled"
    eventually(lambda: throttles(system, topic) == {}, what="no throttle any more")
    eventually(lambda: not any(p["reassigning"] for p in rest.partitions(topic)), SECONDS, "no move under way")
    assert len(read_all(system, topic, RECORDS, 3)) == RECORDS


def test_a_throttle_is_gone_when_the_move_is_done(
    system: ConsoleSystem, rest: Rest, make_topic: MakeTopic, places: tuple[list[int], list[int]]
) -> None:
    topic = filled(system, make_topic, [places[0]] * 3)
    found = rest.until(rest.start("reassignment", assignments=assignments(topic, 3, places[1]), throttle=QUICK), SECONDS)
    assert (found["state"], found["result"]) == ("succeeded", {"partitions": 3, "moved": 3}), found
    eventually(lambda: throttles(system, topic) == {}, what="no throttle any more")
    assert len(read_all(system, topic, RECORDS, 3)) == RECORDS


@pytest.mark.parametrize(
    ("topic", "replicas", "field", "words"),
    [
        ("nothing", [1, 2], "assignments.0.topic", "There is no topic nothing."),
        (None, [1, 9], "assignments.0.replicas", "broker 9 is not online"),
    ],
)
def test_what_cannot_be_moved_is_said_at_once(
    rest: Rest, make_topic: MakeTopic, topic: str | None, replicas: list[int], field: str, words: str
) -> None:
    moves = assignments(topic or make_topic("stays", [[1, 2]]), 1, replicas)
    answer = rest.ask("POST", "/api/v1/jobs", {"kind": "reassignment", "assignments": moves})
    assert (answer.status, answer.body["field"]) == (422, field)
    assert words in answer.body["detail"]
