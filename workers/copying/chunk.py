"""A piece of a copy: so many records are read, written and acknowledged, then told. What is told is kept with the job; a piece whose
process died is begun again where the one before ended.

Such a piece may have written already. Records that are marked are therefore looked for in what the target got since then, and are not
written again. Only a process that was stopped for longer than the lease of its job, and then goes on, could write one twice. Without
marks the records of a piece whose process died are written again.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from console.gateway.connection import Connection
from console.gateway.errors import GatewayError
from console.gateway.record_copier import Copier, Header
from console.gateway.record_log import EARLIEST, LATEST, RecordLog
from console.rules.records.progress import Gap, Progress, Search, Span
from console.rules.records.query import Query, WrongQuery
from workers.reader.bounds import TooLong
from workers.reader.forward import Forward
from workers.reader.plan import spans_of
from workers.reader.run import Over
from workers.reader.wanted import wanted

CHUNK_S, CHUNK_RECORDS, CHUNK_BYTES = 3.0, 20_000, 64 * 1024 * 1024
MARK = "highwater-copied-from"
GONE = "UNKNOWN_TOPIC_OR_PARTITION"
Place = tuple[int, int]


class Order(Struct, kw_only=True):
    """What is to be copied. `target_at`: where each partition of the target ended when the last piece was told; `written`: records of the
    source that were found there since, by partition and offset."""

    job: int
    source: str
    target: str
    query: Query
    partitions: list[int] | None = None
    to_offset: int | None = None
    keep_partition: bool = False
    mark: bool = True
    spans: list[Span] = []
    target_at: dict[int, int] = {}
    written: list[Place] = []


class Told(Struct, kw_only=True):
    """What a piece has done, and where the next one begins. `error`: nothing of it counts."""

    spans: list[Span] = []
    target_at: dict[int, int] = {}
    written: list[Place] = []
    copied: int = 0
    already_there: int = 0
    bytes: int = 0
    unfit: int = 0
    error: str = ""
    error_name: str = ""
    error_code: int | None = None
    retriable: bool = False


class Run:
    """As the reader's code wants it: the limits of one piece."""

    def __init__(self, topic: str, query: Query, spans: list[Span]) -> None:
        self.schemas = None  # what is copied stays as it was written
        self.search = Search(id="", cluster="", topic=topic, query=query, by="", asked_ms=0)
        self.progress = Progress()
        self.spans = {span.partition: span for span in spans}
        self._records = sum(span.records for span in spans)
        self._bytes = sum(span.bytes for span in spans)
        self._end_s = time.monotonic() + CHUNK_S

    def between(self, _partition: int, _first: int, until: int) -> Iterator[Gap]:
        """What holds no committed record is not copied, and not looked into."""
        yield Gap(until=until)

    def breathe(self) -> None:
        """Between two batches; `Over` where the piece is large enough."""
        records = sum(span.records for span in self.spans.values()) - self._records
        size = sum(span.bytes for span in self.spans.values()) - self._bytes
        if records >= CHUNK_RECORDS or size >= CHUNK_BYTES or time.monotonic() >= self._end_s:
            raise Over("full")


class Copying(Forward):
    """Sends on what is wanted, but for what is there already."""

    def __init__(self, run: Any, log: RecordLog, order: Order, copier: Copier) -> None:
        super().__init__(run, log, wanted(order.query, run.progress))
        self._order, self._copier, self._there = order, copier, set(order.written)
        self.copied, self.already_there, self.bytes = 0, 0, 0

    def _keep(self, seen: Any) -> None:
        place = (seen.partition(), seen.offset())
        if place in self._there:
            self.already_there += 1
            return
        mark = mark_of(self._order, *place) if self._order.mark else None
        self._copier.send(seen, partition=place[0] if self._order.keep_partition else None, mark=mark)
        self.copied += 1
        self.bytes += len(seen)


