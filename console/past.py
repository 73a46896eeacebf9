"""What a page of the past says of itself: which moment it shows, how that is known, and the ways to others."""

from __future__ import annotations

from typing import Any, NamedTuple

from broker_core.contract.moments import Kept
from broker_core.contract.sentences import KeptEvent
from console import queries
from console.looking_back import PAGES, address_at, present_of
from console.models import Cluster
from console.snapshot.moments import GAP_MS
from console.snapshot.read import Snapshot
from console.templatetags.times import clock

STEPS_S = ((-600, "−10 min"), (-60, "−1 min"), (-10, "−10 s"), (10, "+10 s"), (60, "+1 min"), (600, "+10 min"))
MARKS_LIMIT = 100
MARKS_APART = 1.5
"""Percent of the slider."""
FIRST_LOOK_MS = 60_000


class Way(NamedTuple):
    label: str
    url: str | None
    """None where nothing is kept of it."""


class Mark(NamedTuple):
    """Something that happened, on the slider: `place` in percent of what is kept."""

    place: str
    level: str
    url: str
    sentence: str


class Past(NamedTuple):
    at_ms: int
    known_ms: int | None
    kept: Kept
    now_url: str
    changes_url: str
    """What has changed since."""
    slider_url: str
    """With `{at}` for the moment."""
    steps: list[Way]
    before: Way
    after: Way
    marks: list[Mark]

    @property
    def in_gap(self) -> bool:
        return self.known_ms is None or self.at_ms - self.known_ms > GAP_MS


def look_back_url(request: Any, page: str, cluster: Cluster, now_ms: int) -> str | None:
    """From a page of the present to its past; None from one that has none, and where nothing is kept yet."""
    if page not in PAGES or cluster.moment_ms is not None:
        return None
    oldest = queries.kept(cluster).oldest_ms
    return None if oldest is None else address_at(request, max((now_ms - FIRST_LOOK_MS) // 1000 * 1000, oldest))


def past_of(request: Any, cluster: Cluster) -> Past | None:
    """None on a page of the present."""
    at_ms = cluster.moment_ms
    if at_ms is None:
        return None
    kept = queries.kept(cluster)
    oldest, newest = kept.oldest_ms or at_ms, kept.newest_ms or at_ms
    before, after = queries.events_around(cluster, at_ms)
    return Past(
        at_ms,
        Snapshot(cluster.snapshot_id).beat_ms(),
        kept,
        address_at(request, None),
        f"{present_of(request)}/changes?from={at_ms}",
        address_at(request, 0).replace("/at/0/", "/at/{at}/", 1),
        [Way(label, _within(request, at_ms + step * 1000, oldest, newest)) for step, label in STEPS_S],
        _event_way(request, "Event before", before),
        _event_way(request, "Event after", after),
        apart([_mark(request, event, oldest, newest) for event in queries.marks(cluster, oldest, newest, MARKS_LIMIT)]),
    )


def _within(request: Any, at_ms: int, oldest: int, newest: int) -> str | None:
    return address_at(request, at_ms) if oldest <= at_ms <= newest else None


def _event_way(request: Any, label: str, event: KeptEvent | None) -> Way:
    return Way(label, None) if event is None else Way(f"{label}: {clock(event.at_ms)} {event.sentence}", address_at(request, event.at_ms))


def _mark(request: Any, event: KeptEvent, oldest: int, newest: int) -> Mark:
    place = 100 * (event.at_ms - oldest) / max(newest - oldest, 1)
    return Mark(f"{place:.2f}", event.level, address_at(request, event.at_ms), f"{clock(event.at_ms)} {event.sentence}")


def apart(marks: list[Mark]) -> list[Mark]:
    """In the order of time; of those that would cover each other the gravest, which says how many more there are."""
    groups: list[list[Mark]] = []
    for one in sorted(marks, key=lambda mark: float(mark.place)):
        if groups and float(one.place) - float(groups[-1][0].place) < MARKS_APART:
            groups[-1].append(one)
        else:
            groups.append([one])
    return [_gravest(group) for group in groups]


def _gravest(marks: list[Mark]) -> Mark:
    found = next((mark for mark in marks if mark.level == "bad"), marks[0])
    return found._replace(sentence=f"{found.sentence} (and {len(marks) - 1} more)") if len(marks) > 1 else found
