"""All rows, in the order in which they are taken: what ends brokers comes last."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

from tests.kafka_bench import failover, latency, many, start, throughput, transactions
from tests.kafka_bench.row import Row

ROWS: tuple[Row, ...] = (
    *start.ROWS_BEFORE,
    *throughput.ROWS,
    *latency.ROWS,
    *transactions.ROWS,
    *start.ROWS_AFTER,
    *failover.ROWS,
    *many.ROWS,
)
BY_NAME = {row.name: row for row in ROWS}


class NoSuchRow(Exception):
    """A pattern that fits no row; the message names it."""


def chosen(patterns: Sequence[str]) -> list[Row]:
    """Rows whose names fit one of the patterns (`native-*`), with those that they need; all without patterns."""
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in BY_NAME):
            raise NoSuchRow(pattern)
    named = {row.name for row in ROWS if not patterns or any(fnmatchcase(row.name, pattern) for pattern in patterns)}
    return [row for row in ROWS if row.name in named | _needed(named)]


def _needed(names: Iterable[str]) -> set[str]:
    return {need for name in names if (need := BY_NAME[name].needs) is not None}
