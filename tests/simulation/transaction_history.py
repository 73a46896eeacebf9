"""What producers that write in transactions were told, and readers have read."""

from __future__ import annotations

TOPIC, PARTITIONS = "x", 2


def group_of(place: int) -> str:
    return f"group-{place}"


class TransactionHistory:
    """`committed`, `aborted` and `unknown` name transactions in the order of their ends; `read[p]` are values by offset."""

    def __init__(self) -> None:
        self.committed: dict[bytes, None] = {}
        self.aborted: dict[bytes, None] = {}
        self.unknown: dict[bytes, None] = {}
        self._told: dict[str, dict[tuple[int, int], None]] = {}
        self._fenced: dict[tuple[int, int], None] = {}
        self.read: list[dict[int, bytes]] = [{} for _ in range(PARTITIONS)]
        self.violations: list[str] = []
        self.stopped = False

    def told(self, transactional_id: str) -> list[tuple[int, int]]:
        """The ids and epochs that producers of that transactional id were told to have."""
        return list(self._told.get(transactional_id, {}))

    def tell(self, transactional_id: str, producer: tuple[int, int], before: list[tuple[int, int]]) -> None:
        """One was told what it is; `before` are those that were told when it began to ask: they are fenced. Of two that asked at the
        same time nobody knows who came last, unless by their epochs: ids do not rise, as each broker has a block of them."""
        told = self._told.setdefault(transactional_id, {})
        told[producer] = None
        for other in told:
            if other != producer and (other[1] < producer[1] if other[0] == producer[0] else other in before):
                self._fenced[other] = None

    def may_commit(self, producer: tuple[int, int]) -> bool:
        """False once it is fenced for sure, and may not succeed any more."""
        return producer not in self._fenced
