"""Reading on: all partitions side by side, each up to the end that it had when the search began, or without an end."""

from __future__ import annotations

from confluent_kafka import Message

from console.gateway.record_log import EARLIEST, END, LOST, RecordLog
from console.rules.records.progress import Span
from workers.reader.finding import found_of
from workers.reader.run import Run
from workers.reader.veiled import Seen, sight
from workers.reader.wanted import Wanted


class Forward:
    def __init__(self, run: Run, log: RecordLog, test: Wanted | None) -> None:
        self._run, self._log, self._test = run, log, test
        self._see = sight(run.search, run.schemas)
        self._open = {span.partition: span for span in run.spans.values() if not span.is_read(False)}

    def read(self) -> None:
        if not self._open:
            return
        self._log.seek({number: span.at for number, span in self._open.items()})
        for batch in self._log.batches():
            self._take(batch)
            if not self._open:
                return
            self._run.breathe()

    def _take(self, batch: list[Message]) -> None:
        spans, test, see = self._open, self._test, self._see
        for message in batch:
            if message.error() is not None:
                self._told(message)
                continue
            span = spans.get(message.partition())  # type: ignore[arg-type]
            if span is None:
                continue
            offset: int = message.offset()  # type: ignore[assignment]
            if offset != span.at and not self._jumped(span, offset):
                continue
            span.at = offset + 1
            span.records += 1
            span.bytes += len(message)
            seen = message if see is None else see(message)
            if test is None or test(seen):
                self._keep(seen)
            if span.at == span.last:
                self._ended(span)

    def _keep(self, seen: Seen) -> None:
        """What is done with a record that is wanted."""
        self._run.add(found_of(seen, self._run.search))

    def _jumped(self, span: Span, offset: int) -> bool:
        """Whether the record belongs to the search; offsets before it that have none are counted."""
        if offset < span.at:
            return False
        if span.last is not None and offset >= span.last:
            self._pass_over(span, span.last)
            self._ended(span)
            return False
        self._pass_over(span, offset)
        return True

    def _pass_over(self, span: Span, until: int) -> None:
        """Offsets that hold nothing for a client."""
        for gap in self._run.between(span.partition, span.at, until):
            span.aborted += gap.aborted
            span.empty += gap.until - span.at - gap.aborted
            span.at = gap.until
            if gap.control is not None:
                self._run.add(gap.control)

    def _ended(self, span: Span) -> None:
        del self._open[span.partition]
        if self._open:
            self._log.leave(span.partition)

    def _told(self, message: Message) -> None:
        error, span = message.error(), self._open.get(message.partition() or 0)
        if error is None or span is None:
            return
        if error.code() == END and span.last is not None and (message.offset() or 0) >= span.last:
            self._pass_over(span, span.last)
            self._ended(span)
        elif error.code() == LOST:
            self._deleted(span)

    def _deleted(self, span: Span) -> None:
        """Retention was faster: it goes on where the log begins now."""
        first = self._log.offsets([span.partition], EARLIEST)[span.partition]
        to = first if span.last is None else min(first, span.last)
        span.lost += max(to - span.at, 0)
        span.at = max(to, span.at)
        if span.is_read(False):
            self._ended(span)
        else:
            self._log.move(span.partition, span.at)
