"""Which partitions of a coordinator's topic this broker has the state of. Pure.

A partition is loading from the moment its leadership is taken until its log has been read, then owned. Elections and resignations may
arrive in any order: what carries a lower leader epoch than one already seen is late and has no effect (KAFKA-10614).
"""

from __future__ import annotations


class Tenure:
    """One stay of a partition's state here. `epoch` is the leader epoch this broker was last elected in, None once that is over."""

    def __init__(self, epoch: int) -> None:
        self.epoch: int | None = epoch
        self.is_loading = True


class Ownership:
    """`_epochs` has the highest leader epoch seen of each partition, also of those that others lead."""

    def __init__(self) -> None:
        self._epochs: dict[int, int] = {}
        self._tenures: dict[int, Tenure] = {}

    @property
    def is_loading_any(self) -> bool:
        return any(tenure.is_loading for tenure in self._tenures.values())

    @property
    def partitions(self) -> list[int]:
        """Those that are loading or owned."""
        return sorted(self._tenures)

    def is_loading(self, partition: int) -> bool:
        return partition in self._tenures and self._tenures[partition].is_loading

    def epoch(self, partition: int) -> int | None:
        """The leader epoch in which its state is here; None of what is not."""
        return self._tenures[partition].epoch if partition in self._tenures else None

    def elected(self, partition: int, epoch: int) -> Tenure | None:
        """What now has to be loaded; None when the election is late, or the same leader's next epoch: its state goes on."""
        if epoch < self._epochs.get(partition, epoch):
            return None
        self._epochs[partition] = epoch
        if partition in self._tenures:
            self._tenures[partition].epoch = epoch
            return None
        self._tenures[partition] = Tenure(epoch)
        return self._tenures[partition]

    def resigned(self, partition: int, epoch: int | None) -> bool:
        """Ends what there is of the partition; whether there was any. Without an epoch the partition itself is gone."""
        if epoch is None:
            self._epochs.pop(partition, None)
        elif epoch < self._epochs.get(partition, epoch):
            return False
        else:
            self._epochs[partition] = epoch
        tenure = self._tenures.pop(partition, None)
        if tenure is None:
            return False
        tenure.epoch, tenure.is_loading = None, False
        return True
