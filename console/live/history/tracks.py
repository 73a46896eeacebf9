"""Figures of all topics, groups and brokers over the kept time: a sample of each every so often, in the history's file.

Frames (`store`) give all values of one moment; a chart of one thing would have to read them all. So a sample is split by key into buckets
of some hundred, each packed by itself: what is read for a chart is one bucket of each of its samples. Samples are rarer the more they
weigh, so that a day of them fits into what they may take.
"""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
from cramjam import DecompressionError, zstd
from msgspec import Struct

from broker_core.contract.moments import FIGURES, Track

EVERY_MS_MIN, EVERY_MS_MAX = 10_000, 600_000
BUCKET_KEYS = 256
MOST = 500
"""Samples of one answer."""
MISSED = 2.5
"""Two samples further apart than so many times the usual distance have a gap between them."""
LEVEL = 3
UNREADABLE = (msgspec.MsgspecError, DecompressionError)
SCHEMA = """
CREATE TABLE IF NOT EXISTS samples (at_ms INTEGER PRIMARY KEY, buckets INTEGER NOT NULL, bytes INTEGER NOT NULL, every_ms INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS tracks (at_ms INTEGER, bucket INTEGER, packed BLOB NOT NULL, PRIMARY KEY (at_ms, bucket)) WITHOUT ROWID;
"""
Figure = float | None
Bucket = dict[str, tuple[Figure, ...]]
_buckets = msgspec.msgpack.Decoder(Bucket)
_encoder = msgspec.msgpack.Encoder()
_KINDS = {
    kind: msgspec.json.Decoder(msgspec.defstruct(kind.title(), [(name, Figure, None) for name in names])) for kind, names in FIGURES.items()
}


class Kept(Struct, frozen=True):
    at_ms: int
    buckets: int
    every_ms: int


class Tracks:
    """One thread at a time uses it."""

    def __init__(self, db: sqlite3.Connection, limit_bytes: int, keep_ms: int) -> None:
        self._db = db
        self._limit_bytes, self._keep_ms = limit_bytes, keep_ms
        db.executescript(SCHEMA)
        newest = db.execute("SELECT at_ms, every_ms FROM samples ORDER BY at_ms DESC LIMIT 1").fetchone()
        self._newest_ms: int = newest[0] if newest else 0
        self.every_ms: int = newest[1] if newest else EVERY_MS_MIN

    def is_due(self, at_ms: int) -> bool:
        """At once, too, where the clock was set back."""
        return not 0 <= at_ms - self._newest_ms < self.every_ms

    def add(self, at_ms: int, values: Mapping[str, bytes]) -> int:
        """A sample of live values (JSON by key); returns the bytes written."""
        found = dict(_figures(values))
        buckets = max(1, -(-len(found) // BUCKET_KEYS))
        split: list[Bucket] = [{} for _ in range(buckets)]
        for key, figures in found.items():
            split[_bucket(key, buckets)][key] = figures
        rows = [(at_ms, number, bytes(zstd.compress(_encoder.encode(bucket), level=LEVEL))) for number, bucket in enumerate(split)]
        weight = sum(len(packed) for *_, packed in rows)
        allowed = self._limit_bytes / max(self._keep_ms, 1)
        self.every_ms = int(min(max(weight / allowed, EVERY_MS_MIN), EVERY_MS_MAX))
        with self._db:
            self._db.execute("INSERT OR REPLACE INTO samples VALUES (?, ?, ?, ?)", (at_ms, buckets, weight, self.every_ms))
            self._db.executemany("INSERT OR REPLACE INTO tracks VALUES (?, ?, ?)", rows)
        self._newest_ms = at_ms
        self._bound(at_ms)
        return weight

    def read(self, keys: Sequence[str], from_ms: int, to_ms: int, most: int) -> tuple[Track, ...]:
        """Of each at most so many samples, the last of each equal part of the time; null where there was none, or of what was not known.
        What lies in the same bucket is unpacked once."""
        step_ms = max(1, -(-(to_ms - from_ms) // max(1, min(most, MOST))))
        times: list[int] = []
        rows: list[Bucket] = []
        before: Kept | None = None
        for sample in self._chosen(from_ms, to_ms, step_ms):
            if before is not None and sample.at_ms - before.at_ms > MISSED * max(sample.every_ms, before.every_ms, step_ms):
                times.append(before.at_ms + 1)
                rows.append({})
            times.append(sample.at_ms)
            rows.append(self._figures(keys, sample))
            before = sample
        every_ms = max(step_ms, self.every_ms)
        return tuple(
            Track(from_ms=from_ms, to_ms=to_ms, every_ms=every_ms, at_ms=tuple(times), figures=_columns(key, rows)) for key in keys
        )

    def size_bytes(self) -> int:
        return int(self._db.execute("SELECT coalesce(sum(bytes), 0) FROM samples").fetchone()[0])

    def _chosen(self, from_ms: int, to_ms: int, step_ms: int) -> list[Kept]:
        sql = "SELECT at_ms, buckets, every_ms FROM samples WHERE at_ms BETWEEN ? AND ? ORDER BY at_ms"
        found = (Kept(*row) for row in self._db.execute(sql, (from_ms, to_ms)))
        return list({(sample.at_ms - from_ms) // step_ms: sample for sample in found}.values())

    def _figures(self, keys: Sequence[str], sample: Kept) -> Bucket:
        numbers = sorted({_bucket(key, sample.buckets) for key in keys})
        sql = f"SELECT packed FROM tracks WHERE at_ms = ? AND bucket IN ({','.join('?' * len(numbers))})"
        found: Bucket = {}
        for (packed,) in self._db.execute(sql, (sample.at_ms, *numbers)):
            try:
                bucket = _buckets.decode(bytes(zstd.decompress(packed)))
            except UNREADABLE:
                continue
            found |= {key: bucket[key] for key in keys if key in bucket}
        return found

    def _bound(self, now_ms: int) -> None:
        """The oldest go: what is too old, and what is beyond the limit."""
        sql = "SELECT at_ms, sum(bytes) OVER (ORDER BY at_ms DESC) FROM samples ORDER BY at_ms"
        oldest = now_ms - self._keep_ms
        for at_ms, total in self._db.execute(sql).fetchall():
            if at_ms >= oldest and total <= self._limit_bytes:
                break
            oldest = max(oldest, at_ms + 1)
        with self._db:
            self._db.execute("DELETE FROM tracks WHERE at_ms < ?", (oldest,))
            self._db.execute("DELETE FROM samples WHERE at_ms < ?", (oldest,))


def _columns(key: str, rows: Sequence[Bucket]) -> dict[str, tuple[Figure, ...]]:
    """By figure; what has another number of them was written by another version."""
    names = FIGURES[key.partition("/")[0]]
    nothing = (None,) * len(names)
    found = [row.get(key, nothing) for row in rows]
    columns = zip(*(one if len(one) == len(names) else nothing for one in found), strict=True) if found else [()] * len(names)
    return dict(zip(names, map(tuple, columns), strict=True))


def _bucket(key: str, buckets: int) -> int:
    return zlib.crc32(key.encode(errors="surrogatepass")) % buckets


def _figures(values: Mapping[str, bytes]) -> Iterator[tuple[str, tuple[Figure, ...]]]:
    """Of the kinds that are tracked; what is no value of ours is left out."""
    for key, text in values.items():
        decoder: Any = _KINDS.get(key.partition("/")[0])
        if decoder is None:
            continue
        try:
            yield key, msgspec.structs.astuple(decoder.decode(text))
        except msgspec.MsgspecError:
            continue
