"""A broker's data folders (KIP-112): which serve, which one a path lies in, where the next log goes.

A folder that cannot be used at a start is offline from the start, the others go on; with none left there is no start.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence

from broker_core.errors import ErrorCode, KafkaError
from broker_core.seams import Node
from broker_core.storage.folder.data_folder import DataFolder
from broker_core.storage.folder.log_dir import HANDLES_AT_FAULT

logger = logging.getLogger(__name__)


class DataFolders:
    """In the order of `log.dirs`. `unusable`: what kept the process from locking some of them."""

    def __init__(self, node: Node, paths: Sequence[str], unusable: Mapping[str, OSError]) -> None:
        self._node = node
        self.all = tuple(DataFolder(node, path) for path in paths)
        self._unusable = unusable

    @property
    def online(self) -> list[DataFolder]:
        return [folder for folder in self.all if folder.state.failure is None]

    @property
    def offline(self) -> list[DataFolder]:
        return [folder for folder in self.all if folder.state.failure is not None]

    def named(self, path: str) -> DataFolder | None:
        """The folder that `log.dirs` has by that very name."""
        return next((folder for folder in self.all if folder.path == path), None)

    def of(self, path: str) -> DataFolder:
        """The folder that a log or a file is in."""
        return max((each for each in self.all if path.startswith(f"{each.path}/")), key=lambda each: len(each.path), default=self.all[0])

    async def claim(self, broker_id: int, cluster_id: str) -> None:
        """Makes the folders this broker's; `ConfigError` when one is another's, `OSError` when none can be used."""
        for folder in self.all:
            error = self._unusable.get(folder.path)
            if error is not None:
                self.give_up(folder, "lock", error)
                continue
            with self.usable(folder, "start"):
                await folder.claim(broker_id, cluster_id)

    def usable(self, folder: DataFolder, what: str) -> GivingUp:
        """Around work of a start: an `OSError` gives the folder up."""
        return GivingUp(self, folder, what)

    def give_up(self, folder: DataFolder, what: str, error: OSError) -> None:
        """The folder cannot be used at this start. Raises the error where no other can, or where only handles are wanting."""
        if error.errno in HANDLES_AT_FAULT:
            raise error
        folder.state.fail(what, error)
        if not self.online:
            raise error

    def check_all(self, why: str) -> None:
        """`KafkaError` KAFKA_STORAGE_ERROR while a folder is offline: what is looked for may be in there."""
        for folder in self.offline:
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"{why}: the data folder {folder.path} is offline: {folder.state.failure}")

    def by_need(self, count: Callable[[DataFolder], int]) -> list[DataFolder]:
        """Those that serve, the one with the fewest logs first; `KafkaError` KAFKA_STORAGE_ERROR when none does."""
        found = sorted(self.online, key=count)
        if not found:
            self.all[0].state.check()
        return found


class GivingUp:
    def __init__(self, folders: DataFolders, folder: DataFolder, what: str) -> None:
        self._folders = folders
        self._folder = folder
        self._what = what

    def __enter__(self) -> None:
        return

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        if not isinstance(error, OSError):
            return False
        self._folders.give_up(self._folder, self._what, error)
        return True
