"""Samples, Spark's driver as a child of nobody, its rows on the page; and every way it can be interrupted.

The driver runs for about half a minute, so these tests are one run that goes on: each takes the system as the one before left it.
"""

from __future__ import annotations

import json
import os
import signal
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaException, TopicPartition

from broker_core.local.process import LocalProcess
from console.live.sampling.samples import SAMPLES_PARTITIONS, SAMPLES_TOPIC
from tests.support.clients import read_all
from tests.support.cluster import eventually
from tests.support.console_system import ConsoleSystem
from tests.support.rest import Rest, Visitor
from tests.system.conftest import MakeTopic
from workers.spark.store.layout import last_committed

RUN_S = 300.0
SECONDS = 120.0


@pytest.fixture
def driver(system: ConsoleSystem) -> LocalProcess:
    """The Spark driver of the running analysis."""
    return system.program("analytics")


def samples(system: ConsoleSystem) -> int:
    """How many there are, in the brokers' own words: the console's are empty while `live` starts. 0 where a broker does not say."""
    consumer = Consumer({"bootstrap.servers": system.bootstrap_servers, "group.id": "none"})
    try:
        found = [consumer.get_watermark_offsets(TopicPartition(SAMPLES_TOPIC, p), 5.0) for p in range(SAMPLES_PARTITIONS)]
        return sum(high for _, high in found)
    except KafkaException:
        return 0
    finally:
        consumer.close()


def sampled(system: ConsoleSystem, topic: str) -> int:
    """How many samples there are of a topic with one partition."""
    return sum(json.loads(row.value() or b"{}").get("topic") == topic for row in read_all(system, SAMPLES_TOPIC, 0, SAMPLES_PARTITIONS))


def started(rest: Rest, driver: LocalProcess) -> dict[str, Any]:
    """An analysis whose driver runs."""
    job = rest.start("analytics")
    eventually(driver.alive, SECONDS, "a driver")
    return job


def page(system: ConsoleSystem) -> str:
    return str(Visitor(system.layout.console_port, system.password).get("/analytics").body)


def nothing_new_starts_no_driver(rest: Rest, driver: LocalProcess) -> None:
    last = rest.until(rest.start("analytics"), RUN_S)
    if last["result"]["new"]:  # a sample was under way when `live` was killed
        last = rest.until(rest.start("analytics"), SECONDS)
    assert last["result"] == {"samples": 0, "new": False}
    assert "Nothing new" in last["message"]
    assert not driver.alive()


def test_the_next_worker_adopts_a_driver_and_what_it_has_read_starts_no_other(
    system: ConsoleSystem, rest: Rest, driver: LocalProcess, make_topic: MakeTopic
) -> None:
    """Two samples of a topic are wanted for its rate; then `live` rests, so that all samples are read by this run."""
    topic = make_topic("sampled", [[1, 2, 3]])
    eventually(lambda: sampled(system, topic) >= 2, SECONDS, "two samples of the topic")
    system.kill_program("live")
    job = started(rest, driver)
    pid = driver.pid()
    system.kill_program("worker")
    assert driver.pid() == pid
    system.start_program("worker")
    found = rest.until(job, RUN_S)
    assert found["state"] == "succeeded", found
    assert found["result"]["new"]
    assert found["result"]["samples"] > 0
    assert found["result"]["throughput"] > 0
    assert found["progress"]["done"] == found["progress"]["total"]
    assert "sampled-" in page(system)
    nothing_new_starts_no_driver(rest, driver)


def test_a_killed_driver_is_a_clear_failure(system: ConsoleSystem, rest: Rest, driver: LocalProcess) -> None:
    known = eventually(lambda: samples(system), SECONDS, "samples")
    eventually(lambda: samples(system) > known, SECONDS, "new samples")
    job = started(rest, driver)
    pid = driver.pid()
    assert pid
    os.kill(pid, signal.SIGKILL)
    found = rest.until(job, SECONDS)
    assert found["state"] == "failed"
    assert "The driver ended without a summary" in found["message"]
    assert not driver.alive()


def test_a_cancel_ends_the_driver(rest: Rest, driver: LocalProcess) -> None:
    job = started(rest, driver)
    eventually(lambda: rest.job(job)["state"] == "running", SECONDS, "a running job")
    clash = rest.ask("POST", "/api/v1/jobs", {"kind": "analytics"})
    assert clash.status == 409
    assert rest.ask("DELETE", f"/api/v1/jobs/{job['id']}").status == 202
    assert rest.until(job, SECONDS)["state"] == "cancelled"
    eventually(lambda: not driver.alive(), SECONDS, "the driver's end")


def mode(system: ConsoleSystem, value: str) -> None:
    admin = Visitor(system.layout.console_port, system.password)
    assert admin.post("/settings/console", **{"set:analytics.mode": value, "save": "yes"}).status == 303


def test_a_driver_that_stays_comes_back_when_it_is_killed(system: ConsoleSystem, rest: Rest, driver: LocalProcess) -> None:
    """With the worker that looks after it (that no window differs: `tests/chaos/pipeline.py`)."""
    mode(system, "continuous")
    try:
        eventually(driver.alive, SECONDS, "a driver by itself")
        pid, batch = driver.pid(), last_batch(system)
        eventually(lambda: last_batch(system) > batch, RUN_S, "samples that it has taken")
        assert "A Spark driver runs since" in page(system)
        system.kill_program("worker")
        assert pid is not None
        os.killpg(os.getpgid(pid), signal.SIGKILL)
        system.start_program("worker")
        eventually(lambda: driver.alive() and driver.pid() != pid, SECONDS, "another driver")
        found = rest.until(rest.start("analytics"), RUN_S)
        assert (found["state"], found["result"]["samples"] > 0) == ("succeeded", True), "it answers whom it is asked by"
    finally:
        mode(system, "interval")
    eventually(lambda: not driver.alive(), SECONDS, "the driver's end")


def last_batch(system: ConsoleSystem) -> int:
    return last_committed(system.layout.folder("console") / "analytics" / "store" / "checkpoint")
