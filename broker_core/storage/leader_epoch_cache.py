"""Which leader epoch wrote which offsets (KIP-101), pure.

Entries are (epoch, start offset), both strictly rising; an epoch without records has no entry of its own once a
newer one starts at the same offset. The file is `leader-epoch-checkpoint`; its owner writes it when `dirty`.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable

UNDEFINED = (-1, -1)


class LeaderEpochCache:
    """The leader epochs of one log, of which `latest` is asked for at every append and fetch; `dirty` says that the checkpoint file is
    behind."""

    __slots__ = ("dirty", "entries", "latest")

    def __init__(self, entries: Iterable[tuple[int, int]] = ()) -> None:
        self.entries: list[tuple[int, int]] = []
        self.latest: int | None = None
        for epoch, start_offset in entries:
            self.assign(epoch, start_offset)
        self.dirty = False

    @property
    def earliest(self) -> tuple[int, int] | None:
        return self.entries[0] if self.entries else None

    def assign(self, epoch: int, start_offset: int) -> bool:
        """Notes that `epoch` writes from `start_offset` on; whether that was news.

        Entries that claim an equal or later epoch or offset are dropped: they describe a log that is no more.
        """
        if epoch < 0 or start_offset < 0:
            raise ValueError(f"epoch {epoch} from offset {start_offset} makes no sense")
        if self.entries and self.entries[-1][0] == epoch and self.entries[-1][1] <= start_offset:
            return False
        self.entries = [entry for entry in self.entries if entry[0] < epoch and entry[1] < start_offset]
        self.entries.append((epoch, start_offset))
        self.latest = epoch
        self.dirty = True
        return True

    def end_offset_for(self, epoch: int, log_end_offset: int) -> tuple[int, int]:
        """(epoch, end offset) of the largest known epoch that is not above `epoch`; `UNDEFINED` where none can be told."""
        if epoch < 0 or not self.entries or epoch > self.entries[-1][0]:
            return UNDEFINED
        if epoch == self.entries[-1][0]:
            return epoch, log_end_offset
        higher = bisect_right(self.entries, epoch, key=lambda entry: entry[0])
        if higher == 0:
            return epoch, self.entries[0][1]
        return self.entries[higher - 1][0], self.entries[higher][1]

    def epoch_of(self, offset: int) -> int | None:
        """The epoch that wrote `offset`, None below the first entry."""
        index = bisect_right(self.entries, offset, key=lambda entry: entry[1])
        return self.entries[index - 1][0] if index else None

    def previous(self, epoch: int) -> int | None:
        """The largest known epoch below `epoch`."""
        index = bisect_left(self.entries, epoch, key=lambda entry: entry[0])
        return self.entries[index - 1][0] if index else None

    def truncate_from_end(self, end_offset: int) -> None:
        """Drops the epochs that start at or after `end_offset`."""
        kept = [entry for entry in self.entries if entry[1] < end_offset]
        self._replace(kept)

    def truncate_from_start(self, start_offset: int) -> None:
        """Drops the epochs that end at or before `start_offset`; the one in force there now starts there."""
        index = bisect_right(self.entries, start_offset, key=lambda entry: entry[1])
        if index == 0:
            return
        self._replace([(self.entries[index - 1][0], start_offset), *self.entries[index:]])

    def clear(self) -> None:
        self._replace([])

    def _replace(self, entries: list[tuple[int, int]]) -> None:
        if entries != self.entries:
            self.entries = entries
            self.latest = entries[-1][0] if entries else None
            self.dirty = True
