"""Foretold, looked at, killed, waited for, graded, started again where that was asked for.

`start` keeps the forecast, `look` how each partition was just before, and only then comes `kill`: a worker that dies in it is followed
by one that finds the broker down and goes on, with what was kept. `wait` ends when two looks in a row found the same, with nobody led by
the broker; `start_again` is repeated until the process runs.
"""

from __future__ import annotations

import base64
import zlib
from typing import Any

import msgspec
from celery.exceptions import SoftTimeLimitExceeded
from django.utils import timezone

from console import hosting
from console.gateway import local
from console.gateway.connection import connection_of
from console.gateway.errors import GatewayError
from console.gateway.kafka_cluster import KafkaCluster
from console.models import Job
from console.rules.forecast.fates import Fate
from console.rules.forecast.grading import Around, Grade, Seen, grade, verdict, worst_first
from console.rules.words import counted, whole
from console.snapshot.read import Snapshot
from workers.kinds.step import Step

PATIENCE_S = 90
"""A session ends sooner; what is found then is graded, settled or not."""
START_PATIENCE_S = 180
FRESH_S = 30
"""So old a forecast may be when the broker is killed."""
SHOWN = 200
"""Partitions that the result names, those that came out otherwise first."""
RUNS = ("running", "starting", "paused")
Found = dict[str, Seen]


def advance(job: Job) -> Step:
    return _STEPS[job.step](job)


def cancel(job: Job) -> Step:
    broker = job.params["broker"]
    runs = local.processes().get(broker) in RUNS
    said = f"Cancelled. Broker {broker} {'runs' if runs else 'is down: start it on the page of the brokers'}."
    return Step("end", {}, job.done, job.total, message=said, said=said, state=Job.CANCELLED, result=job.plan.get("graded"))


def failing(job: Job, step: Step) -> Step:
    """What became of the broker is said beside why the job failed."""
    broker = job.params["broker"]
    state = local.processes().get(broker)
    said = f"{step.message} {f'Broker {broker} is {state}.' if state else ''}".strip()
    return Step("end", {}, job.done, job.total, message=said, said=said[:300], state=Job.FAILED, result=job.plan.get("graded"))


def _foretell(job: Job) -> Step:
    broker_id, snapshot = job.params["broker"], Snapshot(job.cluster_id)
    broker = snapshot.broker(broker_id)
    if broker is None or local.processes().get(broker_id) != "running":
        return _refused(job, f"Broker {broker_id} does not run on this machine: nothing was done.")
    if snapshot.as_of().stale:
        return _refused(job, "What is known of the cluster is old, so nothing can be foretold: nothing was done.")
    found = hosting.if_stopped(snapshot, broker)
    ran = sorted(one.broker_id for one in snapshot.brokers() if one.state == "online" and one.broker_id != broker_id)
    said = f"Foretold: {found.told.sentence}"
    plan = {"at": _now(), "fates": _packed(found.fates), "ran": ran, "hosted": found.told.counts.hosted}
    return Step("look", plan, 0, len(found.fates), message=said, said=said, again=True)


def _look(job: Job) -> Step:
    found = _seen(job)
    return Step("kill", {**job.plan, "at_kill": _packed(found)}, 0, job.total, message="How it was just before is kept.", again=True)


def _kill(job: Job) -> Step:
    """Not tried again later: what is killed is what was just foretold."""
    broker = job.params["broker"]
    if local.processes().get(broker) != "stopped":
        if _now() - job.plan["at"] > FRESH_S:
            return Step("start", message="The forecast has grown old before the kill: it is made anew.", again=True)
        try:
            local.act("kill", broker)
        except GatewayError as error:
            return failing(job, Step("end", message=f"Broker {broker} could not be killed: {error}"))
    said = f"Broker {broker} is killed."
    return Step("wait", {**job.plan, "since": _now()}, 0, job.total, message=said, said=said)


def _wait(job: Job) -> Step:
    """Who is registered is asked first: what is found afterwards is not older than that."""
    broker, plan = job.params["broker"], job.plan
    registered = KafkaCluster(connection_of(job.cluster)).brokers()
    found = _seen(job)
    text, is_over = _packed(found), _now() - plan["since"] >= PATIENCE_S
    is_led = sum(seen.leader == broker for seen in found.values())
    is_settled = broker not in registered and not is_led and plan.get("found") == text
    if not is_settled and not is_over:
        words = f"{counted(is_led, 'partition')} still {'names' if is_led == 1 else 'name'} broker {broker} as leader." if is_led else ""
        plan = {**plan, "found": text}
        return Step("wait", plan, job.total - is_led, job.total, message=f"Waiting until the controller is done. {words}".strip())
    grades = _graded(job, found, frozenset(registered - {broker}))
    return _told(job, grades, is_settled=is_settled)


