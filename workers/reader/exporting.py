"""What a search finds, written into a file. The file's length is told with the positions, so that whoever goes on after a death cuts off
what was not told, and nothing comes twice."""

from __future__ import annotations

import fcntl
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from console.rules.records.progress import Found, Progress, Search
from console.searches import files
from console.searches.export import as_csv, ndjson
from workers.reader.run import Over


def make_room() -> None:
    """Before a file begins. `Over` where there is none."""
    files.folder().mkdir(parents=True, exist_ok=True)
    if files.kept_bytes() >= files.ALL_BYTES_MAX:
        raise Over("failed", f"The exports of the last day have {files.ALL_BYTES_MAX // 10**9} GB: another can begin as they go.")


class Export:
    """Opened by `with`; only one process at a time has it. `Over` where it cannot be had."""

    def __init__(self, search: Search, progress: Progress) -> None:
        self._search, self._progress = search, progress

    def __enter__(self) -> Self:
        path, told = files.path_of(self._search), self._progress.file_bytes
        if told and not path.exists():
            raise Over("failed", "The file is not kept any more: begin another export.")
        if not told:
            make_room()
        self._file = path.open("ab")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._file.truncate(told)
        except BlockingIOError:
            self._file.close()
            raise Over("failed", "Another process still writes the file: go on in a moment.") from None
        path.chmod(0o600)
        return self

    def __exit__(self, _kind: type[BaseException] | None, _error: BaseException | None, _at: TracebackType | None) -> None:
        self._file.close()

    def write(self, found: Sequence[Found]) -> None:
        """What was found since, and nothing where that is nothing."""
        if not found:
            return
        lines = ndjson(found) if self._search.export == "ndjson" else as_csv(found, head=not self._progress.file_bytes)
        for line in lines:
            self._progress.file_bytes += self._file.write(line.encode())
        self._file.flush()

    @property
    def is_full(self) -> bool:
        return self._progress.file_bytes >= files.BYTES_MAX
