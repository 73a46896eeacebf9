"""How old what is known is, as it is read: by when each part was last known true, and by whether its owner still lives. Pure.

A snapshot stays as it was written when its owner dies: whoever reads it counts the ages anew, and says so in the verdict.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from console.rules.words import duration

Value = dict[str, Any]
STALE_MS = 3_000
LOST_MS = 10_000
ORDER = ("live", "stale", "lost")


def level(silent_ms: int) -> str:
    return "live" if silent_ms <= STALE_MS else "stale" if silent_ms <= LOST_MS else "lost"


def part(at_ms: int | None, now_ms: int) -> Value:
    """A part of what is known, by when it was last known true: {state, age_ms, at_ms}."""
    age_ms = None if at_ms is None else max(now_ms - at_ms, 0)
    return {"state": "lost" if age_ms is None else level(age_ms), "age_ms": age_ms, "at_ms": at_ms}


def read_part(written: Value, now_ms: int) -> Value:
    """A part as it is read now: never fresher than it was written."""
    found = part(written["at_ms"], now_ms)
    return {**found, "state": max(found["state"], written["state"], key=ORDER.index)}


def as_of(beat_ms: int | None, oldest_ms: int | None, now_ms: int) -> Value:
    """{at_ms, age_ms, stale}: of the oldest part of a snapshot that its owner last wrote at `beat_ms`."""
    at_ms = beat_ms if oldest_ms is None else oldest_ms
    age_ms = None if at_ms is None else max(now_ms - at_ms, 0)
    return {"at_ms": at_ms, "age_ms": age_ms, "stale": age_ms is None or age_ms > STALE_MS}


def read_cluster(written: Value, beat_ms: int | None, now_ms: int) -> Value:
    """The cluster's value as it is read now."""
    feed = written["feed"]
    feed = {
        **feed,
        "brokers": {broker: read_part(one, now_ms) for broker, one in feed["brokers"].items()},
        **{name: feed[name] and read_part(feed[name], now_ms) for name in ("store", "groups")},
    }
    silent_ms = None if beat_ms is None else max(now_ms - beat_ms, 0)
    if silent_ms is not None and silent_ms <= STALE_MS:
        return {**written, "feed": feed}
    state = "lost" if silent_ms is None else level(silent_ms)
    return {**written, "feed": {**feed, "state": state}, "verdict": _last_known(written["verdict"], beat_ms, now_ms)}


def _last_known(verdict: Value, beat_ms: int | None, now_ms: int) -> Value:
    """What was said of a cluster that nobody tells of any more."""
    if beat_ms is None:
        said = "Nobody tells of this cluster now; what was last known:"
    else:
        at = datetime.fromtimestamp(beat_ms / 1000, UTC).strftime("%H:%M:%S")
        said = f"The live feed has been silent for {duration((now_ms - beat_ms) / 1000, 1)}; last known at {at}:"
    first = {"level": "unknown", "text": said, "about": None}
    return {"level": "unknown", "text": f"{said} {verdict['text']}", "parts": [first, *verdict["parts"]], "last_known_ms": beat_ms}
