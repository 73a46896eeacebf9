"""Who wrote what a search finds, and what is between: control records and those of aborted transactions. Asked of the leaders beside the
search, where it wants to know, or reads committed records alone."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from console.gateway.batch_headers import BatchHeaders
from console.gateway.errors import GatewayError
from console.rules.records.origin import Batch, origin_of
from console.rules.records.progress import Found, Gap, Progress, Search


class Origins:
    """What cannot be had is told once in `progress`, and not asked for again: the records themselves are read by other means."""

    def __init__(self, headers: BatchHeaders, search: Search, progress: Progress) -> None:
        self._headers, self._progress = headers, progress
        self._tells, self._sorts = search.query.origin, search.query.isolation == "committed"
        self._shows_control = self._tells and not (search.query.is_filtered or search.query.path)
        self._is_away = False

    def close(self) -> None:
        self._headers.close()

    def told(self, one: Found) -> Found:
        if self._is_away or not self._tells or one.origin is not None:
            return one
        try:
            batch = self._headers.at(one.partition, one.offset)
        except GatewayError as error:
            self._missed(error)
            return one
        return one if batch is None else replace(one, origin=origin_of(batch, one.offset))

    def between(self, partition: int, first: int, until: int) -> Iterator[Gap]:
        """Offsets that hold nothing for a client, batch by batch; control records where not only some records are wanted."""
        if first < until and not self._is_away and (self._sorts or self._shows_control):
            try:
                for batch in self._headers.between(partition, first, until):
                    is_shown = self._shows_control and batch.control is not None and first <= batch.last_offset < until
                    control = _found(partition, batch) if is_shown else None
                    aborted = batch.left_out(first, until) if self._sorts else 0
                    yield Gap(until=min(batch.last_offset + 1, until), aborted=aborted, control=control)
            except GatewayError as error:
                self._missed(error)
        yield Gap(until=until)

    def _missed(self, error: GatewayError) -> None:
        self._is_away = True
        self._progress.origin_missing = error.message if self._tells else ""
        self._progress.unsorted = error.message if self._sorts else ""


def _found(partition: int, batch: Batch) -> Found:
    return Found(
        partition=partition,
        offset=batch.last_offset,
        timestamp_ms=batch.timestamp_ms,
        timestamp_type="append",
        key=None,
        value=None,
        headers=[],
        headers_total=0,
        leader_epoch=None,
        origin=origin_of(batch, batch.last_offset),
    )
