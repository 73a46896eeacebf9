"""What a partition of `__transaction_state` says: the last record of each transactional id. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from broker_core.errors import CorruptData
from broker_core.transactions.records import decode_key, decode_value
from broker_core.transactions.transaction import Transaction

KeyValue = tuple[bytes | None, bytes | None]


class TransactionReplay:
    """Takes a partition's batches in log order. `skipped` counts records that could not be read or are of a later release."""

    def __init__(self) -> None:
        self.transactions: dict[str, Transaction] = {}
        self.skipped = 0

    def batch(self, base_offset: int, producer_id: int | None, records: Iterable[KeyValue]) -> None:
        for key, value in records:
            try:
                self._record(key, value)
            except CorruptData:
                self.skipped += 1

    def marker(self, producer_id: int, *, commit: bool) -> None:
        """Nobody writes this topic in a transaction."""
        self.skipped += 1

    def _record(self, key: bytes | None, value: bytes | None) -> None:
        transactional_id = decode_key(key or b"")
        if transactional_id is None:
            self.skipped += 1
        elif value is None:
            self.transactions.pop(transactional_id, None)
        else:
            self.transactions[transactional_id] = decode_value(transactional_id, value)
