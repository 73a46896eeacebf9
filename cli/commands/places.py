"""`highwater topics partitions` and `topics offsets`: which partitions are in trouble, and where their logs are at some moment."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from cli import figures as say
from cli import read
from cli.errors import Usage
from cli.shell import Shell, takes, verb
from cli.table import Column

PARTITIONS = (
    Column("TOPIC", lambda p: p["topic"]),
    Column("PARTITION", lambda p: str(p["partition"]), right=True),
    Column("STATE", lambda p: say.text(p["state"])),
    Column("LEADER", lambda p: say.number(p["leader"]), right=True),
    Column("REPLICAS", lambda p: say.ids(p["assignment"])),
    Column("ISR", lambda p: say.ids(p["isr"])),
    Column("MIN ISR", lambda p: say.number(p["min_insync_replicas"]), right=True),
)
OFFSETS = (
    Column("TOPIC", lambda p: p["topic"]),
    Column("PARTITION", lambda p: str(p["partition"]), right=True),
    Column("OFFSET", lambda p: say.number(p["offset"]), right=True),
    Column("TIME (UTC)", lambda p: say.DASH if p["timestamp_ms"] is None else say.moment(p["timestamp_ms"])),
)
NAMES = ("earliest", "latest", "max-timestamp", "earliest-local", "latest-tiered")
Wanted = Callable[[Mapping[str, Any]], bool]
FILTERS: dict[str, tuple[str, Wanted]] = {
    "under-replicated": ("fewer in sync than replicas", lambda p: len(p["isr"]) < len(p["assignment"])),
    "unavailable": ("without a leader", lambda p: p["leader"] is None),
    "under-min-isr": ("fewer in sync than min.insync.replicas", lambda p: _spare(p) < 0),
    "at-min-isr": ("just as many in sync as min.insync.replicas", lambda p: _spare(p) == 0),
}
"""As kafka-topics has them."""


def add_to(actions: Any) -> None:
    partitions = verb(actions, "partitions", _partitions, "partitions of all topics, or of some; with filters those that any of them wants")
    partitions.add_argument("--like", default="", help="only of topics with this in their names")
    for name, (words, _) in FILTERS.items():
        partitions.add_argument(f"--{name}", action="append_const", dest="filters", const=name, help=words)
    offsets = verb(actions, "offsets", _offsets, "where the logs of topics are at a moment")
    takes(offsets, "topic", "topics", nargs="+")
    offsets.add_argument("--partition", type=int, action="append", default=[], help="may be given again; default: all")
    words = f"{', '.join(NAMES)}, milliseconds since 1970, or a time as 2026-01-31T09:00; default: latest"
    offsets.add_argument("--at", default="latest", metavar="WHEN", type=_when, help=words)


def _spare(partition: Mapping[str, Any]) -> int:
    """Replicas in sync beyond what acks=all wants; 1 where that is not known, so that it is not called scarce."""
    least = partition["min_insync_replicas"]
    return 1 if least is None else len(partition["isr"]) - int(least)


def _when(text: str) -> str:
    if text in NAMES or (text.isascii() and text.isdigit()):
        return text
    return read.moment(text)


def _partitions(shell: Shell) -> None:
    wanted = [FILTERS[name][1] for name in shell.options.filters or ()]
    topics, said = shell.rest.items(shell.at("topics"), q=shell.options.like)
    rows = [
        one
        for topic in topics
        for one in shell.rest.items(shell.at("topics", topic["topic"], "partitions"))[0]
        if not wanted or any(holds(one) for holds in wanted)
    ]
    shell.show_rows(rows, PARTITIONS, "None.", said)


def _offsets(shell: Shell) -> None:
    o = shell.options
    rows = [
        {"topic": topic, **one}
        for topic in dict.fromkeys(o.topics)
        for one in shell.rest.items(shell.at("topics", topic, "offsets"), at=o.at)[0]
        if not o.partition or one["partition"] in o.partition
    ]
    if not rows:
        raise Usage("There are no such partitions.")
    shell.show_rows(rows, OFFSETS, "")
