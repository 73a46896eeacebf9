"""Moving replicas: check, ask the controller for some, watch until each is over, ask for more as there is room, and undo what is under way
when cancelled.

A row of the plan is {topic, partition, from, to, state: waiting | moving | done | failed | cancelled, done, total (records), message,
bytes, bytes_total, by_size (whether the copies' own sizes are known, else `bytes` is by the share of records), pace (`rules/copy_pace`)}.
Steps: start → submit → watch, and cancel → cancelled; with a throttle start → throttle → submit → watch and, however it ends, release,
with the plan's `outcome` = {state, message, said, result} for the end. Asking twice for the same changes nothing: any step may be repeated.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from django.utils import timezone

from broker_core.contract.partitions import Partition
from console.clock import now_ms
from console.gateway.connection import connection_of
from console.gateway.kafka_cluster import KafkaCluster
from console.jobs.reassignment import slowest
from console.models import Job
from console.rules.copy_pace import noted
from console.rules.move_window import next_moves, room
from console.rules.moves import copied, progress, settle
from console.rules.partitions import brokers
from console.rules.throttle import RATES
from console.rules.words import counted, size, whole
from console.snapshot.placed import Place
from console.snapshot.read import Snapshot, SnapshotUnavailable
from workers.kinds import steering, throttle
from workers.kinds.step import Step

NONE_UNDER_WAY = "(85)"
RELEASE = "release"
RELEASE_PATIENCE_S = 600
"""So long the end waits for brokers that are down, to take their rates away."""
Row = dict[str, Any]
TopicPartition = tuple[str, int]


def advance(job: Job) -> Step:
    kafka = KafkaCluster(connection_of(job.cluster))
    steps = {"start": _check, "throttle": _throttle, "submit": _submit, "watch": _watch, RELEASE: _release}
    return steps[job.step](job, kafka)


def _check(job: Job, kafka: KafkaCluster) -> Step:
    """Every named partition and broker is there, and nobody else moves it; nothing is changed yet."""
    wanted = job.params["assignments"]
    found = _replicas(kafka, sorted({a["topic"] for a in wanted}))
    moves = kafka.reassignments()
    online = kafka.brokers()
    for a in wanted:
        name = f"{a['topic']}-{a['partition']}"
        if (a["topic"], a["partition"]) not in found:
            return _refused(f"There is no partition {name}.")
        if gone := sorted(set(a["replicas"]) - online):
            return _refused(f"{name} cannot move to broker {gone[0]}: it is not online.")
    rows = [
        {
            **{k: a[k] for k in ("topic", "partition")},
            "from": _before(found[(a["topic"], a["partition"])], moves.get((a["topic"], a["partition"]))),
            "to": a["replicas"],
            "state": "waiting",
            "message": "",
        }
        for a in wanted
    ]
    same = sum(row["from"] == row["to"] for row in rows)
    begun = sum(_tp(row) in moves and _leads_to(moves[_tp(row)], row) for row in rows)
    counts = ((same, "is where it should be", "are where they should be"), (begun, "is on its way already", "are on their way already"))
    more = "".join(f", {whole(count)} of them {one if count == 1 else many}" for count, one, many in counts if count)
    said = f"{counted(len(rows), 'partition')} to move{more}."
    plan: dict[str, Any] = {"detail": rows}
    _size(job.cluster_id, rows)
    if limits := job.params.get("throttle"):
        set_ = throttle.plan(kafka, rows, slowest(limits), online)
        steered = set_ is not None and isinstance(limits, dict)
        plan["throttle"] = steering.begin(job.cluster_id, set_, limits, set(map(_tp, rows))) if set_ and steered else set_
    step = "throttle" if plan.get("throttle") else "submit"
    return Step(step, plan, 0, len(rows), message=said, said=said, again=True)


def _throttle(job: Job, kafka: KafkaCluster) -> Step:
    throttle.put(kafka, job.plan["throttle"])
    set_ = job.plan["throttle"]
    said = set_["steering"]["why"] if "steering" in set_ else f"Copying is held to {size(set_['rate'])}/s on each broker."
    return Step("submit", job.plan, 0, job.total, message=said, said=said, again=True)


def _release(job: Job, kafka: KafkaCluster) -> Step:
    """Takes the throttle away, then ends as it would have ended without one."""
    away, outcome = throttle.take_away(kafka, job.plan["throttle"]), job.plan["outcome"]
    waited_s = timezone.now().timestamp() - outcome["at_s"]
    if away and waited_s < RELEASE_PATIENCE_S:
        message = f"{outcome['message']} Waiting for {brokers(away)}, to take the rate of the throttle away there."
        return Step(RELEASE, job.plan, job.done, job.total, job.unit, message)
    left = f" {', '.join(RATES)} of {brokers(away)} stay set, without effect: delete them once the broker is back." if away else ""
    said = outcome["said"] + (left or " The throttle is taken away.")
    end = outcome["message"] + left
    return Step("end", job.plan, job.done, job.total, job.unit, end, said, outcome["state"], outcome["result"])


def _released(job: Job, step: Step) -> Step:
    """The end, or first the release where a throttle may be set."""
    if not job.plan.get("throttle") or job.step == RELEASE:
        return step
    outcome = {"state": step.state, "message": step.message, "said": step.said, "result": step.result, "at_s": timezone.now().timestamp()}
    plan = {**job.plan, **step.plan, "outcome": outcome}
    return Step(RELEASE, plan, step.done, step.total, step.unit, "Taking the throttle away.", again=True)


def failing(job: Job, step: Step) -> Step:
    """Called by the runner before it ends the job for an error; in the release that is why a throttle stays."""
    if job.step == RELEASE:
        said = f"{job.plan['outcome']['message']} The throttle may still be set, delete it by hand: {step.message}"
        return replace(step, message=said, said=said[:300])
    return _released(job, step)


def _refused(why: str) -> Step:
    return Step("end", state=Job.FAILED, message=why, said=why, result={"partitions": 0, "moved": 0})


def _replicas(kafka: KafkaCluster, topics: list[str]) -> dict[TopicPartition, list[int]]:
    return {(t["name"], p["partition_index"]): list(p["replica_nodes"]) for t in kafka.topics(topics) for p in t["partitions"]}


def _before(replicas: list[int], move: Mapping[str, Any] | None) -> list[int]:
    """What a partition has, without what a move that is under way adds to it."""
    return replicas if move is None else [broker for broker in replicas if broker not in move["adding_replicas"]]


def _tp(row: Row) -> TopicPartition:
    return row["topic"], row["partition"]


def _submit(job: Job, kafka: KafkaCluster) -> Step:
    rows = job.plan["detail"]
    if not job.paused:
        _begin(job, kafka, kafka.reassignments())
    if all(row["state"] == "failed" for row in rows):
        return _ended(job, rows, Job.FAILED)
    moving = sum(row["state"] == "moving" for row in rows)
    said = "Paused before a move began." if job.paused else f"The controller has taken {counted(moving, 'move')}."
    return Step("watch", {**job.plan, "detail": rows}, 0, len(rows), message=said, said=said)


def _begin(job: Job, kafka: KafkaCluster, moves: Mapping[TopicPartition, Mapping[str, Any]]) -> None:
    """Asks for those that have room, and takes over what a worker that died, or somebody else, has begun to the same end."""
    rows = job.plan["detail"]
    for row in rows:
        if row["state"] == "waiting" and _tp(row) in moves and _leads_to(moves[_tp(row)], row):
            row["state"] = "moving"
    ask = next_moves(rows, room(job.params.get("at_once"), (job.plan.get("throttle") or {}).get("rate")))
    for row in [row for row in ask if _tp(row) in moves]:
        row.update(state="failed", message="it is being moved to other brokers by somebody else")
    ask = [row for row in ask if row["state"] == "waiting"]
    answers = kafka.reassign({_tp(row): row["to"] for row in ask}) if ask else {}
    for row in ask:
        error = answers.get(_tp(row))
        row.update(state="failed", message=error) if error else row.update(state="moving")


def _leads_to(move: Mapping[str, Any], row: Row) -> bool:
    """Whether the move under way ends with the row's replicas, so that it is this job's."""
    return set(move["replicas"]) - set(move["removing_replicas"]) == set(row["to"])


def _watch(job: Job, kafka: KafkaCluster) -> Step:
    rows = job.plan["detail"]
    moving = [row for row in rows if row["state"] == "moving"]
    moves = kafka.reassignments()
    now = _replicas(kafka, sorted({row["topic"] for row in moving})) if moving else {}
    for row in moving:
        row.update(settle(row, _tp(row) in moves, now.get(_tp(row)), now_ms()))
    _measure(job.cluster_id, rows)
    if not job.paused and any(row["state"] == "waiting" for row in rows):
        _begin(job, kafka, moves)
    if not any(row["state"] in ("moving", "waiting") for row in rows):
        failed = any(row["state"] == "failed" for row in rows)
        return _ended(job, rows, Job.FAILED if failed else Job.SUCCEEDED)
    done, total, unit = progress(rows)
    plan, said = {**job.plan, "detail": rows, "pace": _pace(job, rows)}, ""
    if "steering" in (plan.get("throttle") or {}):
        plan["throttle"], said = steering.steer(job.cluster_id, kafka, plan["throttle"], set(map(_tp, rows)))
    return Step("watch", plan, done, total, unit, _going_on(rows, paused=job.paused), said)


def _going_on(rows: list[Row], *, paused: bool) -> str:
    moving, waiting = (sum(row["state"] == state for row in rows) for state in ("moving", "waiting"))
    said = f"{whole(moving)} of {counted(len(rows), 'partition')} {'is' if moving == 1 else 'are'} moving"
    if waiting:
        said += f", {whole(waiting)} {'waits' if waiting == 1 else 'wait'}{' as the job is paused' if paused else ' for room'}"
    return f"{said}."


def _size(cluster_id: str, rows: list[Row]) -> None:
    """How much there is to copy of each, as the live snapshot has it before the moves; unknown is left out."""
    try:
        found = _shown(cluster_id, rows)
    except SnapshotUnavailable:
        return
    for row in rows:
        value = found.get(_tp(row))
        if value and value.size_bytes is not None:
            row["bytes_total"] = value.size_bytes * len(_added(row))


def _measure(cluster_id: str, rows: list[Row]) -> None:
    """How far the new replicas have come, from the live snapshot; unknown stays as it was."""
    moving = [row for row in rows if row["state"] == "moving"]
    try:
        found = _shown(cluster_id, moving)
    except SnapshotUnavailable:
        return
    at_ms = now_ms()
    for row in moving:
        if (value := found.get(_tp(row))) is None:
            continue
        if value.log_end_offset is not None:
            row.update(_records(row, value, value.log_end_offset))
        row.update(copied(row, value))
        if "bytes" in row:
            row["pace"] = noted(row.get("pace", []), at_ms, row["bytes"])


def _shown(cluster_id: str, rows: list[Row]) -> dict[TopicPartition, Partition]:
    values = Snapshot(cluster_id).partitions_at([Place(*_tp(row)) for row in rows])
    return {(value.topic, value.partition): value for value in values}


def _pace(job: Job, rows: list[Row]) -> list[list[int]]:
    known = [row["bytes"] for row in rows if "bytes" in row]
    return noted(job.plan.get("pace", []), now_ms(), sum(known)) if known else []


def _added(row: Row) -> list[int]:
    return [b for b in row["to"] if b not in row["from"]]


def _records(row: Row, value: Partition, end: int) -> dict[str, int]:
    added = _added(row)
    ends = {r.broker_id: r.log_end_offset for r in value.replicas}
    start = value.log_start_offset or 0
    length = end - start
    return {"done": sum(min(max((ends.get(b) or start) - start, 0), length) for b in added), "total": length * len(added)}


def _ended(job: Job, rows: list[Row], state: str) -> Step:
    moved = sum(row["state"] == "done" for row in rows)
    wrong = [row for row in rows if row["state"] == "failed"]
    said = f"{whole(moved)} of {counted(len(rows), 'partition')} {'has' if moved == 1 else 'have'} moved."
    if wrong:
        said += f" {wrong[0]['topic']}-{wrong[0]['partition']}: {wrong[0]['message']}."
    done, total, unit = progress(rows)
    return _released(job, Step("end", {"detail": rows}, done, total, unit, said, said, state, {"partitions": len(rows), "moved": moved}))


def cancel(job: Job) -> Step:
    """Takes back what is under way (null replicas), then waits until the controller lists none of it.

    A row that waits may be under way: a worker may have asked for it and died before it could write that down.
    """
    if job.step == RELEASE:
        return _release(job, KafkaCluster(connection_of(job.cluster)))
    rows = job.plan.get("detail") or []
    moving = [row for row in rows if row["state"] in ("moving", "waiting")]
    if job.step in ("start", "throttle", "submit") and not moving:
        return _cancelled(job, rows)
    kafka = KafkaCluster(connection_of(job.cluster))
    moves = kafka.reassignments()
    open_moves = [row for row in moving if _tp(row) in moves and (row["state"] == "moving" or _leads_to(moves[_tp(row)], row))]
    if open_moves:
        for row in open_moves:
            row["state"] = "moving"
        answers = kafka.reassign({_tp(row): None for row in open_moves})
        wrong = [error for error in answers.values() if error and NONE_UNDER_WAY not in error]
        said = "" if job.step == "cancel" else f"Taking back {counted(len(open_moves), 'move')}."
        message = f"Taking back {counted(len(open_moves), 'move')}" + (f": {wrong[0]}" if wrong else ".")
        return Step("cancel", {**job.plan, "detail": rows}, job.done, job.total, job.unit, message, said)
    now = _replicas(kafka, sorted({row["topic"] for row in moving})) if moving else {}
    for row in moving:
        row["state"] = "done" if now.get(_tp(row)) == row["to"] and row["from"] != row["to"] else "cancelled"
    return _cancelled(job, rows)


def _cancelled(job: Job, rows: list[Row]) -> Step:
    for row in rows:
        row["state"] = "cancelled" if row["state"] == "waiting" else row["state"]
    moved = sum(row["state"] == "done" for row in rows)
    said = f"Cancelled; {whole(moved)} of {counted(len(rows) or len(job.params['assignments']), 'partition')} had moved."
    result = {"partitions": len(rows), "moved": moved}
    return _released(job, Step("end", {"detail": rows}, job.done, job.total, job.unit, said, said, Job.CANCELLED, result))
