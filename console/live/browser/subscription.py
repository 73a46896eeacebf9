"""What one browser connection wants: parsed from a query string, matched against keys, and listed as Redis reads. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from urllib.parse import parse_qs, unquote

from console.snapshot import keys

NAMES_LIMIT = 200
PARTITIONS_LIMIT = 500
DEFAULT_PARTITIONS = 100
QUERY_BYTES_LIMIT = 32_768
KNOWN = {"cluster", "brokers", "topic_rows", "topics", "group_rows", "groups", "events", "jobs"}
CLUSTER_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
RANGE = re.compile(r"(?P<name>[^:]{1,249})(?::(?P<first>\d{1,6})-(?P<last>\d{1,6}))?")


class BadSubscription(Exception):
    """The query asks for something that cannot be had; the message says what."""


@dataclass(frozen=True, slots=True)
class Subscription:
    cluster: str
    brokers: bool = False
    topic_rows: frozenset[str] = frozenset()
    topics: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    group_rows: frozenset[str] = frozenset()
    groups: frozenset[str] = frozenset()
    events: bool = False
    jobs: str = ""

    def wants(self, key: str) -> bool:
        kind, _, rest = key.partition("/")
        if kind == "topic":
            return rest in self.topic_rows or rest in self.topics
        if kind == "partition":
            name, _, number = rest.rpartition("/")
            return any(first <= int(number) <= last for first, last in self.topics.get(name, ()))
        if kind == "group":
            name = unquote(rest)
            return name in self.group_rows or name in self.groups
        if kind == "lag":
            return unquote(rest.split("/", 1)[0]) in self.groups
        if kind == "job":
            return self.jobs in ("1", rest)
        return kind == "cluster" or (kind == "broker" and self.brokers) or (kind == "event" and self.events)

    def reads(self) -> list[tuple[str, str, list[str] | None]]:
        """(kind, Redis hash, fields or None for all) to fetch the whole answer."""
        base = keys.prefix(self.cluster)
        asked: list[tuple[str, str, list[str] | None]] = [("cluster", f"{base}clusters", ["cluster"])]
        if self.brokers:
            asked.append(("broker", f"{base}brokers", None))
        if rows := sorted(self.topic_rows | self.topics.keys()):
            asked.append(("topic", f"{base}topics", rows))
        for name, spans in sorted(self.topics.items()):
            numbers = [str(n) for first, last in spans for n in range(first, last + 1)]
            asked.append((f"partition/{name}", f"{base}partitions:{name}", numbers))
        if rows := sorted(self.group_rows | self.groups):
            asked.append(("group", f"{base}groups", rows))
        asked += [(f"lag/{name}", f"{base}lag:{name}", None) for name in sorted(self.groups)]
        if self.jobs:
            asked.append(("job", f"{base}jobs", None if self.jobs == "1" else [self.jobs]))
        return asked


def key_of(kind: str, field_name: str) -> str:
    """A value's key, from where `reads` found it."""
    kind, _, name = kind.partition("/")
    if kind == "partition":
        return keys.partition(name, int(field_name))
    if kind == "lag":
        topic, _, number = field_name.rpartition("/")
        return keys.lag(name, topic, int(number))
    if kind == "group":
        return keys.group(field_name)
    return keys.CLUSTER if kind == "cluster" else f"{kind}/{field_name}"


def parse(query: str) -> Subscription:
    if len(query) > QUERY_BYTES_LIMIT:
        raise BadSubscription(f"the query is longer than {QUERY_BYTES_LIMIT} bytes")
    try:
        found = {name: values[-1] for name, values in parse_qs(query, max_num_fields=20).items()}
    except ValueError as error:
        raise BadSubscription("too many parameters") from error
    if unknown := sorted(found.keys() - KNOWN):
        raise BadSubscription(f"unknown parameter {unknown[0]!r}")
    cluster = found.get("cluster", "local")
    if not CLUSTER_ID.fullmatch(cluster):
        raise BadSubscription("cluster is not an id")
    jobs = found.get("jobs", "")
    if jobs and not re.fullmatch(r"\d{1,18}", jobs):
        raise BadSubscription("jobs is neither 1 nor an id")
    return Subscription(
        cluster=cluster,
        brokers=found.get("brokers") == "1",
        topic_rows=_names(found.get("topic_rows", "")),
        topics=_ranges(found.get("topics", "")),
        group_rows=_names(found.get("group_rows", ""), encoded=True),
        groups=_names(found.get("groups", ""), encoded=True),
        events=found.get("events") == "1",
        jobs=jobs,
    )


def _names(text: str, *, encoded: bool = False) -> frozenset[str]:
    names = [n for n in text.split(",") if n]
    if len(names) > NAMES_LIMIT:
        raise BadSubscription(f"more than {NAMES_LIMIT} names")
    return frozenset(unquote(n) for n in names) if encoded else frozenset(names)


def _ranges(text: str) -> dict[str, list[tuple[int, int]]]:
    """`name:first-last,…`; a name may come again with another range."""
    wanted: dict[str, list[tuple[int, int]]] = {}
    for part in [p for p in text.split(",") if p]:
        match = RANGE.fullmatch(part)
        if match is None:
            raise BadSubscription(f"topics has {part[:60]!r}: give name or name:first-last")
        first, last = int(match["first"] or 0), int(match["last"] or DEFAULT_PARTITIONS - 1)
        if last < first:
            raise BadSubscription(f"topics has an empty range {first}-{last}")
        wanted.setdefault(match["name"], []).append((first, last))
    if sum(last - first + 1 for spans in wanted.values() for first, last in spans) > PARTITIONS_LIMIT:
        raise BadSubscription(f"more than {PARTITIONS_LIMIT} partitions")
    return wanted
