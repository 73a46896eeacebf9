"""What a run leaves for the console: one JSON document of rows that are cut to what a page can show, and each table whole as Parquet.

summary.json           {"tables": {name: {"rows": [...], "left_off": n}}, "samples": n, "aside": {why: n}, …}, written last
tables/NAME.parquet    one file; replaced at once when the next run has its own
tables/NAME.csv        the same, whose cells no spreadsheet takes for formulas
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, TimestampType

FORMULA = "^ *[=+@\\t\\r\\n-]"


@dataclass(frozen=True)
class Table:
    """A result; of the rows in `order` the first `most` are in the document."""

    frame: DataFrame
    order: tuple[str, ...]
    most: int


def write_tables(tables: Mapping[str, Table], folder: Path) -> dict[str, Any]:
    """Each table as a file of Parquet, and the document's rows read back from that: nothing is computed twice."""
    folder.mkdir(parents=True, exist_ok=True)
    found = {}
    for name, table in tables.items():
        seen = Observation()
        _write(table.frame.observe(seen, F.count("*").alias("rows")), folder, name, "parquet")
        made = table.frame.sparkSession.read.parquet(str(folder / f"{name}.parquet"))
        _write(_unformula(made), folder, name, "csv")
        rows = _rows(made, table)
        found[name] = {"rows": rows, "left_off": max(seen.get["rows"] - len(rows), 0)}
    return found


def _write(frame: DataFrame, folder: Path, name: str, kind: str) -> None:
    scratch = folder / f"{name}.part"
    frame.coalesce(1).write.mode("overwrite").format(kind).option("header", "true").option("escape", '"').save(str(scratch))
    (file,) = scratch.glob(f"part-*.{kind}")
    file.replace(folder / f"{name}.{kind}")
    shutil.rmtree(scratch)


def _unformula(frame: DataFrame) -> DataFrame:
    """A text that begins like a formula gets an apostrophe before it, as OWASP advises: a group may have any name."""
    for field in frame.schema:
        if isinstance(field.dataType, StringType):
            text = F.col(field.name)
            frame = frame.withColumn(field.name, F.when(text.rlike(FORMULA), F.concat(F.lit("'"), text)).otherwise(text))
    return frame


def _rows(frame: DataFrame, table: Table) -> list[dict[str, Any]]:
    """Moments become ms since the epoch: `window_start` is `window_start_ms`."""
    flat = _first(frame, table)
    for field in frame.schema:
        if isinstance(field.dataType, TimestampType):
            flat = flat.withColumn(f"{field.name}_ms", F.unix_millis(field.name)).drop(field.name)
    return [row.asDict() for row in flat.collect()]


def _first(frame: DataFrame, table: Table) -> DataFrame:
    """`-name` is descending; unknown comes last."""
    columns = [F.desc_nulls_last(name[1:]) if name.startswith("-") else F.asc_nulls_last(name) for name in table.order]
    return frame.orderBy(*columns).limit(table.most)


def write_json(path: Path, value: Any) -> None:
    beside = path.with_suffix(".part")
    beside.write_text(json.dumps(value, allow_nan=False), encoding="utf-8")
    beside.replace(path)