class Marks(Forward):
    """Finds what a job has written of a source."""

    def __init__(self, run: Any, log: RecordLog, order: Order) -> None:
        super().__init__(run, log, None)
        self._fits = re.compile(rf"{re.escape(order.source)}/(\d+)/(\d+) job {order.job}".encode())
        self.found: list[Place] = []

    def _keep(self, seen: Any) -> None:
        for name, raw in seen.headers() or ():
            match = self._fits.fullmatch(raw or b"") if name == MARK else None
            if match:
                self.found.append((int(match[1]), int(match[2])))


def mark_of(order: Order, partition: int, offset: int) -> Header:
    return MARK, f"{order.source}/{partition}/{offset} job {order.job}".encode()


def begin(connection: Connection, order: Order) -> Told:
    """Which offsets of which partitions are to be copied, and where the target ends."""
    with RecordLog(connection, order.source, committed=True) as log:
        _refuse_gone(log, order.source)
        found = [span for span in spans_of(order.query, log) if order.partitions is None or span.partition in order.partitions]
    for span in found:
        last = span.last or 0
        span.last = last if order.to_offset is None else max(min(last, order.to_offset), span.first)
    with RecordLog(connection, order.target) as log:
        _refuse_gone(log, order.target)
        return Told(spans=found, target_at=log.offsets(log.partitions(), LATEST))


def piece(connection: Connection, order: Order) -> Told:
    """The next piece of the copy; or, where the target got much since the last one was told, a piece of looking through that."""
    with RecordLog(connection, order.target) as log:
        _refuse_gone(log, order.target)
        if order.mark and not _looked_through(log, order):
            return Told(spans=order.spans, target_at=order.target_at, written=order.written)
    run = Run(order.source, order.query, order.spans)
    copier = Copier(connection, order.target)
    with RecordLog(connection, order.source, committed=True) as log:
        _refuse_gone(log, order.source)
        copying = Copying(run, log, order, copier)
        _until_over(copying)
    copier.settle()
    with RecordLog(connection, order.target) as log:
        ends = log.offsets(log.partitions(), LATEST)
    left = [place for place in order.written if place[0] in run.spans and place[1] >= run.spans[place[0]].at]
    return Told(
        spans=list(run.spans.values()),
        target_at=ends,
        written=left,
        copied=copying.copied,
        already_there=copying.already_there,
        bytes=copying.bytes,
        unfit=run.progress.unfit,
    )


def _refuse_gone(log: RecordLog, topic: str) -> None:
    """Whoever reads a topic that was deleted is told nothing, and waits."""
    try:
        log.partitions()
    except GatewayError as error:
        if error.name != GONE:
            raise
        raise GatewayError(GONE, f"topic {topic} is not there", error.code, retriable=True) from error


def _looked_through(log: RecordLog, order: Order) -> bool:
    """Brings `written` and `target_at` up to where the target ends now; False where that is not reached in one piece."""
    ends = log.offsets(log.partitions(), LATEST)
    first = log.offsets(ends, EARLIEST)
    since = {number: max(order.target_at.get(number, 0), first[number]) for number in ends}
    spans = [Span(partition=n, first=since[n], last=end, at=since[n]) for n, end in ends.items() if since[n] < end]
    run = Run(order.target, Query(start="oldest"), spans)
    marks = Marks(run, log, order)
    is_whole = _until_over(marks)
    order.written = sorted({*order.written, *marks.found})
    order.target_at = {**ends, **{span.partition: span.at for span in spans}}
    return is_whole


def _until_over(reading: Forward) -> bool:
    """Whether it came to its end."""
    try:
        reading.read()
    except Over:
        return False
    return True


def told(work: Any, connection: Connection, order: Order) -> Told:
    """The same, with what went wrong in words."""
    try:
        found: Told = work(connection, order)
        return found
    except GatewayError as error:
        return Told(error=error.message, error_name=error.name, error_code=error.code, retriable=error.retriable)
    except (WrongQuery, TooLong) as error:
        said = "in one record the JSON path was at work for longer than it may be" if isinstance(error, TooLong) else str(error)
        return Told(error=said, error_name="NOT_COPIED")