def _graded(job: Job, found: Found, runs: frozenset[int]) -> list[Grade]:
    fates = _unpacked(job.plan["fates"], tuple[Fate, ...])
    before = _unpacked(job.plan["at_kill"], Found)
    around = Around(job.params["broker"], frozenset(job.plan["ran"]), runs)
    return worst_first([grade(fate, before.get(fate.name), found.get(fate.name), around) for fate in fates])


def _told(job: Job, grades: list[Grade], *, is_settled: bool) -> Step:
    broker, looked_at = job.params["broker"], len(grades)
    level, said = verdict(broker, grades)
    if job.plan["hosted"] > looked_at:
        said += f" Only {whole(looked_at)} of {counted(job.plan['hosted'], 'partition')} were foretold."
    if not is_settled:
        said += f" After {PATIENCE_S} s the cluster was not settled yet."
    counts = {came: sum(one.came == came for one in grades) for came in ("right", "wrong", "changed", "unknown")}
    result = {"level": level, "sentence": said, **counts, "partitions": msgspec.to_builtins(grades[:SHOWN])}
    if job.params["start_again"]:
        plan = {"graded": result, "since": _now()}
        return Step("start_again", plan, looked_at, looked_at, message=f"{said} Broker {broker} is started again.", said=said, again=True)
    message = f"{said} Broker {broker} is down."
    return Step("end", {}, looked_at, looked_at, message=message, said=message, state=Job.SUCCEEDED, result=result)


def _start(job: Job) -> Step:
    broker, result = job.params["broker"], job.plan["graded"]
    why = _start_or_why(broker)
    state = local.processes().get(broker)
    if state == "running":
        message = f"{result['sentence']} Broker {broker} runs again."
        said = f"Broker {broker} runs again."
        return Step("end", {}, job.done, job.total, message=message, said=said, state=Job.SUCCEEDED, result=result)
    if _now() - job.plan["since"] < START_PATIENCE_S:
        return Step(
            "start_again", job.plan, job.done, job.total, message=f"{result['sentence']} Broker {broker} is starting. {why}".strip()
        )
    message = f"{result['sentence']} Broker {broker} did not start within {START_PATIENCE_S} s and is {state or 'not known'}. {why}".strip()
    return Step("end", {}, job.done, job.total, message=message, said=message[:300], state=Job.FAILED, result=result)


def _start_or_why(broker: int) -> str:
    """Waits until it serves, as long as a step may last: then a later one looks."""
    if local.processes().get(broker) != "stopped":
        return ""
    try:
        local.act("start", broker)
    except SoftTimeLimitExceeded:
        return ""
    except GatewayError as error:
        return str(error)
    return ""


def _seen(job: Job) -> Found:
    """The forecast's topics, as the cluster has them now; those that are gone are left out."""
    names = sorted({fate.topic for fate in _unpacked(job.plan["fates"], tuple[Fate, ...])})
    topics = KafkaCluster(connection_of(job.cluster)).topics(names) if names else []
    return {
        f"{topic['name']}-{row['partition_index']}": Seen(
            row["leader_id"] if row["leader_id"] >= 0 else None,
            tuple(sorted(row["isr_nodes"])),
            tuple(row["replica_nodes"]),
            row.get("leader_epoch"),
        )
        for topic in topics
        for row in topic["partitions"]
    }


def _refused(job: Job, said: str) -> Step:
    return Step("end", {}, message=said, said=said, state=Job.FAILED)


def _packed(value: Any) -> str:
    return base64.b64encode(zlib.compress(msgspec.json.encode(value))).decode()


def _unpacked(text: str, kind: Any) -> Any:
    return msgspec.json.decode(zlib.decompress(base64.b64decode(text)), type=kind)


def _now() -> float:
    return timezone.now().timestamp()


_STEPS = {"start": _foretell, "look": _look, "kill": _kill, "wait": _wait, "start_again": _start}
