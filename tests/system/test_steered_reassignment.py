"""A steered reassignment in each of whose steps somebody is killed, after the step's effect and before its outcome is written: its worker
(another one brings it to its end), or what it works with. Nothing of it is left, and no move is undone or done twice."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from broker_core.cli import system as programs
from broker_core.local.services import redis_process, start_redis
from tests.support.clients import read_all
from tests.support.cluster import eventually
from tests.support.console_system import ConsoleSystem
from tests.support.rest import LOCAL, Rest
from tests.system.conftest import MakeTopic
from tests.system.test_reassignment import (
    QUICK,
    RECORDS,
    SECONDS,
    SLOW,
    UNENDING_BYTES,
    assigned,
    assignments,
    filled,
    throttles,
    under_way,
)

STEPS = ("start", "throttle", "submit", "watch", "release")
MOVED = {"partitions": 3, "moved": 3}


@pytest.fixture(autouse=True)
def no_worker(system: ConsoleSystem, rest: Rest) -> None:
    """These tests bring workers of their own; the system's runs again after each."""
    system.kill_program("worker")


def work(system: ConsoleSystem, job: dict[str, Any], dies_in: str = "") -> int:
    """A worker's exit status."""
    command = [sys.executable, "-m", "tests.support.dying_worker", str(job["id"]), *filter(None, [dies_in])]
    return subprocess.run(command, cwd=programs.ROOT, env=programs.environment(system.layout), timeout=SECONDS, check=False).returncode


@pytest.fixture
def places(bystander: int) -> tuple[list[int], list[int]]:
    first, second = (b for b in (1, 2, 3) if b != bystander)
    return [first, second], [first, bystander]


def nothing_is_left(system: ConsoleSystem, rest: Rest, topic: str, replicas: list[int]) -> None:
    eventually(lambda: throttles(system, topic) == {}, what="no throttle any more")
    eventually(lambda: assigned(rest, topic) == [replicas] * 3, SECONDS, "the assignment")
    assert not any(p["reassigning"] for p in rest.partitions(topic))
    eventually(lambda: all(sorted(p["isr"]) == sorted(replicas) for p in rest.partitions(topic)), SECONDS, "the ISR")
    assert len(read_all(system, topic, RECORDS, 3)) == RECORDS


@pytest.mark.parametrize("dies_in", STEPS)
def test_it_is_brought_to_its_end(
    system: ConsoleSystem, rest: Rest, make_topic: MakeTopic, places: tuple[list[int], list[int]], dies_in: str
) -> None:
    topic = filled(system, make_topic, [places[0]] * 3)
    job = rest.start("reassignment", assignments=assignments(topic, 3, places[1]), throttle={"floor": QUICK, "ceiling": 2 * QUICK})
    assert work(system, job, dies_in) == -signal.SIGKILL
    assert rest.job(job)["state"] in ("queued", "running")
    assert work(system, job) == 0
    found = rest.job(job)
    assert (found["state"], found["result"]) == ("succeeded", MOVED), found
    nothing_is_left(system, rest, topic, places[1])


@pytest.mark.parametrize("dies_in", [("submit", ""), ("watch", ""), ("watch", "cancel"), ("watch", "release")])
def test_it_is_taken_back(
    system: ConsoleSystem, rest: Rest, make_topic: MakeTopic, places: tuple[list[int], list[int]], dies_in: tuple[str, str]
) -> None:
    """The first dies with moves under way that do not end at this rate; the second, where it does, in undoing them."""
    topic = filled(system, make_topic, [places[0]] * 3, UNENDING_BYTES)
    job = rest.start("reassignment", assignments=assignments(topic, 3, places[1]), throttle={"floor": SLOW, "ceiling": SLOW + 1_000})
    assert work(system, job, dies_in[0]) == -signal.SIGKILL
    eventually(lambda: under_way(rest, topic), SECONDS, "moves under way")
    assert throttles(system, topic) != {}
    assert rest.ask("DELETE", f"/api/v1/jobs/{job['id']}").status == 202
    if dies_in[1]:
        assert work(system, job, dies_in[1]) == -signal.SIGKILL
    assert work(system, job) == 0
    found = rest.job(job)
    assert (found["state"], found["result"]) == ("cancelled", {"partitions": 3, "moved": 0}), found
    nothing_is_left(system, rest, topic, places[0])


Fault = tuple[Callable[[], None], Callable[[], None]]
"""What kills, and what starts again."""


def of_programs(system: ConsoleSystem, *names: str) -> Fault:
    def each(what: Callable[[str], None]) -> None:
        for name in names:
            what(name)

    return partial(each, system.kill_program), partial(each, system.start_program)


def of_the_controller(system: ConsoleSystem, rest: Rest) -> Fault:
    """Whoever that is then: the console may still have the one that was killed last, which runs again."""
    killed: list[int] = []

    def kill() -> None:
        killed.append(rest.live()["controller_id"])
        system.kill(killed[-1])

    return kill, lambda: system.start(killed[-1])


def fault(dies: str, system: ConsoleSystem, rest: Rest, bystander: int) -> Fault:
    if dies == "redis":
        return redis_process(system.layout).kill, partial(start_redis, system.layout)
    if dies == "the broker that copies":
        return partial(system.kill, bystander), partial(system.start, bystander)
    return of_the_controller(system, rest) if dies == "the controller" else of_programs(system, "console", "live")


@pytest.mark.parametrize("dies", ["console", "redis", "the broker that copies", "the controller"])
def test_whoever_dies_in_every_step_it_comes_to_its_end(
    system: ConsoleSystem, rest: Rest, make_topic: MakeTopic, places: tuple[list[int], list[int]], bystander: int, dies: str
) -> None:
    """Killed between a step's effect and its outcome's being written, and started again while the next step runs."""
    topic = filled(system, make_topic, [places[0]] * 3)
    kill, revive = fault(dies, system, rest, bystander)
    job = rest.start("reassignment", assignments=assignments(topic, 3, places[1]), throttle={"floor": QUICK, "ceiling": 2 * QUICK})
    command = [sys.executable, "-m", "tests.support.dying_worker", str(job["id"]), "each"]
    steps = []
    with subprocess.Popen(
        command, cwd=programs.ROOT, env=programs.environment(system.layout), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as worker:
        assert worker.stdin and worker.stdout
        for line in worker.stdout:
            steps.append(line.strip())
            kill()
            print(file=worker.stdin, flush=True)
            revive()
    assert (worker.returncode, steps) == (0, list(STEPS))
    programs.wait_console(system.layout)
    eventually(lambda: rest.ask("GET", f"{LOCAL}/topics/{topic}").status == 200, SECONDS, "the console knows the cluster again")
    found = rest.job(job)
    assert (found["state"], found["result"]) == ("succeeded", MOVED), found
    nothing_is_left(system, rest, topic, places[1])
