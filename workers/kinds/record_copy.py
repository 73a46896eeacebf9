"""Copying a range of records: planned once, then piece by piece. The plan has how far each partition is; what a piece does, and what is
not written twice, says `workers/copying/chunk.py`."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import msgspec
from django.utils import timezone
from msgspec import to_builtins
from msgspec.structs import replace

from console.gateway.connection import Connection, connection_of
from console.gateway.errors import GatewayError
from console.jobs.record_copy import CopyFilter, query_of
from console.models import Job
from console.rules.records.progress import Span
from console.rules.words import counted, size, whole
from workers.copying.apart import apart
from workers.copying.chunk import GONE, Order, Told, begin, piece, told
from workers.kinds.step import Step

WITHIN_S = 11.0
"""Of a step: with the steps before it, it must end before the task's own limit."""
COUNTS = ("copied", "already_there", "bytes", "unfit")
UNIT = "offsets"
GONE_S = 10.0
"""A broker that has only just started may not know of a topic yet; one of which nobody knows for so long was deleted."""
GONE_SINCE = "gone_since"


def advance(job: Job) -> Step:
    since = job.plan.pop(GONE_SINCE, None) or _now()
    try:
        return _planned(job) if job.step == "start" else _copied(job)
    except GatewayError as error:
        if error.name != GONE:
            raise
        if _now() - since >= GONE_S:
            raise GatewayError(error.name, f"{error.message}: it was deleted while it was copied", error.code) from error
        plan = {**job.plan, GONE_SINCE: since}
        return Step(job.step, plan, job.done, job.total, job.unit, f"Waiting: {error.message}")


def _now() -> float:
    return timezone.now().timestamp()


def _order(job: Job) -> Order:
    params, plan = job.params, job.plan
    query = query_of(CopyFilter(**plan["filter"]) if plan.get("filter") else None)
    if params["from_offset"] is not None:
        query = replace(query, start="offset", offset=params["from_offset"])
    known = {name: params[name] for name in ("source", "target", "partitions", "to_offset", "keep_partition", "mark")}
    kept = {name: plan.get(name, empty) for name, empty in (("spans", []), ("target_at", {}), ("written", []))}
    return msgspec.convert({"job": job.pk, "query": to_builtins(query), **known, **kept}, Order, str_keys=True)


def _apart(job: Job, work: Callable[[Connection, Order], Told]) -> Told:
    """`GatewayError` as the piece met it."""
    order, connection = _order(job), connection_of(job.cluster)
    found = msgspec.json.decode(apart(lambda: msgspec.json.encode(told(work, connection, order)), WITHIN_S), type=Told)
    if found.error or found.error_name:
        raise GatewayError(found.error_name, found.error, found.error_code, retriable=found.retriable)
    return found


def _planned(job: Job) -> Step:
    found = _apart(job, begin)
    plan = {**job.plan, **_kept(found), **dict.fromkeys(COUNTS, 0)}
    total = sum((span.last or 0) - span.first for span in found.spans)
    if not total:
        return _ended(job, plan, found.spans, Job.SUCCEEDED)
    said = f"{counted(total, 'offset')} of {counted(len(found.spans), 'partition')} of {job.params['source']} are read."
    return Step("copy", plan, 0, total, UNIT, said, said, again=True)


def _copied(job: Job) -> Step:
    found = _apart(job, piece)
    plan = {**job.plan, **_kept(found), **{name: job.plan[name] + getattr(found, name) for name in COUNTS}}
    if all(span.is_read(False) for span in found.spans):
        return _ended(job, plan, found.spans, Job.SUCCEEDED)
    return Step("copy", plan, _read(found.spans), job.total, UNIT, _words(job, plan), again=True)


def _kept(found: Told) -> dict[str, Any]:
    """JSON has no numbers for names."""
    ends = {str(number): end for number, end in found.target_at.items()}
    return {"spans": to_builtins(found.spans), "target_at": ends, "written": [list(place) for place in found.written]}


def _read(spans: list[Span]) -> int:
    return sum(span.at - span.first for span in spans)


def _words(job: Job, plan: dict[str, Any]) -> str:
    said = f"{counted(plan['copied'], 'record')} ({size(plan['bytes'])}) copied to {job.params['target']}"
    if plan["already_there"]:
        said += f", {whole(plan['already_there'])} were there already from before a worker died"
    if plan["unfit"]:
        said += f"; {counted(plan['unfit'], 'value was', 'values were')} too large or nested too deeply to be looked into"
    return f"{said}."


def _ended(job: Job, plan: dict[str, Any], spans: list[Span], state: str) -> Step:
    result = {name: plan[name] for name in COUNTS} | {"read": sum(span.records for span in spans), "lost": sum(span.lost for span in spans)}
    said = _words(job, plan)
    if result["lost"]:
        said += f" {counted(result['lost'], 'offset was', 'offsets were')} deleted before they could be read."
    return Step("end", plan, _read(spans), job.total or _read(spans), UNIT, said, said, state, result)


def cancel(job: Job) -> Step:
    """Between two pieces: all that was sent has been acknowledged."""
    if job.step == "start":
        return Step("end", job.plan, unit=UNIT, message="Cancelled before anything was copied.", said="Cancelled.", state=Job.CANCELLED)
    spans = msgspec.convert(job.plan["spans"], list[Span])
    end = _ended(job, job.plan, spans, Job.CANCELLED)
    said = f"Cancelled. {end.message}"
    return dataclasses.replace(end, message=said, said=said)
