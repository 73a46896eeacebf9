"""A driver's summary as rows: series by window, which replace those of the same windows, and each other table as a whole.

A run has all windows of the last day and week anew; only those that are other than before are written.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.db import transaction

from console.models import AnalysisTable, BrokerThroughput, Cluster, LagSummary, ThroughputSummary, trim

VERSION = 2
MINUTE_S, LONG_S = 60, 600
RATES = {
    f"{what}_{'per_s' if how == 'mean' else how}": f"{what}_{how}"
    for what in ("bytes", "messages")
    for how in ("mean", "p50", "p95", "max")
}
"""Columns of a row in the database, and what the driver calls them."""
LAGS = {"lag_max": "lag_max", "lag_avg": "lag_avg"}


@dataclass(frozen=True)
class Series:
    """A table of the summary that goes into rows of `model`: seconds of a window, what names a line, columns and the driver's figures."""

    table: str
    model: Any
    seconds: int
    names: tuple[str, ...]
    figures: Mapping[str, str]


SERIES = (
    Series("topics", ThroughputSummary, MINUTE_S, ("topic",), RATES),
    Series("topics_week", ThroughputSummary, LONG_S, ("topic",), RATES),
    Series("brokers", BrokerThroughput, LONG_S, ("broker",), RATES),
    Series("lag", LagSummary, MINUTE_S, ("group", "topic"), LAGS),
    Series("lag_week", LagSummary, LONG_S, ("group", "topic"), LAGS),
)
TABLES = ("partitions", "catching_up", "skew", "flapping", "profile", "disks", "lags", "two_days")


class UnknownSummary(Exception):
    """The summary is another version's."""


def save(cluster: Cluster, summary: Mapping[str, Any]) -> dict[str, int]:
    """Rows of the cluster; returns how many windows of throughput and of lag the summary has."""
    if summary.get("version") != VERSION:
        raise UnknownSummary(f"The driver wrote a summary of version {summary.get('version')!r}, not {VERSION}: it is of another release.")
    counts = {"throughput": 0, "lag": 0}
    for series in SERIES:
        rows = _of(cluster, summary["tables"].get(series.table, {}).get("rows", ()))
        _upsert(series, cluster, rows)
        if series.seconds == MINUTE_S:
            counts["lag" if series.model is LagSummary else "throughput"] += len(rows)
    at = moment(summary["ended_at_ms"])
    with transaction.atomic():
        for name in TABLES:
            table = summary["tables"].get(name, {})
            rows, left_off = _of(cluster, table.get("rows", ())), int(table.get("left_off", 0))
            AnalysisTable.objects.update_or_create(cluster=cluster, name=name, defaults={"at": at, "rows": rows, "left_off": left_off})
    return counts


def _upsert(series: Series, cluster: Cluster, rows: list[Mapping[str, Any]]) -> None:
    if not rows:
        return
    known = _known(series, cluster, moment(min(row["window_start_ms"] for row in rows)))
    changed = [
        series.model(
            cluster=cluster,
            window_seconds=series.seconds,
            window_start=moment(row["window_start_ms"]),
            **{name: row[name] for name in series.names},
            **{column: row[figure] for column, figure in series.figures.items()},
        )
        for row in rows
        if known.get(_key(series, row)) != tuple(row[figure] for figure in series.figures.values())
    ]
    unique = ["cluster", *series.names, "window_start", "window_seconds"]
    rows_of = series.model.objects
    rows_of.bulk_create(changed, batch_size=500, update_conflicts=True, unique_fields=unique, update_fields=list(series.figures))
    trim(rows_of.all(), series.model.KEEP)


def _known(series: Series, cluster: Cluster, since: datetime) -> dict[tuple[Any, ...], tuple[Any, ...]]:
    """Figures by window and line, as they are there."""
    columns = ("window_start", *series.names)
    there = series.model.objects.filter(cluster=cluster, window_seconds=series.seconds, window_start__gte=since)
    rows = there.values_list(*columns, *series.figures).iterator()
    return {row[: len(columns)]: row[len(columns) :] for row in rows}


def _key(series: Series, row: Mapping[str, Any]) -> tuple[Any, ...]:
    return (moment(row["window_start_ms"]), *(row[name] for name in series.names))


def _of(cluster: Cluster, rows: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return [row for row in rows if row["cluster"] == cluster.pk]


def moment(at_ms: int) -> datetime:
    return datetime.fromtimestamp(at_ms / 1000, UTC)
