"""A bounded file of samples that could not be written to their topic yet: the newest are kept, whole lines only.

A line is base64(key) space base64(value). Past the limit the older half is dropped.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Iterable
from pathlib import Path

Record = tuple[bytes, bytes]
LIMIT_BYTES = 32 * 1024 * 1024


class Spool:
    def __init__(self, path: Path, limit_bytes: int = LIMIT_BYTES) -> None:
        self._path, self._limit_bytes = path, limit_bytes
        path.parent.mkdir(parents=True, exist_ok=True)

    def add(self, records: Iterable[Record]) -> None:
        lines = b"".join(base64.b64encode(key) + b" " + base64.b64encode(value) + b"\n" for key, value in records)
        self._cut_torn_line()
        with self._path.open("ab") as file:
            file.write(lines)
        if self._path.stat().st_size > self._limit_bytes:
            self._halve()

    def read(self, count: int) -> list[Record]:
        """The oldest `count` records; a torn last line is passed over."""
        if not self._path.exists():
            return []
        found: list[Record] = []
        with self._path.open("rb") as file:
            for line in file:
                if not line.endswith(b"\n") or len(found) == count:
                    break
                key, _, value = line.rstrip(b"\n").partition(b" ")
                found.append((base64.b64decode(key), base64.b64decode(value)))
        return found

    def drop(self, count: int) -> None:
        """The oldest `count` records are written; they go."""
        lines = self._path.read_bytes().splitlines(keepends=True)[count:]
        self._replace(b"".join(lines))

    @property
    def size_bytes(self) -> int:
        return self._path.stat().st_size if self._path.exists() else 0

    def _cut_torn_line(self) -> None:
        """What a write that was cut short has left: the next line would be read as its end."""
        if not self.size_bytes:
            return
        with self._path.open("rb") as file:
            file.seek(-1, os.SEEK_END)
            if file.read(1) == b"\n":
                return
        data = self._path.read_bytes()
        self._replace(data[: data.rfind(b"\n") + 1])

    def _halve(self) -> None:
        data = self._path.read_bytes()[-self._limit_bytes // 2 :]
        self._replace(data[data.find(b"\n") + 1 :])

    def _replace(self, data: bytes) -> None:
        if not data:
            self._path.unlink(missing_ok=True)
            return
        beside = self._path.with_suffix(".new")
        beside.write_bytes(data)
        os.replace(beside, self._path)
