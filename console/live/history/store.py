"""The past of one cluster in a bounded file (SQLite): frames, each with all values at its start and then batches of what changed.

A moment is its frame's start and the batches up to it, so it costs at most one frame to read. A new frame begins after `FRAME_MS`, or
when the batches weigh more than `FRAME_WEIGHT` times its start. The oldest frames go when they are older than `keep_ms` or the file is
over its limit. A frame also says until when it was recorded: between that and the next one's start lies a gap.

What is kept is read by whoever has the file; a frame that cannot be read (a torn disk, another version) is as good as a gap.
"""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import msgspec
from cramjam import DecompressionError, zstd

from broker_core.contract.moments import Gap
from console.live.history.tracks import Tracks
from console.snapshot.moments import GAP_MS

log = logging.getLogger(__name__)
FRAME_MS = 600_000
FRAME_WEIGHT = 4
GAPS_LIMIT = 200
LEVEL = 3
TRACKS_SHARE = 0.1
"""Of what the file may have, for figures over time."""
UNREADABLE = (sqlite3.Error, msgspec.MsgspecError, DecompressionError)
SCHEMA = """
CREATE TABLE IF NOT EXISTS frames (
    id INTEGER PRIMARY KEY, from_ms INTEGER NOT NULL, until_ms INTEGER NOT NULL, bytes INTEGER NOT NULL, start BLOB NOT NULL
);
CREATE INDEX IF NOT EXISTS frames_from ON frames (from_ms);
CREATE TABLE IF NOT EXISTS batches (frame INTEGER NOT NULL, at_ms INTEGER NOT NULL, changes BLOB NOT NULL);
CREATE INDEX IF NOT EXISTS batches_of ON batches (frame, at_ms);
"""
Values = dict[str, bytes]
"""JSON by key."""
Changes = Mapping[str, bytes | None]
"""None of what is gone."""
_encoder = msgspec.msgpack.Encoder()
_changes = msgspec.msgpack.Decoder(dict[str, bytes | None])


class Found(NamedTuple):
    """The values at a moment, which were last known true at `known_ms`."""

    known_ms: int
    values: Values


class HistoryStore:
    """One thread at a time uses it."""

    def __init__(self, path: Path, limit_bytes: int, keep_ms: int) -> None:
        self._path = path
        self._limit_bytes = limit_bytes * (1 - TRACKS_SHARE)
        self._keep_ms = keep_ms
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._db = _open(path)
        self.tracks = Tracks(self._db, int(limit_bytes * TRACKS_SHARE), keep_ms)
        self._frame: int | None = None
        """The frame that is being written; none goes on after a restart, since what happened meanwhile is not known."""
        self._began_ms = 0
        self._start_bytes = 0
        self._grown_bytes = 0

    def begin(self, at_ms: int, values: Changes) -> int:
        """A new frame; returns the bytes written."""
        start = _pack(values)
        with self._db:
            sql = "INSERT INTO frames (from_ms, until_ms, bytes, start) VALUES (?, ?, ?, ?)"
            self._frame = self._db.execute(sql, (at_ms, at_ms, len(start), start)).lastrowid
        self._began_ms, self._start_bytes, self._grown_bytes = at_ms, len(start), 0
        self._bound(at_ms)
        return len(start)

    def add(self, at_ms: int, changes: Changes) -> int:
        """What changed since the last time, which may be nothing; returns the bytes written."""
        packed = _pack(changes) if changes else b""
        with self._db:
            self._db.execute("UPDATE frames SET until_ms = ?, bytes = bytes + ? WHERE id = ?", (at_ms, len(packed), self._frame))
            if packed:
                self._db.execute("INSERT INTO batches VALUES (?, ?, ?)", (self._frame, at_ms, packed))
        self._grown_bytes += len(packed)
        return len(packed)

    def is_due(self, at_ms: int) -> bool:
        """Whether the next thing to write is a frame."""
        return self._frame is None or at_ms - self._began_ms >= FRAME_MS or self._grown_bytes > FRAME_WEIGHT * self._start_bytes + 65_536

    def end(self) -> None:
        """What follows is not known to follow: another frame will begin."""
        self._frame = None

    def at(self, at_ms: int) -> Found | None:
        """The state at a moment; None before anything was recorded."""
        sql = "SELECT id, until_ms, start, from_ms FROM frames WHERE from_ms <= ? ORDER BY from_ms DESC, id DESC"
        for frame, until_ms, start, _ in self._db.execute(sql, (at_ms,)):
            try:
                values = _unpack(start)
                rows = self._db.execute("SELECT changes FROM batches WHERE frame = ? AND at_ms <= ? ORDER BY at_ms, rowid", (frame, at_ms))
                for (packed,) in rows:
                    values.update(_unpack(packed))
            except UNREADABLE as error:
                log.warning("a frame of %s cannot be read: %s", self._path.name, error)
                continue
            return Found(min(at_ms, until_ms), {key: value for key, value in values.items() if value is not None})
        return None

    def span(self) -> tuple[int, int] | None:
        oldest, newest = self._db.execute("SELECT min(from_ms), max(until_ms) FROM frames").fetchone()
        return None if oldest is None else (oldest, newest)

    def gaps(self) -> tuple[Gap, ...]:
        """Stretches in which nothing was recorded, the newest first."""
        rows = self._db.execute("SELECT from_ms, until_ms FROM frames ORDER BY from_ms DESC").fetchall()
        pairs = zip(rows[1:], rows, strict=False)
        return tuple(Gap(before[1], after[0]) for before, after in pairs if after[0] - before[1] > GAP_MS)[:GAPS_LIMIT]

    def size_bytes(self) -> int:
        return int(self._db.execute("SELECT coalesce(sum(bytes), 0) FROM frames").fetchone()[0]) + self.tracks.size_bytes()

    def close(self) -> None:
        self._db.close()

    def _bound(self, now_ms: int) -> None:
        """The oldest frames go; the one being written stays, however large."""
        rows = self._db.execute("SELECT id, until_ms, bytes FROM frames ORDER BY from_ms DESC, id DESC").fetchall()
        total, gone = 0, []
        for frame, until_ms, size in rows:
            total += size
            if frame != self._frame and (total > self._limit_bytes or until_ms < now_ms - self._keep_ms):
                gone.append((frame,))
        with self._db:
            self._db.executemany("DELETE FROM batches WHERE frame = ?", gone)
            self._db.executemany("DELETE FROM frames WHERE id = ?", gone)
        if gone:
            self._db.execute("PRAGMA incremental_vacuum")


def _open(path: Path) -> sqlite3.Connection:
    """The file, or where it is none of ours a new one: the broken one is set aside, since nobody could read it."""
    try:
        return _prepared(path)
    except sqlite3.DatabaseError as error:
        if isinstance(error, sqlite3.OperationalError):
            raise
        broken = path.with_suffix(".broken")
        log.warning("%s cannot be read (%s): it is set aside as %s", path, error, broken.name)
        path.replace(broken)
        for tail in ("-wal", "-shm"):
            Path(f"{path}{tail}").unlink(missing_ok=True)
        return _prepared(path)


def _prepared(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(path, timeout=5.0, check_same_thread=False)
    try:
        db.execute("PRAGMA auto_vacuum = INCREMENTAL")
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = NORMAL")
        db.executescript(SCHEMA)
    except sqlite3.Error:
        db.close()
        raise
    return db


def _pack(values: Changes) -> bytes:
    return bytes(zstd.compress(_encoder.encode(values), level=LEVEL))


def _unpack(packed: bytes) -> dict[str, bytes | None]:
    return _changes.decode(bytes(zstd.decompress(packed)))
