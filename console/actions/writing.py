"""Writing records to a topic, with a row in the audit that tells how many and how large, not what."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from console.actions.audit import audited
from console.errors import Invalid, Risky
from console.gateway.connection import connection_of
from console.gateway.record_writer import Written, write
from console.models import Cluster
from console.queries import topic_or_fail
from console.roles import OPERATOR, Actor
from console.rules.records.writing import NewRecord, WrongRecord, raw_of
from console.rules.words import counted
from console.snapshot.read import Snapshot


def write_records(actor: Actor, cluster: Cluster, topic: str, records: Sequence[NewRecord], *, confirm: bool = False) -> list[Written]:
    """One answer a record. An internal topic wants `confirm`: without it `Risky`."""
    with audited(actor, OPERATOR, "write records", topic, cluster=cluster) as entry:
        known = topic_or_fail(Snapshot(cluster.pk), topic)
        try:
            raw = raw_of(records, known.partitions)
        except WrongRecord as error:
            raise Invalid(error.field, str(error)) from error
        if known.internal and not confirm:
            raise Risky([f"{topic} is an internal topic: a record that the cluster does not expect there can harm groups or figures."])
        found = write(connection_of(cluster), topic, raw)
        written = sum(answer.offset is not None for answer in found)
        entry.after = {"records": written, "bytes": sum(one.size for one in raw), "of": len(raw)}
    return found


def placeholders(number: int) -> Mapping[str, str]:
    """What `${n}`, `${uuid}`, `${now}` and `${now_ms}` stand for in one record."""
    now = datetime.now(UTC)
    return {
        "n": str(number),
        "uuid": str(uuid.uuid4()),
        "now": now.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "now_ms": str(round(now.timestamp() * 1000)),
    }


def written_words(found: Sequence[Written]) -> str:
    """What became of them, in a sentence."""
    there = [answer for answer in found if answer.offset is not None]
    lost = [answer for answer in found if answer.offset is None]
    if len(found) == 1:
        return f"The record is written: partition {there[0].partition}, offset {there[0].offset}."
    said = f"{counted(len(there), 'record')} written"
    return f"{said}." if not lost else f"{said}; {counted(len(lost), 'record')} not: {lost[0].error}"
