"""A search as it is kept while it runs and for a while after: who asked, how far each partition is read, why it ended; in words. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from msgspec import Meta, Struct

from console.rules import words
from console.rules.records.decoding import Part
from console.rules.records.masking import Rule
from console.rules.records.origin import Origin
from console.rules.records.query import Query, cursor_of
from console.rules.records.writing import Raw

State = Literal["queued", "running", "done", "full", "stopped", "timed_out", "interrupted", "failed"]
OVER: tuple[State, ...] = ("done", "full", "stopped", "timed_out", "interrupted", "failed")
GOES_ON: tuple[State, ...] = ("stopped", "timed_out", "interrupted", "failed")
"""What ended before its end and goes on under its own number; what is `full` goes on as another search."""
SILENT_MS = 15_000
"""A reader that has said nothing for so long has died."""


class Span(Struct, kw_only=True):
    """A partition's part of a search: the offsets `first` to `last` (exclusive) as they were when it began. Forward, what lies below `at`
    is read; backward, what lies from `at` on. `last` is None while records are followed live."""

    partition: int
    first: int
    last: int | None
    at: int
    records: int = 0
    bytes: int = 0
    empty: int = 0
    aborted: int = 0
    lost: int = 0

    def is_read(self, backward: bool) -> bool:
        return self.at <= self.first if backward else self.last is not None and self.at >= self.last

    def offsets_read(self, backward: bool) -> int:
        return max((self.last or 0) - self.at if backward else self.at - self.first, 0)


class Search(Struct, frozen=True, kw_only=True):
    """What was asked, by whom, and what `rules` hide from them: whoever is under other rules does not see the results."""

    id: str
    cluster: str
    topic: str
    query: Query
    by: str
    asked_ms: int
    rules: tuple[Rule, ...] = ()
    chars: int = 4096
    """How much of a key, a value or a header is kept."""
    export: Literal["", "ndjson", "csv"] = ""
    """What is found is written into a file of this kind, and nowhere else."""
    raw: Literal["", "key", "value"] = ""
    """The bytes of this part of the one record that is found are put into a file, where nothing of them is hidden."""
    pasted: Raw | None = None
    """Nothing is read then: this one is what there is to be found."""


class Progress(Struct, kw_only=True):
    state: State = "queued"
    reason: str = ""
    spans: list[Span] = []
    found: int = 0
    control: int = 0
    """Of those that were found: control records, which no client reads."""
    origin_missing: str = ""
    """Why it cannot be told who wrote some of them."""
    unsorted: str = ""
    """Why it cannot be told of all offsets without a record whether they hold one of an aborted transaction."""
    unfit: int = 0
    """Records that could not be looked into for a JSON path."""
    runs: int = 0
    file_bytes: int = 0
    """How much of an export's file is written."""
    read_ms: int = 0
    """Time spent reading, over all runs."""
    told_ms: int = 0


class Gap(Struct, frozen=True, kw_only=True):
    """Offsets up to `until` (exclusive) that hold nothing for a client; `control`: the record that a marker is, where it is wanted."""

    until: int
    aborted: int = 0
    control: Found | None = None


class Header(Struct, frozen=True):
    name: str
    value: Part | None


class Found(Struct, frozen=True, kw_only=True):
    """A record that a search wants."""

    partition: int
    offset: int
    timestamp_ms: int | None
    timestamp_type: Literal["create", "append"] | None
    key: Part | None
    value: Part | None
    headers: list[Header]
    headers_total: int
    leader_epoch: int | None
    origin: Annotated[Origin | None, Meta(description="who wrote it, where that was asked for and could be had")] = None


def is_backward(query: Query) -> bool:
    return query.start == "newest"


def seen(progress: Progress, now_ms: int) -> Progress:
    """As it is to be told: a reader that fell silent has died."""
    if progress.state == "running" and now_ms - progress.told_ms > SILENT_MS:
        progress.state, progress.reason = "interrupted", "The process that read for it has said nothing for a while."
    if progress.state == "queued" and now_ms - progress.told_ms > SILENT_MS:
        progress.state, progress.reason = "interrupted", "No reader has taken it: does the process `reader` run, or is it busy?"
    return progress


