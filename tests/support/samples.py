"""Samples small enough to check by hand, for the analyses' tests: rows, and frames of them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from workers.spark.schemas import SAMPLE

START_MS = 1_699_920_000_000
"""A midnight in UTC."""
HOUR_MS, DAY_MS = 3_600_000, 24 * 3_600_000
BLANK = {field.name: None for field in SAMPLE}
Row = dict[str, Any]


def partition(at_s: float, end: int | None, topic: str = "orders", number: int = 0, **more: Any) -> Row:
    """Of a log that begins at 0; `at_s` seconds after the start."""
    row = _row("partition", at_s, topic=topic, partition=number, leader=1, isr=3, replicas=3, log_end_offset=end, log_start_offset=0)
    return {**row, "size_bytes": 0, **more}


def group(at_s: float, behind: int | None, number: int = 0, name: str = "billing", committed: int = 0, **more: Any) -> Row:
    end = None if behind is None else committed + behind
    return _row("group", at_s, group=name, topic="orders", partition=number, lag=behind, committed=committed, log_end_offset=end, **more)


def disk(at_s: float, used: int | None, broker: int = 1, folder: str = "/d", total: int | None = 1_000_000) -> Row:
    return _row("broker", at_s, broker=broker, folder=folder, disk_used_bytes=used, disk_total_bytes=total)


def frame(spark: SparkSession, rows: list[Row]) -> DataFrame:
    return spark.createDataFrame([tuple(row[field.name] for field in SAMPLE) for row in rows], SAMPLE)


def by_window(result: DataFrame) -> dict[int, Any]:
    """Rows by seconds since the start."""
    zero = datetime.fromtimestamp(START_MS / 1000)  # Spark gives local time without a zone
    return {int((row.window_start - zero).total_seconds()): row for row in result.collect()}


def day_of(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1000, UTC).date().isoformat()


def _row(kind: str, at_s: float, **known: Any) -> Row:
    return {**BLANK, "v": 1, "kind": kind, "cluster": "local", "at_ms": START_MS + round(at_s * 1000), **known}
