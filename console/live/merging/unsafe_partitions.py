"""Which partitions are not safe, by topic: kept by difference, so that a list's counter follows without a scan. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from broker_core.contract.partitions import Partition
from console.snapshot.sorting import RANK


class Troubled:
    def __init__(self) -> None:
        self._partitions: dict[str, set[int]] = {}

    def __len__(self) -> int:
        """Topics with a partition that is not safe."""
        return len(self._partitions)

    def of(self, topic: str) -> int:
        return len(self._partitions.get(topic, ()))

    def note(self, changed: Mapping[tuple[str, int], Partition | None]) -> set[str]:
        """Takes values that changed (None: gone); returns the topics whose number is another one now."""
        told = set()
        for (topic, number), value in changed.items():
            numbers = self._partitions.get(topic, set())
            is_troubled = value is not None and value.state in RANK
            if is_troubled == (number in numbers):
                continue
            told.add(topic)
            if is_troubled:
                self._partitions.setdefault(topic, numbers).add(number)
            else:
                numbers.discard(number)
                if not numbers:
                    del self._partitions[topic]
        return told
