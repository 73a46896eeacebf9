"""What the analyses have found, and when the next one is due."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db.models import QuerySet
from django.utils import timezone

from console.gateway import driver
from console.models import AnalysisTable, BrokerThroughput, Cluster, ConsoleSetting, Job, LagSummary, ThroughputSummary
from console.queries import NotFound
from console.rules.analysis.answers import answers
from console.rules.analysis.model import Answer, Table
from console.rules.analysis.resident import Resident, resident
from console.rules.schedule import next_due
from console.rules.settings.of_console import ANALYTICS_MINUTES, ANALYTICS_MODE, CONTINUOUS

Series = dict[str, dict[str, list[Any]]]
LONG_MS = 600_000
MINUTES_FOR = timedelta(hours=6)
"""A span of so much is shown by windows of a minute, a longer one by windows of ten minutes."""
TABLES = (
    "topics",
    "topics_week",
    "brokers",
    "partitions",
    "lag",
    "lag_week",
    "catching_up",
    "skew",
    "flapping",
    "profile",
    "disks",
    "lags",
    "two_days",
)
"""What can be had whole, as the last analysis left it."""
KINDS = {"csv": "text/csv; charset=utf-8", "parquet": "application/vnd.apache.parquet"}


def analytics_due(cluster: Cluster) -> datetime | None:
    """When the next analysis starts by itself; None where only somebody asks for one, or a driver stays. Samples are of the system's own
    cluster alone."""
    if cluster.pk != settings.LOCAL_CLUSTER or is_continuous():
        return None
    last = Job.objects.filter(cluster=cluster, kind="analytics").order_by("-id").first()
    minutes = ConsoleSetting.number(ANALYTICS_MINUTES)
    every = settings.ANALYTICS_EVERY if minutes is None else timedelta(minutes=minutes)
    return next_due(last.created_at if last else None, cluster.created_at, every)


def is_continuous() -> bool:
    """Whether a driver is to stay."""
    own = ConsoleSetting.text(ANALYTICS_MODE)
    return (settings.ANALYTICS_MODE if own is None else own) == CONTINUOUS


def resident_of(cluster: Cluster) -> Resident | None:
    """The driver that stays, where one is to."""
    return resident_now() if cluster.pk == settings.LOCAL_CLUSTER and is_continuous() else None


def resident_now() -> Resident:
    """What is known of the driver that stays."""
    return resident(driver.read(driver.RESIDENT), driver.read("progress.json"))


def answered_at(cluster: Cluster) -> datetime | None:
    """Of when what the tables say is."""
    return AnalysisTable.objects.filter(cluster=cluster).order_by("-at").values_list("at", flat=True).first()


def window_seconds(since: datetime) -> int:
    """Of the windows that are shown from then on: minutes for `MINUTES_FOR`, else ten minutes."""
    return 60 if timezone.now() - since <= MINUTES_FOR + timedelta(minutes=1) else 600


def throughput_series(cluster: Cluster, since: datetime) -> Series:
    """`{topic: {t, bytes_per_s, messages_per_s}}`, oldest first."""
    return _rates(ThroughputSummary.objects.filter(window_seconds=window_seconds(since)), "topic", cluster, since)


def broker_series(cluster: Cluster, since: datetime) -> Series:
    """The same of brokers, `{"broker 1": …}`."""
    found = _rates(BrokerThroughput.objects.all(), "broker", cluster, since)
    return {f"broker {broker}": line for broker, line in found.items()}


def _rates(rows: QuerySet[Any], name: str, cluster: Cluster, since: datetime) -> Series:
    found: Series = {}
    columns = (name, "window_start", "bytes_per_s", "messages_per_s")
    for key, at, size, messages in rows.filter(cluster=cluster, window_start__gte=since).order_by("window_start").values_list(*columns):
        line = found.setdefault(key, {"t": [], "bytes_per_s": [], "messages_per_s": []})
        line["t"].append(int(at.timestamp() * 1000))
        line["bytes_per_s"].append(size)
        line["messages_per_s"].append(messages)
    return found


def lag_series(cluster: Cluster, since: datetime) -> Series:
    """`{group: {t, lag}}` (largest lag of the window summed over topics; None where one is not known), oldest first."""
    sums: dict[str, dict[int, int | None]] = {}
    rows = LagSummary.objects.filter(cluster=cluster, window_start__gte=since, window_seconds=window_seconds(since))
    for group, at, lag in rows.order_by("window_start").values_list("group", "window_start", "lag_max"):
        at_ms = int(at.timestamp() * 1000)
        windows = sums.setdefault(group, {})
        before = windows.get(at_ms, 0)
        windows[at_ms] = None if lag is None or before is None else before + lag
    return {group: {"t": list(windows), "lag": list(windows.values())} for group, windows in sums.items()}


def analysis_answers(cluster: Cluster) -> tuple[list[Answer], datetime | None]:
    """What the last analysis says, and of when it is; None where there was none."""
    rows = list(AnalysisTable.objects.filter(cluster=cluster))
    at = max((row.at for row in rows), default=None)
    return answers({row.name: Table(row.rows, row.left_off) for row in rows}), at


def table_file(cluster: Cluster, name: str, kind: str) -> tuple[Path, int]:
    """The file of a table and its bytes; `NotFound` where there is none."""
    if name not in TABLES or kind not in KINDS or cluster.pk != settings.LOCAL_CLUSTER:
        raise NotFound(f"There is no such table of this cluster's analyses: there are {', '.join(TABLES)}, as {' or '.join(KINDS)}.")
    path = driver.folder() / "tables" / f"{name}.{kind}"
    try:
        return path, path.stat().st_size
    except FileNotFoundError:
        raise NotFound(f"The analyses have left no table {name} yet: it is there after the first one that had samples.") from None
