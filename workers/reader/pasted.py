"""A record that was typed and is nowhere written: hidden and shown as if it had been read, to see what rules do to it."""

from __future__ import annotations

from typing import Any

from confluent_kafka import TIMESTAMP_NOT_AVAILABLE

from console.rules.records.writing import Raw
from workers.reader.finding import found_of
from workers.reader.run import Over, Run
from workers.reader.veiled import sight


class Pasted:
    """With the interface of librdkafka's message, as far as searches use it."""

    def __init__(self, raw: Raw) -> None:
        self._raw = raw

    def key(self) -> bytes | None:
        return self._raw.key

    def value(self) -> bytes | None:
        return self._raw.value

    def headers(self) -> Any:
        return self._raw.headers

    def partition(self) -> int | None:
        return None

    def offset(self) -> int | None:
        return None

    def timestamp(self) -> tuple[int, int]:
        return TIMESTAMP_NOT_AVAILABLE, 0

    def leader_epoch(self) -> int | None:
        return None


def show(run: Run, raw: Raw) -> tuple[str, str]:
    """The state that the search ends in, and why."""
    see = sight(run.search, run.schemas)
    message: Any = Pasted(raw)
    try:
        run.add(found_of(message if see is None else see(message), run.search))
    except Over as over:
        return over.state, over.reason
    return "done", ""
