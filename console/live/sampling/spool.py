"""A bounded folder of samples that could not be written to their topic yet: the newest are kept, whole lines only.

Files are pieces of at most `PIECE_BYTES` (and one record), named by number, the oldest first: `000000000017.samples`. A line is
base64(key) space base64(value). A piece is carried and then taken away as a whole, or written anew with what is left of it, so what
is done stays done and costs no more than a piece; past the limit the oldest pieces go. A crash leaves at most a torn last line,
which is passed over and cut off by the next write.
"""

from __future__ import annotations

import base64
import contextlib
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

Record = tuple[bytes, bytes]
LIMIT_BYTES = 32 * 1024 * 1024
PIECE_BYTES = 256 * 1024
ENDING = ".samples"


def folder_of(console: Path, cluster_id: str) -> Path:
    """Where a cluster's samples wait, below the console's own folder."""
    return console / "spool" / f"{cluster_id}.samples"


def waiting_bytes(folder: Path) -> int | None:
    """Seen from another process, which may find a piece gone that it has just seen; None where there is no such folder."""
    if not folder.is_dir():
        return None
    size = 0
    for piece in folder.glob(f"*{ENDING}"):
        with contextlib.suppress(FileNotFoundError):
            size += piece.stat().st_size
    return size


class Spool:
    def __init__(self, folder: Path, limit_bytes: int = LIMIT_BYTES, piece_bytes: int = PIECE_BYTES) -> None:
        """`folder` may be a file of before there were pieces: it is cut into some."""
        self._folder, self._limit_bytes, self._piece_bytes = folder, limit_bytes, min(piece_bytes, limit_bytes // 8)
        if folder.is_file():
            self._take_over(folder)

    def add(self, records: Iterable[Record]) -> None:
        """Into the newest piece while it has room."""
        self._folder.mkdir(parents=True, exist_ok=True)
        pieces = self._pieces()
        number = _number(pieces[-1]) if pieces else 1
        lines: list[bytes] = []
        held = _cut_torn_line(pieces[-1]) if pieces else 0
        for line in map(_line, records):
            if held >= self._piece_bytes:
                self._append(number, lines)
                number, lines, held = number + 1, [], 0
            lines.append(line)
            held += len(line)
        self._append(number, lines)
        self._drop_oldest()

    def read(self, count: int) -> list[Record]:
        """The oldest `count` records, at most a piece."""
        for piece in self._pieces():
            if found := _records(piece)[:count]:
                return found
            piece.unlink()
        return []

    def settle(self, count: int, left: Sequence[Record] = ()) -> None:
        """Of the `count` records that `read` gave, those `left` stay; the others are written and go."""
        pieces = self._pieces()
        if not pieces:
            return
        piece = pieces[0]
        stay = list(map(_line, [*left, *_records(piece)[count:]]))
        if not stay:
            piece.unlink()
            return
        beside = piece.with_suffix(".new")
        beside.write_bytes(b"".join(stay))
        os.replace(beside, piece)

    @property
    def size_bytes(self) -> int:
        return sum(piece.stat().st_size for piece in self._pieces())

    def _pieces(self) -> list[Path]:
        return sorted(self._folder.glob(f"*{ENDING}")) if self._folder.is_dir() else []

    def _append(self, number: int, lines: list[bytes]) -> None:
        if lines:
            with (self._folder / f"{number:012d}{ENDING}").open("ab") as file:
                file.write(b"".join(lines))

    def _drop_oldest(self) -> None:
        size = self.size_bytes
        for piece in self._pieces()[:-1]:
            if size <= self._limit_bytes:
                return
            size -= piece.stat().st_size
            piece.unlink()

    def _take_over(self, file: Path) -> None:
        before = file.with_suffix(".before")
        os.replace(file, before)
        self.add(_records(before))
        before.unlink()


def _number(piece: Path) -> int:
    return int(piece.stem)


def _line(record: Record) -> bytes:
    return base64.b64encode(record[0]) + b" " + base64.b64encode(record[1]) + b"\n"


def _records(piece: Path) -> list[Record]:
    """Without a torn last line, and without rubbish."""
    found = []
    for line in piece.read_bytes().splitlines(keepends=True):
        key, _, value = line.partition(b" ")
        with contextlib.suppress(ValueError):
            if line.endswith(b"\n"):
                found.append((base64.b64decode(key, validate=True), base64.b64decode(value[:-1], validate=True)))
    return found


def _cut_torn_line(piece: Path) -> int:
    """The next line would be read as its end. Returns the piece's length."""
    data = piece.read_bytes()
    whole = data.rfind(b"\n") + 1
    if whole < len(data):
        os.truncate(piece, whole)
    return whole
