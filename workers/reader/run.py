"""One run of a search: it looks whether it shall stop, tells how far it is, and keeps to its limits. What it reads, and in which order,
say `forward.py` and `backward.py`."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from console.clock import now_ms
from console.gateway.schema_registry import SchemaRegistry
from console.rules.records.progress import Found, Gap, Progress, Search, Span
from console.searches import store
from workers.reader.decoder import Decoder
from workers.reader.opened import Schemas
from workers.reader.origins import Origins

if TYPE_CHECKING:
    from workers.reader.exporting import Export

TELL_S = 0.25
STOP_LOOK_S = 0.25
RUN_S, EXPORT_S = 600.0, 3600.0
UNWATCHED_S = 60.0
"""A live search that nobody has looked at for so long ends."""
LIVE_KEPT = 500


class Over(Exception):
    """The run ends, as `state` says, because of `reason`."""

    def __init__(self, state: str, reason: str = "") -> None:
        super().__init__(reason)
        self.state, self.reason = state, reason


class Run:
    """What a run has found and not told yet, and its clocks."""

    def __init__(self, search: Search, progress: Progress, bytes_per_s: int, registry: SchemaRegistry | str | None = None) -> None:
        self.origins: Origins | None = None
        self.export: Export | None = None
        self.schemas = Schemas(registry, search.topic, Decoder())
        self.search, self.progress, self._bytes_per_s = search, progress, bytes_per_s
        self.spans: dict[int, Span] = {span.partition: span for span in progress.spans}
        self.is_live = search.query.start == "live"
        self._news: list[Found] = []
        self._began_s = self._told_s = self._looked_s = time.monotonic()
        self._read_ms_before, self._bytes_before = progress.read_ms, self.bytes_read
        self._began_ms = now_ms()

    @property
    def bytes_read(self) -> int:
        return sum(span.bytes for span in self.spans.values())

    @property
    def left(self) -> int:
        """How many more are wanted."""
        return self.search.query.count - self.progress.found

    def add(self, one: Found) -> None:
        """`Over` once there are as many as wanted: its own span must be ahead of it by then."""
        one = one if self.origins is None else self.origins.told(one)
        self._news.append(one)
        self.progress.found += 1
        self.progress.control += one.origin is not None and one.origin.control is not None
        if self.left <= 0 and not self.is_live:
            raise Over("full")

    def between(self, partition: int, first: int, until: int) -> Iterator[Gap]:
        """What is to be told of offsets that hold nothing for a client, up to `until`; `Over` may come after each."""
        if self.origins is None:
            yield Gap(until=until)
            return
        for gap in self.origins.between(partition, first, until):
            yield gap
            self.breathe()

    def close(self) -> None:
        self.schemas.close()
        if self.origins is not None:
            self.origins.close()

    def breathe(self) -> None:
        """Between two batches."""
        now_s = time.monotonic()
        if now_s - self._told_s >= TELL_S or len(self._news) >= LIVE_KEPT:
            self.tell()
        if now_s - self._looked_s >= STOP_LOOK_S:
            self._looked_s = now_s
            self._look(now_s)
        if self.export is not None and self.export.is_full:
            raise Over("full", "The file has as much as one may.")
        ahead_s = (self.bytes_read - self._bytes_before) / self._bytes_per_s - (now_s - self._began_s)
        if ahead_s > 0:
            time.sleep(min(ahead_s, TELL_S))

    def _look(self, now_s: float) -> None:
        reason = store.stopped(self.search.id)
        if reason is not None:
            raise Over("stopped", reason)
        run_s = EXPORT_S if self.export is not None else RUN_S
        if now_s - self._began_s > run_s:
            raise Over("timed_out", f"It has read for {run_s / 60:.0f} minutes, which is as long as one run may.")
        if self.is_live and now_ms() - max(store.looked_ms(self.search.id), self._began_ms) > UNWATCHED_S * 1000:
            raise Over("stopped", "Nobody has looked at it for a minute.")

    def tell(self) -> None:
        self._told_s = time.monotonic()
        self.progress.read_ms = self._read_ms_before + round((self._told_s - self._began_s) * 1000)
        self.progress.spans = list(self.spans.values())
        news, self._news = self._news, []
        if self.export is not None:
            self.export.write(news)
            news = []
        store.tell(self.search, self.progress, news, LIVE_KEPT if self.is_live else 1_000_000)
