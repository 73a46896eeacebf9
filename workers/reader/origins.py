"""Who wrote what a search finds, and the control records between: asked of the leaders beside the search, where it wants to know."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from console.gateway.batch_headers import BatchHeaders
from console.gateway.errors import GatewayError
from console.rules.records.origin import Batch, origin_of
from console.rules.records.progress import Found, Progress, Search


class Origins:
    """What cannot be had is told once in `progress`, and not asked for again: the records themselves are read by other means."""

    def __init__(self, headers: BatchHeaders, search: Search, progress: Progress) -> None:
        self._headers, self._progress = headers, progress
        self._is_filtered = search.query.is_filtered or bool(search.query.path)
        self._is_away = False

    def close(self) -> None:
        self._headers.close()

    def told(self, one: Found) -> Found:
        if self._is_away or one.origin is not None:
            return one
        try:
            batch = self._headers.at(one.partition, one.offset)
        except GatewayError as error:
            self._missed(error)
            return one
        return one if batch is None else replace(one, origin=origin_of(batch, one.offset))

    def control(self, partition: int, first: int, until: int) -> Iterator[Found]:
        """Control records among offsets that hold nothing for a client; none where only some records are wanted."""
        if self._is_away or self._is_filtered or first >= until:
            return
        try:
            for batch in self._headers.control(partition, first, until):
                yield _found(partition, batch)
        except GatewayError as error:
            self._missed(error)

    def _missed(self, error: GatewayError) -> None:
        self._is_away, self._progress.origin_missing = True, error.message


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
