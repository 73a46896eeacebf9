"""How old what is known is, as it is read: by when each part was last known true, and by whether its owner still lives. Pure.

What tells by itself is stale after `STALE_MS`; what is asked for again and again once three of its intervals have passed.

A snapshot stays as it was written when its owner dies: whoever reads it counts the ages anew, and says so in the verdict.
"""

from __future__ import annotations

from datetime import UTC, datetime

from msgspec.structs import replace

from broker_core.contract.live import Age, AsOf, Cluster, Freshness
from broker_core.contract.sentences import Verdict
from console.rules.list_lines import last_known
from console.rules.pieces import part, said
from console.rules.words import duration

STALE_MS = 3_000
LOST_MS = 10_000
STALE_INTERVALS = 3
LOST_INTERVALS = 10
ORDER: tuple[Freshness, ...] = ("live", "stale", "lost")


def fresh_ms(every_ms: int | None) -> int:
    """For how long what was known true is not stale."""
    return STALE_MS if every_ms is None else STALE_INTERVALS * every_ms


def level(silent_ms: int, every_ms: int | None = None) -> Freshness:
    lost_ms = LOST_MS if every_ms is None else LOST_INTERVALS * every_ms
    return "live" if silent_ms <= fresh_ms(every_ms) else "stale" if silent_ms <= lost_ms else "lost"


def age(at_ms: int | None, now_ms: int, every_ms: int | None = None) -> Age:
    """Of a part of what is known, by when it was last known true; `every_ms` where it is asked for so often."""
    age_ms = None if at_ms is None else max(now_ms - at_ms, 0)
    return Age("lost" if age_ms is None else level(age_ms, every_ms), age_ms, at_ms, every_ms)


def read_age(written: Age, now_ms: int) -> Age:
    """A part as it is read now: never fresher than it was written."""
    found = age(written.at_ms, now_ms, written.every_ms)
    return replace(found, state=max(found.state, written.state, key=ORDER.index))


def as_of(beat_ms: int | None, oldest_ms: int | None, now_ms: int, due_ms: int | None = None) -> AsOf:
    """Of the oldest part of a snapshot that its owner last wrote at `beat_ms`; its first part is stale after `due_ms`."""
    at_ms = beat_ms if oldest_ms is None else oldest_ms
    if at_ms is None:
        return AsOf(None, None, True)
    due = at_ms + STALE_MS if due_ms is None else due_ms
    return AsOf(at_ms, max(now_ms - at_ms, 0), now_ms > min(due, (at_ms if beat_ms is None else beat_ms) + STALE_MS))


def read_cluster(written: Cluster, beat_ms: int | None, now_ms: int) -> Cluster:
    """The cluster's value as it is read now."""
    if written.feed is None or written.verdict is None:
        return written
    feed = replace(
        written.feed,
        brokers={broker: read_age(one, now_ms) for broker, one in written.feed.brokers.items()},
        store=written.feed.store and read_age(written.feed.store, now_ms),
        groups=read_age(written.feed.groups, now_ms),
    )
    asked = written.questions and {kind: replace(one, age=read_age(one.age, now_ms)) for kind, one in written.questions.items()}
    silent_ms = None if beat_ms is None else max(now_ms - beat_ms, 0)
    if silent_ms is not None and silent_ms <= STALE_MS:
        return replace(written, feed=feed, questions=asked)
    state = "lost" if silent_ms is None else level(silent_ms)
    return replace(
        written,
        feed=replace(feed, state=state),
        questions=asked,
        verdict=_last_known(written.verdict, beat_ms, now_ms),
        topics_line=last_known(written.topics_line),
        groups_line=last_known(written.groups_line),
    )


def _last_known(verdict: Verdict, beat_ms: int | None, now_ms: int) -> Verdict:
    """What was said of a cluster that nobody tells of any more."""
    if beat_ms is None:
        words = "Nobody tells of this cluster now; what was last known:"
    else:
        at = datetime.fromtimestamp(beat_ms / 1000, UTC).strftime("%H:%M:%S")
        words = f"The live feed has been silent for {duration((now_ms - beat_ms) / 1000, 1)}; last known at {at}:"
    parts = (part("unknown", None, said(words)), *verdict.parts)
    return Verdict("unknown", f"{words} {verdict.text}", parts, beat_ms, f"Last known: {verdict.brief}")
