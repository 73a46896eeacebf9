"""One topic: its partitions as ladders, its settings, who reads it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.http import HttpResponse
from django.urls import reverse

from broker_core.contract.partitions import Partition, Topic
from console import queries
from console.actions.elections import elect_unclean, elected_sentence, without_leader
from console.actions.settings import read_settings
from console.actions.topics import add_partitions, delete_topic
from console.context import live_needs
from console.errors import Risky
from console.models import Cluster
from console.roles import ADMIN, OPERATOR, actor_of
from console.rules.risks import unclean_risks
from console.rules.settings.model import Owner, Setting
from console.rules.words import counted, ranges
from console.snapshot.read import Snapshot
from console.snapshot.sorting import RANK
from console.views.lists import Head, heads_of, sorting_of
from console.views.settings_then import ThenSetting, settings_then
from console.views.support import (
    KNOWN,
    ask_first,
    choice,
    done,
    followed,
    is_confirmed,
    note_query,
    number,
    page,
    pages,
    refused_again,
    required_number,
    settings_or_why,
    show,
    switches,
)

PARTITIONS_SHOWN = 50
NUMBERS_MOST = 1_000
"""Of `open` and `shut` in an address."""


HEADS = (
    Head("partition", "Partition", is_number=False),
    Head("state", "State", is_number=False),
    Head("leader", "Leader", is_number=False),
    Head("isr", "Replicas", is_number=False),
    Head("high_watermark", "High watermark"),
    Head("log_end_offset", "Log end"),
    Head("kept", "Records"),
    Head("furthest_behind", "Furthest behind"),
    Head("size_bytes", "On disk"),
    Head("leader_epoch", "Leader epoch"),
)


def _partitions(request: Any, snapshot: Snapshot, topic: Topic) -> dict[str, Any]:
    """The page of partitions that the address asks for; those that it opens, and the troubled that it does not shut, have their ladders."""
    troubled = choice(request, "troubled", ("1",)) == "1"
    page = (number(request, "page", 1, least=1) or 1) if request.method == "GET" else 1
    column, falling = sorting_of(request, queries.PARTITION_COLUMNS, _usually_falls)
    found = _page_of_partitions(request, snapshot, topic, page, column if not troubled else "", falling=falling)
    first = (found.page - 1) * PARTITIONS_SHOWN
    is_by_number = not troubled and column in ("", "partition") and not falling
    spans = [[first, first + PARTITIONS_SHOWN - 1]] if is_by_number else ranges(row.partition for row in found.rows) or [[0, 0]]
    live_needs(request, topics=",".join(f"{topic.topic}:{first}-{last}" for first, last in spans), events="1")
    return {
        "rows": found.rows,
        "open": _open(request, found.rows),
        "heads": heads_of(request, HEADS, column or ("" if troubled else "partition"), _usually_falls, falling=falling),
        "sorts": HEADS,
        "pages": pages(request, found.page, found.last, found.total),
        "troubled": troubled,
        "views": switches(request, reverse("topic", args=[topic.topic]), troubled, topic.troubled or 0, f"topic/{topic.topic}"),
    }


def _page_of_partitions(
    request: Any, snapshot: Snapshot, topic: Topic, page: int, column: str, *, falling: bool
) -> queries.Page[Partition]:
    if request.GET.get("troubled") == "1":
        return queries.troubled_page(snapshot, topic, page, PARTITIONS_SHOWN)
    if column and (column != "partition" or falling):
        try:
            return queries.partitions_sorted(snapshot, topic, page, PARTITIONS_SHOWN, column, falling=falling)
        except queries.BadQuery as error:
            note_query(request, str(error))
    return queries.partitions_page(snapshot, topic, page, PARTITIONS_SHOWN)


def _usually_falls(column: str) -> bool:
    return bool(column) and column not in queries.RISING


def _open(request: Any, rows: Sequence[Partition]) -> set[int]:
    """The partitions whose ladder is open."""
    wanted, shut = request.GET.get("open", ""), _numbers(request.GET.get("shut", ""))
    if wanted == "all":
        return {row.partition for row in rows} - shut
    return {row.partition for row in rows if row.partition in _numbers(wanted) or (row.state in RANK and row.partition not in shut)}


def _numbers(text: str) -> set[int]:
    return {int(one) for one in text.split(",")[:NUMBERS_MOST] if one.isascii() and one.isdigit() and len(one) < 7}


def _settings(cluster: Cluster, topic: Topic) -> tuple[Sequence[Setting | ThenSetting], str]:
    """The topic's own: of the past those that are kept with the moment; or why there are none."""
    if cluster.moment_ms is None:
        configs, error = settings_or_why(cluster, lambda: read_settings(cluster, Owner("topic", topic.topic)))
        return [one for one in configs if one.set_for == "topic"], error
    return settings_then(topic.own_settings, "topic")


def _context(request: Any, name: str) -> dict[str, Any]:
    snapshot = Snapshot(request.cluster.snapshot_id)
    topic = queries.topic_or_fail(snapshot, name)
    configs, error = _settings(request.cluster, topic)
    readers, more_readers = queries.groups_reading(snapshot, name)
    return {
        "topic": topic,
        "name": name,
        **_partitions(request, snapshot, topic),
        "configs": configs,
        "configs_error": error,
        "unclean_risks": unclean_risks(name, without_leader(snapshot, name)) if topic.offline else unclean_risks(name, []),
        "groups": readers,
        "more_groups": more_readers,
        "events": queries.events(request.cluster, queries.EventQuery(topic=name), count=20),
    }


@page(query=("page", "troubled", "sort", "order", "open", "shut"))
def topic(request: Any, name: str) -> HttpResponse:
    return show(request, "topic", _context(request, name))


@page("POST", role=ADMIN, doing="delete topic")
def topic_delete(request: Any, name: str) -> HttpResponse:
    try:
        job = delete_topic(actor_of(request), request.cluster, name, confirm=request.POST.get("confirm", ""))
    except KNOWN as error:
        return _refused(request, name, error, "delete-topic")
    return done(request, reverse("topics"), f"Topic {name} is being deleted.") if job is None else followed(request, job)


@page("POST", role=ADMIN, doing="elect unclean leaders")
def topic_unclean(request: Any, name: str) -> HttpResponse:
    try:
        found = elect_unclean(actor_of(request), request.cluster, name, confirm=request.POST.get("confirm", ""))
    except KNOWN as error:
        return _refused(request, name, error, "elect-unclean")
    return done(request, reverse("topic", args=[name]), elected_sentence(found))


@page("POST", role=OPERATOR, doing="add partitions")
def topic_partitions(request: Any, name: str) -> HttpResponse:
    try:
        topic = Snapshot(request.cluster.snapshot_id).topic(name)
        count = required_number(request, "count")
        job = add_partitions(
            actor_of(request), request.cluster, name, count, topic.partitions if topic else None, confirm=is_confirmed(request)
        )
    except Risky as error:
        return ask_first(request, f"Add partitions to {name}?", error.risks, button="Add partitions", back=reverse("topic", args=[name]))
    except KNOWN as error:
        return _refused(request, name, error, "add-partitions")
    if job is not None:
        return followed(request, job)
    return done(request, reverse("topic", args=[name]), f"{name} has {counted(count, 'partition')} now.")


def _refused(request: Any, name: str, error: Exception, form: str) -> HttpResponse:
    return refused_again(request, "topic", lambda: _context(request, name), error, form)
