"""What coordinators and partitions' leaders tell of transactions, as it is read from their answers."""

from __future__ import annotations

from typing import NamedTuple

Place = tuple[str, int]
"""A topic and the number of a partition."""
STATE_TOPIC = "__transaction_state"
ONGOING = "Ongoing"
ENDING = ("PrepareCommit", "PrepareAbort", "PrepareEpochFence")
OPEN = (ONGOING, *ENDING)
"""A transaction is in progress: read_committed readers wait for its end."""
STATES = (*OPEN, "Empty", "CompleteCommit", "CompleteAbort", "Dead")


class Coordinators(NamedTuple):
    """By partition of `__transaction_state` who leads it, which is the coordinator of what belongs there (None: nobody), and in which
    leader epoch. Empty where there is no such topic: then there never was a transactional producer."""

    partitions: dict[int, tuple[int | None, int]]

    @property
    def leaders(self) -> list[int]:
        return sorted({leader for leader, _ in self.partitions.values() if leader is not None})

    def of(self, leader: int | None) -> list[int]:
        """The partitions that this broker leads; those that nobody leads of None."""
        return sorted(number for number, (one, _) in self.partitions.items() if one == leader)


class Listing(NamedTuple):
    """A row of ListTransactions, and the broker that told it."""

    transactional_id: str
    producer_id: int
    state: str
    coordinator: int


class Description(NamedTuple):
    """Of DescribeTransactions; `started_ms` is None where no transaction is open. While it ends, Kafka tells only the partitions that
    have no marker yet."""

    state: str
    producer_id: int
    epoch: int
    timeout_ms: int
    started_ms: int | None
    places: tuple[Place, ...]


class Producer(NamedTuple):
    """A producer as a partition's log knows it; what it does not know is None."""

    producer_id: int
    epoch: int
    last_sequence: int | None
    last_at_ms: int | None
    coordinator_epoch: int | None
    start_offset: int | None


class Ends(NamedTuple):
    """How far readers of a partition may read: of committed transactions, and of all."""

    last_stable_offset: int
    high_watermark: int

    @property
    def held(self) -> int:
        """Offsets that readers of committed transactions wait for."""
        return max(self.high_watermark - self.last_stable_offset, 0)
