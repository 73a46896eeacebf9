"""One record of a topic: with all its parts, or the bytes of one of them as they were written."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from msgspec.structs import replace

from console.actions.audit import audited
from console.actions.masking import rules_for
from console.actions.records import WHOLE_CHARS, await_progress
from console.clock import now_ms
from console.gateway.errors import GatewayError
from console.models import Cluster
from console.queries import NotFound, topic_or_fail
from console.roles import VIEWER, Actor, Refused
from console.rules.records.progress import Found, Progress, Search
from console.rules.records.query import Query, WrongQuery, read_query
from console.searches import files, store
from console.snapshot.read import Snapshot

WAIT_S = 8.0


def one_record(actor: Actor, cluster: Cluster, topic: str, partition: int, offset: int, **asked: str) -> tuple[Search, Found]:
    """`asked`: the formats of key and value."""
    query = _query(partition, offset, origin="1", **asked)
    with audited(actor, VIEWER, "read records", topic, cluster=cluster, changes_cluster=False, after=query.address()):
        search = replace(_search(actor, cluster, topic, query), chars=WHOLE_CHARS)
        store.ask(search)
    return search, _found(search, partition, offset)


def raw_part(
    actor: Actor, cluster: Cluster, topic: str, place: tuple[int, int], part: Literal["key", "value"]
) -> tuple[Path, int, str, str]:
    """A file with the bytes, how many they are, their media type, and what it is called; `place` is partition and offset. `Refused` where
    a rule hides some of them."""
    partition, offset = place
    query = _query(partition, offset)
    told = {"partition": partition, "offset": offset}
    with audited(actor, VIEWER, f"download a record's {part}", topic, cluster=cluster, changes_cluster=False, after=told):
        search = replace(_search(actor, cluster, topic, query), raw=part, chars=0)
        store.ask(search)
        found = _found(search, partition, offset)
        shown = found.key if part == "key" else found.value
        if shown is None:
            raise NotFound(f"The record has no {part}." if part == "key" else "The record has no value: it is a tombstone.")
        if shown.masked:
            raise Refused(f"A rule hides some of this {part} from the role {actor.role}, and bytes cannot be given in part.")
    name = f"{topic}-{partition}-{offset}-{part}.bin"
    return files.path_of(search), store.progress(search.id).file_bytes, files.BYTES, name


def _query(partition: int, offset: int, **asked: str) -> Query:
    try:
        return read_query({**asked, "start": "offset", "offset": str(offset), "partition": str(partition), "count": "1"})
    except WrongQuery as error:
        raise NotFound(str(error)) from error


def _search(actor: Actor, cluster: Cluster, topic: str, query: Query) -> Search:
    topic_or_fail(Snapshot(cluster.pk), topic)
    rules = rules_for(actor, cluster, topic)
    return Search(id=store.new_id(), cluster=cluster.pk, topic=topic, query=query, by=actor.name, asked_ms=now_ms(), rules=rules)


def _found(search: Search, partition: int, offset: int) -> Found:
    progress = await_progress(search, WAIT_S)
    found = store.found(search, 0, 1)
    if not found or found[0].offset != offset:
        raise _missing(progress, partition, offset)
    return found[0]


def _missing(progress: Progress, partition: int, offset: int) -> Exception:
    if progress.state == "failed":
        return GatewayError("NOT_READ", progress.reason)
    if progress.state in ("done", "full"):
        return NotFound(f"Partition {partition} has no record at offset {offset}: it was deleted or compacted, or is yet to come.")
    return GatewayError("NOT_IN_TIME", f"the record could not be read in time. {progress.reason}".strip(), retriable=True)