def next_cursor(query: Query, progress: Progress) -> str | None:
    """Where another search goes on behind the records that this one found."""
    backward = is_backward(query)
    left = [span for span in progress.spans if not span.is_read(backward)]
    if progress.state != "full" or not left:
        return None
    return cursor_of({s.partition: (s.first, s.at) if backward else (s.at, s.last or s.at) for s in left})


def covered(query: Query, progress: Progress) -> float | None:
    """The part of the offsets that has been read, 0 to 1; None where there is no end."""
    if query.start == "live":
        return None
    total = sum((span.last or 0) - span.first for span in progress.spans)
    return 1.0 if not total else sum(span.offsets_read(is_backward(query)) for span in progress.spans) / total


def sentence(query: Query, progress: Progress) -> str:
    """How far it came, what was left out and why."""
    spans = progress.spans
    read = sum(span.bytes for span in spans)
    records = sum(span.records for span in spans)
    lost, empty = sum(span.lost for span in spans), sum(span.empty for span in spans)
    if progress.state == "queued":
        return "Waiting for a reader."
    all_read = f"{words.counted(records, 'record')} read ({words.size(read)}){_of(query, progress)}"
    parts = [f"{words.counted(progress.found - progress.control, 'record')}{_control(progress)} found. {all_read}"]
    aborted = sum(span.aborted for span in spans)
    if aborted:
        known = "at least " if progress.unsorted else ""
        parts.append(f"{known}{words.counted(aborted, 'record')} of aborted transactions left out")
    if empty:
        held = f"control records, aborted or compacted: {progress.unsorted}" if progress.unsorted else "control records or compacted"
        parts.append(f"{words.counted(empty, 'offset holds', 'offsets hold')} no record ({held})")
    if lost:
        parts.append(f"{words.counted(lost, 'offset was', 'offsets were')} deleted before they could be read")
    if progress.unfit:
        parts.append(f"{words.counted(progress.unfit, 'value was', 'values were')} too large or nested too deeply to be looked into")
    if query.isolation == "committed":
        parts.append("read up to where open transactions begin")
    if progress.origin_missing:
        parts.append(f"who wrote them is not known of all: {progress.origin_missing}")
    if progress.state == "done" and not lost and not progress.unfit:
        parts.append("nothing was skipped")
    return "; ".join(parts) + "."


def _control(progress: Progress) -> str:
    return f" and {words.counted(progress.control, 'control record')}" if progress.control else ""


def _of(query: Query, progress: Progress) -> str:
    if query.start == "live":
        return ""
    spans, backward = progress.spans, is_backward(query)
    total = sum((span.last or 0) - span.first for span in spans)
    read = sum(span.offsets_read(backward) for span in spans)
    return f", {words.whole(read)} of {words.counted(total, 'offset')} in {words.counted(len(spans), 'partition')}"


_WORDS: dict[State, str] = {
    "queued": "waiting",
    "running": "searching",
    "done": "read to the end",
    "full": "as many as wanted",
    "stopped": "stopped",
    "timed_out": "out of time",
    "interrupted": "interrupted",
    "failed": "failed",
}


def state_words(state: State) -> str:
    return _WORDS[state]


def level(state: State) -> str:
    return (
        "bad"
        if state == "failed"
        else "warn"
        if state in ("interrupted", "timed_out")
        else "notice"
        if state in ("queued", "running")
        else "ok"
    )


def in_order(found: Sequence[Found], order: str) -> list[Found]:
    """As found, or all that were found by time (newest first) or by partition and offset."""
    if order == "time":
        return sorted(found, key=lambda one: (-(one.timestamp_ms or 0), one.partition, -one.offset))
    return sorted(found, key=lambda one: (one.partition, one.offset)) if order == "offset" else list(found)
