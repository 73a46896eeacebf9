"""The time of a single record, as its leader has it."""

from __future__ import annotations

from typing import NamedTuple


class Asked(NamedTuple):
    topic: str
    partition: int
    offset: int


class RecordTime(NamedTuple):
    """The time of the record at an offset; `is_exact` is false where only the times of its batch are known, and those are far apart."""

    offset: int
    at_ms: int
    is_exact: bool
