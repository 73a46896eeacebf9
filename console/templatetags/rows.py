"""What pages make of the values they are given: rows turned round, filtered, named, or as JSON."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

from django import template
from django.utils.html import format_html_join
from django.utils.safestring import SafeString, mark_safe

from broker_core.contract.jobs import Job, Progress
from broker_core.contract.live import Broker
from broker_core.contract.partitions import Partition, Replica
from console.differences import Line, differences
from console.hosting import behind
from console.rules import job_silence
from console.rules import words as say
from console.rules.partitions import partition_sentence
from console.snapshot.encoding import encode
from console.snapshot.keys import SAFE
from console.templatetags.times import moment_of

register = template.Library()
NO_MARKUP = {ord(letter): f"\\u{ord(letter):04x}" for letter in "<>&"}


@register.filter
def as_json(value: Any) -> SafeString:
    """JSON for the inside of a `<script type="application/json">`: no markup in a value can end it."""
    return mark_safe(encode(value).translate(NO_MARKUP))


@register.filter
def in_words(partition: Partition) -> str:
    """Why it is not safe, and what can be done."""
    return partition_sentence(partition)


@register.filter
def replica_words(partition: Partition) -> str:
    """For who does not see the shapes: `broker 1 leads, broker 2 in sync, broker 3 out of the ISR`."""
    return ", ".join(f"broker {one.broker_id} {_role(one)}" for one in partition.replicas)


def _role(replica: Replica) -> str:
    return "leads" if replica.is_leader else "in sync" if replica.in_isr else "out of the ISR"


@register.filter
def preference(partition: Partition) -> str:
    """Beside the leader: whether it is the one that the assignment prefers."""
    if partition.leader is None or partition.preferred_leader is None:
        return ""
    return "preferred" if partition.leader == partition.preferred_leader else f"{partition.preferred_leader} is preferred"


@register.filter
def is_in(value: Any, some: Collection[Any]) -> bool:
    return value in some


@register.filter
def star_of(name: str, kind: str) -> str:
    """What a star's button sends."""
    return json.dumps({"kind": kind, "name": name})


@register.filter
def as_text(value: Any) -> str:
    """JSON for people to read; escaped by the template like any text."""
    return json.dumps(value, indent=2, ensure_ascii=False, default=str)


@register.filter
def changes(entry: Any) -> tuple[list[Line], int]:
    """What an audit row changed, and how many lines more."""
    return differences(entry.before, entry.after)


@register.filter
def words_of(value: Any) -> str:
    """`preferred_leader_election` as `preferred leader election`."""
    return str(value).replace("_", " ")


@register.filter
def share(progress: Progress) -> int:
    """How much of a job is done, in percent."""
    return round(100 * min(progress.done / progress.total, 1)) if progress.total else 0


@register.filter
def unit(progress: Progress) -> str:
    """What a job's progress is counted in, as it stands behind the total."""
    return progress.unit.removesuffix("s") if progress.total == 1 else progress.unit


@register.filter
def breakable(text: str) -> SafeString:
    """A list with commas that may be broken after each."""
    return format_html_join(mark_safe(",<wbr>"), "{}", ((part,) for part in text.split(",")))


@register.filter
def any_chosen(settings: Sequence[Mapping[str, Any]]) -> bool:
    return any(setting["chosen"] for setting in settings)


@register.filter
def by_request(brokers: Sequence[Broker]) -> list[dict[str, Any]]:
    """Request rates turned round: a row a kind of request with a cell a broker, the busiest first; `busy` from one each second on."""
    names = {name for broker in brokers for name in broker.requests}
    rows = []
    for name in names:
        cells = [{"broker_id": broker.broker_id, "request": broker.requests.get(name)} for broker in brokers]
        per_s = sum(found.per_s or 0 for broker in brokers if (found := broker.requests.get(name)))
        rows.append({"name": name, "cells": cells, "per_s": per_s, "busy": per_s >= 1})
    return sorted(rows, key=lambda row: (-row["per_s"], row["name"]))


@register.filter
def as_key(name: Any) -> str:
    """A group's id as the keys of the live feed have it."""
    return quote(str(name), safe=SAFE)


@register.filter
def behind_of(row: Partition, own: Replica | None) -> str:
    found = behind(row, own)
    return "–" if found is None else say.whole(found)


@register.filter
def api_words(name: str) -> str:
    return "State feed (this console)" if name.startswith("Vendor") else name


@register.filter
def silence(job: Job) -> str:
    return job_silence.silence(job, datetime.now(UTC))


@register.filter
def pace(job: Job) -> dict[str, float | None]:
    """`{per_s, left_s}` of a running job, from what is done since its start; nothing of jobs that count in a few steps."""
    began, progress = moment_of(job.started_at), job.progress
    if job.state != "running" or began is None or progress.unit == "partitions" or not progress.done:
        return {"per_s": None, "left_s": None}
    per_s = progress.done / max((datetime.now(UTC) - began).total_seconds(), 0.001)
    return {"per_s": per_s, "left_s": max(progress.total - progress.done, 0) / per_s}
