"""How old what is known is, as it is read: by when each part was last known true, and by whether its owner still lives. Pure.

What tells by itself is stale after `STALE_MS`; what is asked for again and again once three of its intervals have passed.

A snapshot stays as it was written when its owner dies: whoever reads it counts the ages anew, and says so in the verdict.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Literal

from msgspec.structs import replace

from broker_core.contract.live import Age, AsOf, Cluster, Freshness
from broker_core.contract.sentences import Verdict
from console.rules.list_lines import last_known
from console.rules.pieces import part, said
from console.rules.verdict import unanswered
from console.rules.words import counted, duration

LIVE_OLD_MS = 10_000
"""Whoever keeps a snapshot and has said nothing for so long does not live."""
STALE_MS = 3_000
LOST_MS = 10_000
STALE_INTERVALS = 3
LOST_INTERVALS = 10
ORDER: tuple[Freshness, ...] = ("live", "stale", "lost")
FEED_ORDER: tuple[Literal["live", "partial", "stale", "lost"], ...] = ("live", "partial", "stale", "lost")


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
    """The cluster's value as it is read now. What its verdict rests on may have become old since it was written, though its owner lives."""
    if written.feed is None or written.verdict is None:
        return written
    feed = replace(
        written.feed,
        brokers={broker: read_age(one, now_ms) for broker, one in written.feed.brokers.items()},
        store=written.feed.store and read_age(written.feed.store, now_ms),
        groups=read_age(written.feed.groups, now_ms),
    )
    asked = written.questions and {kind: replace(one, age=read_age(one.age, now_ms)) for kind, one in written.questions.items()}
    read = replace(written, feed=feed, questions=asked)
    silent_ms = None if beat_ms is None else max(now_ms - beat_ms, 0)
    if silent_ms is None or silent_ms > STALE_MS:
        state = "lost" if silent_ms is None else level(silent_ms)
        return _last_known(read, state, _owner_silent(written.verdict, beat_ms, now_ms))
    if written.verdict.last_known_ms is not None:
        return read
    if written.questions and asked and "metadata" in asked and _has_turned(written.questions["metadata"].age, asked["metadata"].age):
        return _last_known(read, "partial", unanswered(written.verdict, asked["metadata"].error, asked["metadata"].age.at_ms))
    quiet = [broker for broker, one in feed.brokers.items() if _has_turned(written.feed.brokers[broker], one)]
    if quiet:
        at_ms = min(feed.brokers[broker].at_ms or 0 for broker in quiet)
        return _last_known(read, "partial", _brokers_silent(written.verdict, quiet, at_ms, now_ms))
    return read


def _has_turned(written: Age, read: Age) -> bool:
    """What was live when it was written, and its verdict with it, and is not now."""
    return written.state == "live" and read.state != "live"


def _last_known(read: Cluster, state: Literal["live", "partial", "stale", "lost"], verdict: Verdict) -> Cluster:
    """`state` is that of its feed."""
    feed = read.feed and replace(read.feed, state=max(state, read.feed.state, key=FEED_ORDER.index))
    lines = {"topics_line": last_known(read.topics_line), "groups_line": last_known(read.groups_line)}
    return replace(read, feed=feed, verdict=verdict, **lines)


def _owner_silent(verdict: Verdict, beat_ms: int | None, now_ms: int) -> Verdict:
    """What was said of a cluster that nobody tells of any more."""
    if beat_ms is None:
        return _with_words(verdict, "Nobody tells of this cluster now; what was last known:", None)
    return _with_words(verdict, f"The live feed has been silent for {_since(beat_ms, now_ms)}:", beat_ms)


def _brokers_silent(verdict: Verdict, brokers: Sequence[str], at_ms: int, now_ms: int) -> Verdict:
    have = f"Broker {brokers[0]} has" if len(brokers) == 1 else f"{counted(len(brokers), 'broker')} have"
    return _with_words(verdict, f"{have} been silent for {_since(at_ms, now_ms)}:", at_ms)


def _since(at_ms: int, now_ms: int) -> str:
    at = datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%H:%M:%S")
    return f"{duration((now_ms - at_ms) / 1000, 1)}; last known at {at}"


def _with_words(verdict: Verdict, words: str, at_ms: int | None) -> Verdict:
    parts = (part("unknown", None, said(words)), *verdict.parts)
    return Verdict("unknown", f"{words} {verdict.text}", parts, at_ms, f"Last known: {verdict.brief}")
