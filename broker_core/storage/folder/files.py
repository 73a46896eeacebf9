"""Open files of all logs, at most a fixed number at once."""

from __future__ import annotations

from collections import OrderedDict

from msgspec import Struct

from broker_core.seams import Disk, DiskFile, Node
from broker_core.storage.folder.log_dir import HANDLES_AT_FAULT

OPEN_FILES_LIMIT = 1024


class FilePool:
    """Opens files by path when they are needed and gives up the least recently used handle above the limit.

    There is at most one handle per path. A closed handle that a `FileRange` still pins stays readable.
    """

    def __init__(self, disk: Disk, limit: int = OPEN_FILES_LIMIT) -> None:
        self.disk = disk
        self._limit = limit
        self._open: OrderedDict[str, DiskFile] = OrderedDict()
        self._by_folder: dict[str, set[str]] = {}

    @property
    def open_count(self) -> int:
        return len(self._open)

    def get(self, path: str) -> DiskFile:
        """The handle of an existing file."""
        file = self._open.get(path)
        if file is None:
            return self._add(path, create=False)
        self._open.move_to_end(path)
        return file

    def create(self, path: str) -> DiskFile:
        """The handle of a new, empty file. One that exists goes: emptied, its next flush could still tell of what failed before."""
        self.forget(path)
        if self.disk.exists(path):
            self.disk.remove_now(path)
        return self._add(path, create=True)

    def _add(self, path: str, *, create: bool) -> DiskFile:
        try:
            file = self.disk.open(path, create=create)
        except OSError as error:
            if error.errno not in HANDLES_AT_FAULT or not self._open:
                raise
            self._give_up(len(self._open) // 2 + 1)
            file = self.disk.open(path, create=create)
        self._open[path] = file
        self._by_folder.setdefault(_folder_of(path), set()).add(path)
        if len(self._open) > self._limit:
            self._give_up(1)
        return file

    def _give_up(self, count: int) -> None:
        """The handles that were used least recently; where the process has no more to give, logs do with fewer."""
        for _ in range(count):
            self.forget(next(iter(self._open)))

    def size(self, path: str) -> int:
        file = self._open.get(path)
        return self.disk.file_size(path) if file is None else file.size

    def forget(self, path: str) -> None:
        file = self._open.pop(path, None)
        if file is None:
            return
        file.close()
        folder = _folder_of(path)
        self._by_folder[folder].discard(path)
        if not self._by_folder[folder]:
            del self._by_folder[folder]

    def forget_folder(self, directory: str) -> None:
        """Every handle of a file in the folder itself."""
        for path in sorted(self._by_folder.get(directory, ())):
            self.forget(path)

    def forget_below(self, directory: str) -> None:
        """Every handle of a file in the folders of a folder."""
        for folder in [folder for folder in self._by_folder if folder.startswith(f"{directory}/")]:
            self.forget_folder(folder)

    def rename(self, source: str, target: str) -> None:
        self.forget(source)
        self.forget(target)
        self.disk.rename(source, target)

    def close(self) -> None:
        for path in list(self._open):
            self.forget(path)


def _folder_of(path: str) -> str:
    return path.rpartition("/")[0]


class LogFolder(Struct):
    """Where one log lives, and what its parts reach the disk and the clock through. `path` changes when the log's folder is renamed."""

    node: Node
    pool: FilePool
    path: str
