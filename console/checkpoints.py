"""Queries of Spark's Structured Streaming beside the groups: their offsets are in checkpoint folders and in no coordinator.

A folder is `offsets/N`, what batch N reads up to, and `commits/N`, there once it is done. The last batch with both says where the query
stands; the topics' ends come from the live snapshot.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

from django.conf import settings
from msgspec import Meta, Struct

from broker_core.contract.live import Count
from console.rules.checkpoints import Offsets, Unreadable, offsets, sentence
from console.snapshot.placed import Place
from console.snapshot.read import Snapshot

FILE_MOST_BYTES = 2**20
FILES_MOST = 20_000
UNKNOWN = "unknown"


class QueryPart(Struct, frozen=True):
    """One partition of a query; `lag` is null where the log's end is not known."""

    topic: str
    partition: int
    offset: Annotated[int, Meta(description="that the next batch begins with")]
    end_offset: Count
    lag: Count


class SparkQuery(Struct, frozen=True, kw_only=True):
    """A query as its checkpoint tells it. `wrong` says why nothing is known of it."""

    name: str
    topics: list[str]
    batch: Count
    committed_at_ms: Count
    lag: Annotated[Count, Meta(description="records that came since; null where the end of a partition is not known")]
    parts: list[QueryPart]
    sentence: str
    wrong: str | None = None


def spark_queries(cluster_id: str, snapshot: Snapshot, now_ms: int) -> list[SparkQuery]:
    """Of the folders that `HIGHWATER_SPARK_CHECKPOINTS` names, and of the console's own analysis once it has run; all are of this system's
    own cluster."""
    if cluster_id != settings.LOCAL_CLUSTER:
        return []
    own = {name: folder for name, folder in settings.OWN_CHECKPOINTS.items() if folder.exists()}
    return [_query(name, folder, snapshot, now_ms) for name, folder in sorted((own | settings.SPARK_CHECKPOINTS).items())]


def _query(name: str, folder: Path, snapshot: Snapshot, now_ms: int) -> SparkQuery:
    try:
        batch = _last(folder)
        read_up_to = offsets(_text(folder / "offsets" / str(batch)))
        committed_ms = int((folder / "commits" / str(batch)).stat().st_mtime * 1000)
    except (Unreadable, OSError, UnicodeDecodeError) as error:
        wrong = f"{folder} cannot be read: {error}" if isinstance(error, OSError | UnicodeDecodeError) else str(error)
        return SparkQuery(name=name, topics=[], batch=None, committed_at_ms=None, lag=None, parts=[], sentence=wrong, wrong=wrong)
    parts = _parts(read_up_to, snapshot)
    lags = [part.lag for part in parts if part.lag is not None]
    lag, unknown = sum(lags), len(parts) - len(lags)
    return SparkQuery(
        name=name,
        topics=sorted({part.topic for part in parts}),
        batch=batch,
        committed_at_ms=committed_ms,
        lag=None if unknown else lag,
        parts=parts,
        sentence=sentence(batch, lag, unknown, max(now_ms - committed_ms, 0) / 1000),
    )


def _last(folder: Path) -> int:
    """The newest batch that is committed and whose offsets are there: of old ones Spark deletes both."""
    planned = _numbers(folder / "offsets")
    done = _numbers(folder / "commits") & planned
    if not done:
        raise Unreadable("No batch has been committed yet." if planned else f"{folder} has no checkpoint of a query.")
    return max(done)


def _numbers(folder: Path) -> set[int]:
    if not folder.is_dir():
        return set()
    found: set[int] = set()
    with os.scandir(folder) as entries:
        for count, entry in enumerate(entries):
            if count >= FILES_MOST:
                raise Unreadable(f"{folder} has more than {FILES_MOST} files.")
            if entry.name.isascii() and entry.name.isdigit() and len(entry.name) < 19:
                found.add(int(entry.name))
    return found


def _text(path: Path) -> str:
    with path.open("rb") as file:
        found = file.read(FILE_MOST_BYTES + 1)
    if len(found) > FILE_MOST_BYTES:
        raise Unreadable(f"{path} is larger than 1 MiB.")
    return found.decode()


def _parts(read_up_to: Offsets, snapshot: Snapshot) -> list[QueryPart]:
    known = {(row.topic, row.partition): row for row in snapshot.partitions_at([Place(*tp) for tp in sorted(read_up_to)])}
    found = []
    for (topic, partition), offset in sorted(read_up_to.items()):
        row = known.get((topic, partition))
        end = None if row is None or row.state == UNKNOWN else row.high_watermark
        found.append(QueryPart(topic, partition, offset, end, None if end is None else max(end - offset, 0)))
    return found
