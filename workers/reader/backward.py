"""Reading back from the end: windows of offsets, all partitions side by side, the newest records first.

What a window holds comes in the order of time, but of one partition always its newest first: so whatever is not shown any more lies
below what is, and another search goes on there. A window that was fast is followed by a larger one.
"""

from __future__ import annotations

import heapq
import time
from collections import deque

from confluent_kafka import Message

from console.gateway.record_log import EARLIEST, END, LOST, RecordLog
from console.rules.records.progress import Found, Span
from workers.reader.finding import found_of
from workers.reader.run import Run
from workers.reader.veiled import sight
from workers.reader.wanted import Wanted

WINDOW_S, WINDOW_LONG_S = 0.5, 2.0
WINDOW_MAX = 200_000


class Window:
    """A partition's part of a pass: from `low` on; `at` is the next offset to be read."""

    def __init__(self, span: Span, offsets: int, keep: int) -> None:
        self.span, self.low = span, max(span.first, span.at - offsets)
        self.at, self.records, self.bytes = self.low, 0, 0
        self.empty, self.aborted, self.lost = 0, 0, 0
        self.found: deque[Found] = deque(maxlen=keep)
        self.dropped = False

    def keep(self, one: Found) -> None:
        self.dropped |= len(self.found) == self.found.maxlen
        self.found.append(one)


class Backward:
    def __init__(self, run: Run, log: RecordLog, test: Wanted | None) -> None:
        self._run, self._log, self._test = run, log, test
        self._see = sight(run.search, run.schemas)

    def read(self) -> None:
        offsets = max(self._run.left, 20) if self._test is None else 1_000
        while open_spans := [span for span in self._run.spans.values() if not span.is_read(True)]:
            began_s = time.monotonic()
            windows = {span.partition: Window(span, offsets, self._run.left) for span in open_spans}
            self._pass(windows)
            self._publish(windows)
            took_s = time.monotonic() - began_s
            offsets = min(offsets * 4, WINDOW_MAX) if took_s < WINDOW_S else max(offsets // 2, 20) if took_s > WINDOW_LONG_S else offsets

    def _pass(self, windows: dict[int, Window]) -> None:
        unread = dict(windows)
        self._log.seek({number: window.low for number, window in windows.items()})
        for batch in self._log.batches():
            for message in batch:
                window = unread.get(message.partition() or 0)
                if window is None:
                    continue
                if message.error() is not None:
                    self._told(window, message)
                else:
                    self._take(window, message)
                if window.at >= window.span.at:
                    del unread[window.span.partition]
            if not unread:
                return
            self._run.breathe()

    def _take(self, window: Window, message: Message) -> None:
        offset: int = message.offset()  # type: ignore[assignment]
        if offset < window.at:
            return
        end = min(offset, window.span.at)
        self._pass_over(window, end)
        if offset >= window.span.at:
            return
        window.at = offset + 1
        window.records += 1
        window.bytes += len(message)
        seen = message if self._see is None else self._see(message)
        if self._test is None or self._test(seen):
            window.keep(found_of(seen, self._run.search))

    def _pass_over(self, window: Window, until: int) -> None:
        """Offsets that hold nothing for a client."""
        for gap in self._run.between(window.span.partition, window.at, until):
            window.aborted += gap.aborted
            window.empty += gap.until - window.at - gap.aborted
            window.at = gap.until
            if gap.control is not None:
                window.keep(gap.control)

    def _told(self, window: Window, message: Message) -> None:
        error = message.error()
        if error is None:
            return
        if error.code() == END and (message.offset() or 0) >= window.span.at:
            self._pass_over(window, window.span.at)
        elif error.code() == LOST:
            first = self._log.offsets([window.span.partition], EARLIEST)[window.span.partition]
            to = min(max(first, window.at), window.span.at)
            window.lost += to - window.at
            window.at = to
            if to < window.span.at:
                self._log.move(window.span.partition, to)

    def _publish(self, windows: dict[int, Window]) -> None:
        """The newest of all windows, as many as are wanted; what does not fit is left to whoever goes on."""
        newest = heapq.merge(*(reversed(window.found) for window in windows.values()), key=lambda one: -(one.timestamp_ms or 0))
        shown = [one for _, one in zip(range(self._run.left), newest, strict=False)]
        count = dict.fromkeys(windows, 0)
        lowest: dict[int, int] = {}
        for one in shown:
            count[one.partition] += 1
            lowest[one.partition] = one.offset
        for number, window in windows.items():
            span = window.span
            span.records, span.bytes = span.records + window.records, span.bytes + window.bytes
            span.empty, span.aborted, span.lost = span.empty + window.empty, span.aborted + window.aborted, span.lost + window.lost
            is_whole = count[number] == len(window.found) and not window.dropped
            span.at = window.low if is_whole else lowest.get(number, span.at)
        for one in shown:
            self._run.add(one)
