"""Hostile or old records in the topic: each is a sample or is set aside, for a reason that is counted."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.support.samples import DAY_MS, HOUR_MS, START_MS, disk, group, partition
from workers.spark.parsing import parse
from workers.spark.schemas import SAMPLE, SchemaMismatch, shaped

NOW_MS = START_MS + HOUR_MS


def judged(spark: SparkSession, values: list[bytes | None]) -> list[Any]:
    rows = [(0, n, None if value is None else bytearray(value)) for n, value in enumerate(values)]
    found = parse(spark.createDataFrame(rows, "partition int, offset long, value binary"), NOW_MS, 8 * DAY_MS).collect()
    return sorted(found, key=lambda row: row.from_offset)


def test_samples_of_all_kinds_pass_with_their_day(spark: SparkSession) -> None:
    found = judged(spark, [json.dumps(row).encode() for row in (partition(0, 7), group(0, 3), disk(-1, 5), group(0, None))])
    assert [row.why for row in found] == [None] * 4
    assert [row.day.isoformat() for row in found] == ["2023-11-14", "2023-11-14", "2023-11-13", "2023-11-14"]


@pytest.mark.parametrize(
    ("value", "why"),
    [
        *(
            (value, "no sample")
            for value in (None, b"", b"{", b"\xff\xfe", b"[]", b"null", b"7", b'{"v":2,"kind":"partition"}', b'{"v":"1"}')
        ),
        (json.dumps({**partition(0, 1), "kind": "weather"}).encode(), "unknown kind"),
        (json.dumps({**partition(0, 1), "kind": None}).encode(), "unknown kind"),
        (json.dumps({**partition(0, 1), "at_ms": None}).encode(), "incomplete"),
        (json.dumps({**partition(0, 1), "topic": None}).encode(), "incomplete"),
        (json.dumps({**group(0, 1), "group": None}).encode(), "incomplete"),
        (json.dumps({**disk(0, 1), "broker": None}).encode(), "incomplete"),
        (json.dumps({**partition(0, 1), "cluster": None}).encode(), "incomplete"),
        *(
            (json.dumps({**partition(0, 1), "at_ms": at}).encode(), "wrong time")
            for at in (0, -1, 2**63 - 1, -(2**63), NOW_MS + 2 * HOUR_MS)
        ),
        *((json.dumps(partition(0, end)).encode(), "out of range") for end in (-1, 2**63 - 1)),
        (json.dumps({**disk(0, 1), "disk_total_bytes": 2**62}).encode(), "out of range"),
    ],
)
def test_what_is_no_sample_has_a_reason(spark: SparkSession, value: bytes | None, why: str) -> None:
    (row,) = judged(spark, [value])
    assert (row.why, row.day) == (why, None)


def test_a_wrong_column_is_named(spark: SparkSession) -> None:
    with pytest.raises(SchemaMismatch, match="at_ms"):
        shaped(spark.createDataFrame([(1,)], "v int"), SAMPLE)
