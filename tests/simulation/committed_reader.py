"""A reader of committed records, and what it makes of a fetch's bytes."""

from __future__ import annotations

from typing import Any

from broker_core.errors import ErrorCode
from broker_core.protocol.api import ApiKey
from broker_core.records.batch import iter_headers, read_records
from broker_core.seams import Node
from tests.simulation.transaction_history import TOPIC, TransactionHistory
from tests.simulation.workload import call

TIMEOUT_MS = 4_000
PAUSE_MS = 80.0


class CommittedReader:
    """Follows a partition as a consumer with `read_committed` does."""

    def __init__(self, node: Node, partition: int, brokers: tuple[str, ...], history: TransactionHistory) -> None:
        self._node = node
        self._partition = partition
        self._brokers = brokers
        self._history = history
        self._broker = brokers[0]

    async def run(self) -> None:
        position = 0
        while not self._history.stopped:
            row = await self._fetch(position)
            if row is None:
                self._broker = self._brokers[int(self._node.entropy.random() * len(self._brokers))]
            else:
                position = self._take_in(position, row)
            await self._node.clock.sleep(PAUSE_MS)

    async def _fetch(self, position: int) -> Any:
        wanted = {"partition": self._partition, "fetch_offset": position, "partition_max_bytes": 1 << 16, "current_leader_epoch": -1}
        payload = {
            "replica_id": -1,
            "max_wait": 200,
            "min_bytes": 1,
            "max_bytes": 1 << 16,
            "isolation_level": 1,
            "session_id": 0,
            "session_epoch": -1,
            "topics": [{"topic": TOPIC, "partitions": [wanted]}],
            "forgotten_topics_data": [],
            "rack_id": "",
        }
        answer = await call(self._node, self._broker, ApiKey.FETCH, 11, payload, TIMEOUT_MS)
        row = None if answer is None else answer.responses[0].partitions[0]
        return row if row is not None and row.error_code == ErrorCode.NONE else None

    def _take_in(self, position: int, row: Any) -> int:
        aborted = sorted((one.first_offset, one.producer_id) for one in row.aborted_transactions or ())
        found, position = committed_in(bytes(row.records or b""), aborted, position)
        for offset, value in found.items():
            if self._history.read[self._partition].setdefault(offset, value) != value:
                self._history.violations.append(f"two committed values at offset {offset} of {TOPIC}-{self._partition}")
        return position


def committed_in(data: bytes, aborted: list[tuple[int, int]], position: int) -> tuple[dict[int, bytes], int]:
    """Values by offset, without those of aborted transactions (first offset, producer id), and where to read on."""
    left, off = list(aborted), dict[int, None]()
    found: dict[int, bytes] = {}
    for start, header in iter_headers(data):
        while left and left[0][0] <= header.last_offset:
            off[left.pop(0)[1]] = None
        if header.is_control:
            off.pop(header.producer_id, None)
        elif not (header.is_transactional and header.producer_id in off):
            found |= {one.offset: one.value or b"" for one in read_records(data, start, header) if one.offset >= position}
        position = max(position, header.next_offset)
    return found, position
