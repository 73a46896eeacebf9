"""HW-013: records that a group has not read and that retention deletes, or has deleted. Pure.

1. The committed offset is below the log's start: what lay between is gone, unread. Bad.
2. Retention deletes a record no earlier than `retention.ms` after its time, and with the rest of its segment, so later where that has
   younger ones. The age of the record at the committed offset is what the lag in time says: known where its basis is `record`, about so
   where it is an estimate. So the earliest moment is known; it is told once it is within `WARN_MS` and half of the retention is over; bad
   within `BAD_MS`.
3. Of a lag that is "at least" so old no moment can be said: unknown.
4. Where the topic does not set `retention.ms` its brokers' is in force, which the snapshot does not have: unknown, for what is at least
   `YOUNG_S` behind. What is less than that behind is taken for safe under a default. `retention.bytes` is not looked at: it gives no time.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, datetime

from broker_core.contract.groups import Lag
from console.rules.report.facts import Facts
from console.rules.report.finding import Finding, Outcome, group_page
from console.rules.words import counted, duration, whole

BAD_MS = 2 * 3_600_000
WARN_MS = 24 * 3_600_000
YOUNG_S = 3_600.0
RETENTION = "retention.ms"


def loss_ahead(facts: Facts) -> Outcome:
    if facts.lags is None:
        return Outcome((), "nobody tells where groups stand")
    starts = {(row.topic, row.partition): row.log_start_offset for row in facts.logs.rows} if facts.logs else {}
    settings = {topic.topic: topic.own_settings for topic in facts.topics}
    found, reasons = [], dict[str, int]()
    for row in (one for one in facts.lags.rows if one.topic in settings):
        told = _judged(row, starts.get((row.topic, row.partition)), settings.get(row.topic), facts.now_ms)
        if isinstance(told, Finding):
            found.append(told)
        elif told:
            reasons[told] = reasons.get(told, 0) + 1
    unknown = [f"{reason} ({counted(count, 'partition')} of groups)" for reason, count in sorted(reasons.items())]
    if facts.lags.skipped:
        unknown.append(f"{counted(facts.lags.skipped, 'group')} behind {'was' if facts.lags.skipped == 1 else 'were'} not looked at")
    if facts.lags.unknown:
        unknown.append(f"where {counted(facts.lags.unknown, 'group')} {'stands' if facts.lags.unknown == 1 else 'stand'} is not known")
    return Outcome(found, "; ".join(unknown))


def left_ms(row: Lag, start: int | None, own: Mapping[str, str] | None) -> float | str:
    """Until retention may delete a record that the group has not read, at the earliest; `start` is where the log begins, `own` what the
    topic sets. -inf where it has deleted some, inf where nothing is ahead or less than half of the retention is over; a text says why it
    is not known."""
    if row.committed is None or not row.lag:
        return math.inf
    if start is None:
        return "where the log begins is not told"
    return -math.inf if row.committed < start else _before_retention(row, own)


def _before_retention(row: Lag, own: Mapping[str, str] | None) -> float | str:
    if own is not None and "delete" not in own.get("cleanup.policy", "delete"):
        return math.inf
    retention_ms = _retention(own)
    if retention_ms is None:
        old = row.lag_s is None or row.lag_s >= YOUNG_S
        return "the topic's own settings say no retention.ms, and that of the brokers is not told" if old else math.inf
    if row.lag_s is None or row.lag_basis == "at_least":
        return math.inf if retention_ms < 0 else "how old the next unread record is is not known"
    if retention_ms < 0 or row.lag_s * 1000 < retention_ms / 2:
        return math.inf
    return retention_ms - row.lag_s * 1000


def _judged(row: Lag, start: int | None, own: Mapping[str, str] | None, now_ms: int) -> Finding | str:
    """A finding, or why it is not known; empty where nothing is ahead."""
    left = left_ms(row, start, own)
    if isinstance(left, str):
        return left
    if left == -math.inf:
        return _lost(row, (start or 0) - (row.committed or 0))
    return "" if left > WARN_MS else _ahead(row, left, now_ms, _retention(own) or 0)


def _retention(own: Mapping[str, str] | None) -> int | None:
    text = (own or {}).get(RETENTION)
    try:
        return None if text is None else int(text)
    except ValueError:
        return None


def _lost(row: Lag, count: int) -> Finding:
    name = f"{row.topic}-{row.partition}"
    return Finding(
        _key(row),
        "bad",
        f"{row.group} has lost records of {name}: they were deleted before it read them.",
        f"It has committed {whole(row.committed or 0)}, and the log begins {counted(count, 'offset')} later.",
        "Give the topic more retention or the group more readers; the group goes on where its auto.offset.reset says.",
        *_page(row),
    )


def _ahead(row: Lag, left: float, now_ms: int, retention_ms: int) -> Finding:
    name, age = f"{row.topic}-{row.partition}", duration(row.lag_s or 0)
    about = "about " if row.lag_basis == "estimate" else ""
    at = datetime.fromtimestamp((now_ms + left) / 1000, UTC).strftime("%d %b %H:%M")
    when = f"from {about}{at} UTC on, at the earliest" if left > 0 else "at any moment: it is older than the retention"
    return Finding(
        _key(row),
        "bad" if left <= BAD_MS else "warn",
        f"{row.group} is about to lose records of {name}.",
        f"Its next record may be deleted {when}; it is {about}{age} old, and {RETENTION} is {duration(retention_ms / 1000)}.",
        f"Raise {RETENTION} of {row.topic} until the group has caught up, and see why it is behind.",
        *_page(row),
    )


def _key(row: Lag) -> str:
    return f"{row.group} on {row.topic}-{row.partition}"


def _page(row: Lag) -> tuple[str, str]:
    return group_page(row.group), f"group {row.group}"
