"""Where exports lie: each a file that the reading process writes and the pages send, gone a day after it was last written."""

from __future__ import annotations

import re
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import BinaryIO

from asgiref.sync import sync_to_async
from django.conf import settings
from django.http import StreamingHttpResponse
from django.http.response import HttpResponseBase

from console.rules.records.progress import Search

KEPT_S = 24 * 3600
RECORDS_MAX = 1_000_000
BYTES_MAX = 1_000_000_000
ALL_BYTES_MAX = 5_000_000_000
"""Of all exports together; where they have more no other one begins."""
PIECE_BYTES = 256 * 1024
MEDIA = {"csv": "text/csv; charset=utf-8", "ndjson": "application/x-ndjson"}
BYTES = "application/octet-stream"
UNSAFE = re.compile(r"[^A-Za-z0-9._-]")
"""In a file's name, which is sent in a header."""
NAME_CHARS_MAX = 300


def folder() -> Path:
    return Path(settings.DATA_DIR) / "exports"


def path_of(search: Search) -> Path:
    return folder() / f"{search.id}.{search.export or search.raw}"


def _files() -> Iterator[tuple[Path, float, int]]:
    """Each with when it was last written, and its bytes."""
    for path in folder().glob("*.*") if folder().is_dir() else ():
        try:
            found = path.stat()
        except FileNotFoundError:
            continue
        yield path, found.st_mtime, found.st_size


def kept_bytes() -> int:
    return sum(size for _, _, size in _files())


def clean_up(now_s: float | None = None) -> int:
    """Deletes what is too old; says how many."""
    old_s = (time.time() if now_s is None else now_s) - KEPT_S
    old = [path for path, at_s, _ in _files() if at_s < old_s]
    for path in old:
        path.unlink(missing_ok=True)
    return len(old)


def attachment(path: Path, size: int, media: str, name: str, *, once: bool = False) -> HttpResponseBase:
    """The file, to be kept under that name; `once`: it goes when it is sent."""
    headers = {"Content-Disposition": f'attachment; filename="{UNSAFE.sub("_", name)[:NAME_CHARS_MAX]}"', "Content-Length": str(size)}
    return StreamingHttpResponse(_pieces(path, size, once=once), content_type=media, headers=headers)


def _opened(path: Path, *, once: bool) -> BinaryIO:
    file = path.open("rb")
    if once:
        path.unlink(missing_ok=True)
    return file


async def _pieces(path: Path, size: int, *, once: bool) -> AsyncIterator[bytes]:
    """The first `size` bytes: what is written meanwhile is not sent."""
    file = await sync_to_async(lambda: _opened(path, once=once))()
    try:
        while size > 0 and (piece := await sync_to_async(file.read)(min(PIECE_BYTES, size))):
            size -= len(piece)
            yield piece
    finally:
        file.close()
