"""Reading a topic's records: a search is asked for here and read by another process (`workers/reader`)."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from msgspec.structs import replace

from console.actions.audit import audited
from console.actions.masking import rules_for
from console.clock import now_ms
from console.errors import Conflict, Invalid
from console.models import Cluster
from console.queries import NotFound, topic_or_fail
from console.roles import VIEWER, Actor
from console.rules.records.progress import GOES_ON, OVER, Progress, Search
from console.rules.records.query import Query
from console.searches import files, store
from console.snapshot.read import Snapshot

WAIT_STEP_S = 0.02
KINDS = ("ndjson", "csv")
WHOLE_CHARS = 262_144
"""How much of a key, value or header is kept of a record that is looked at alone."""
NOT_TOLD = ("text", "path", "equals", "header", "at")
"""Of a query: what is searched for may itself be what a record hides."""


def search_records(actor: Actor, cluster: Cluster, topic: str, query: Query, *, whole: bool = False) -> Search:
    """Queues a search, with one row in the audit; `whole` keeps much of each record, for one that is looked at alone."""
    told = {name: value for name, value in query.address().items() if name not in NOT_TOLD}
    with audited(actor, VIEWER, "read records", topic, cluster=cluster, changes_cluster=False, after=told):
        topic_or_fail(Snapshot(cluster.pk), topic)
        rules = rules_for(actor, cluster, topic)
        search = Search(id=store.new_id(), cluster=cluster.pk, topic=topic, query=query, by=actor.name, asked_ms=now_ms(), rules=rules)
        search = replace(search, chars=WHOLE_CHARS) if whole else search
        store.ask(search)
    return search


def export_records(actor: Actor, cluster: Cluster, topic: str, query: Query, kind: str) -> Search:
    """Queues a search whose findings go into a file, all of them up to its limits, from the oldest on."""
    wanted = replace(query, start="oldest" if query.start == "newest" else query.start, count=files.RECORDS_MAX, order="found")
    told = {name: value for name, value in wanted.address().items() if name not in NOT_TOLD} | {"as": kind}
    with audited(actor, VIEWER, "export records", topic, cluster=cluster, changes_cluster=False, after=told):
        if kind not in KINDS:
            raise Invalid("as", f"{kind[:40]!r} is no kind of file: give one of {', '.join(KINDS)}.")
        if query.start == "live":
            raise Invalid("start", "Live records have no end: a file wants one.")
        topic_or_fail(Snapshot(cluster.pk), topic)
        rules = rules_for(actor, cluster, topic)
        plain = Search(id=store.new_id(), cluster=cluster.pk, topic=topic, query=wanted, by=actor.name, asked_ms=now_ms(), rules=rules)
        search = replace(plain, chars=WHOLE_CHARS, export=kind)
        store.ask(search)
    return search


def export_file(search: Search) -> tuple[Path, int]:
    """The file of an export, and how much of it is written for good."""
    path, size = files.path_of(search), store.progress(search.id).file_bytes
    if not search.export or not size or not path.is_file():
        raise NotFound("There is no such file: it is kept for a day, and begins with the first record that is found.")
    return path, size


def search_or_fail(actor: Actor, cluster: Cluster, search_id: str, topic: str | None = None) -> Search:
    """A search that is still kept; others see it too, if the same is hidden from them."""
    found = store.find(search_id[:40])
    is_there = found is not None and found.cluster == cluster.pk and topic in (None, found.topic)
    if found is None or not is_there or found.rules != rules_for(actor, cluster, found.topic):
        raise NotFound(
            "There is no such search: it is kept for an hour after it was last looked at, and for those from whom the same is hidden."
        )
    return found


def go_on(search: Search) -> None:
    """Reads on where a search ended early."""
    state = store.progress(search.id).state
    if state not in GOES_ON:
        raise Conflict(f"The search does not stand still: it is {state}.")
    store.go_on(search)


def await_progress(search: Search, wait_s: float, enough: Callable[[Progress], bool] = lambda _: False) -> Progress:
    """Once the search is over or has enough, or time is up."""
    end_s = time.monotonic() + wait_s
    while True:
        progress = store.progress(search.id)
        if progress.state in OVER or enough(progress) or time.monotonic() >= end_s:
            return progress
        time.sleep(WAIT_STEP_S)
