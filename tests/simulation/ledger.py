"""Everything that was ever committed, and who must hold it: checked after the steps that changed a leader (REPLICATION A).

- *LeaderCompleteness*: who begins to lead in epoch e holds all that was committed in epochs up to e.
- *StrongIsr*: when a high watermark rises or an ISR changes, each running member of the ISR in the store holds it too.

A member that lost power since it joined is not asked: what it lost is the risk of unflushed logs (REPLICATION B15).
"""

from __future__ import annotations

from collections.abc import Callable

from broker_core.model import TopicPartition
from broker_core.records.batch import iter_headers, read_records
from broker_core.server.broker import Broker
from broker_core.storage.log import PartitionLog
from tests.simulation.scenarios import stored_state
from tests.support.broker_cluster import BrokerCluster


def values(log: PartitionLog, start: int, end: int) -> list[bytes]:
    """Values of the records in [start, end), fewer when the log ends before."""
    found: list[bytes] = []
    offset, end = start, min(end, log.log_end_offset)
    while offset < end:
        part = log.read(offset, 1 << 24, end, True)
        assert part.records is not None
        data = part.records.file.pread(part.records.position, part.records.length)
        for position, header in iter_headers(data):
            found += [record.value or b"" for record in read_records(data, position, header) if start <= record.offset < end]
            offset = header.next_offset
    return found


class Ledger:
    """`tell` is called with each violation."""

    def __init__(self, cluster: BrokerCluster, tell: Callable[[str], None]) -> None:
        self._cluster = cluster
        self._tell = tell
        self._committed: dict[TopicPartition, list[tuple[bytes, int]]] = {}
        self._joined: dict[tuple[TopicPartition, int], int] = {}
        """The life in which a broker was first seen in the ISR that it is still in."""

    def leader_begins(self, tp: TopicPartition, epoch: int, broker_id: int, log: PartitionLog) -> None:
        owed = [value for value, committed_in in self._committed.get(tp, []) if committed_in <= epoch]
        held = values(log, 0, len(owed))
        if held != owed:
            at = next((index for index, pair in enumerate(zip(held, owed, strict=False)) if pair[0] != pair[1]), len(held))
            self._tell(f"broker {broker_id} leads {tp} in epoch {epoch} without the committed record at offset {at}")

    def committed(self, tp: TopicPartition, epoch: int, log: PartitionLog) -> None:
        """The leader's high watermark or ISR has changed."""
        ledger = self._committed.setdefault(tp, [])
        before = len(ledger)
        ledger += [(value, epoch) for value in values(log, before, log.high_watermark)]
        self._ask_members(tp, before)

    def _ask_members(self, tp: TopicPartition, before: int) -> None:
        ledger = self._committed[tp]
        isr = stored_state(self._cluster, tp)[1]
        for broker_id in self._cluster.ids:
            if broker_id not in isr:
                self._joined.pop((tp, broker_id), None)
                continue
            broker = self._running(broker_id)
            if broker is None:
                continue
            generation = self._cluster.world.life(f"b{broker_id}").generation
            is_new = (tp, broker_id) not in self._joined
            if self._joined.setdefault((tp, broker_id), generation) == generation:
                self._ask(tp, broker_id, broker, 0 if is_new else before, ledger)

    def _ask(self, tp: TopicPartition, broker_id: int, broker: Broker, start: int, ledger: list[tuple[bytes, int]]) -> None:
        log = broker.services.logs.get(tp)
        owed = [value for value, _ in ledger[start:]]
        if owed and (log is None or values(log, start, len(ledger)) != owed):
            self._tell(f"broker {broker_id} is in the ISR of {tp} without all that is committed from offset {start} on")

    def _running(self, broker_id: int) -> Broker | None:
        broker, machine = self._cluster.brokers.get(broker_id), self._cluster.world.machines[f"b{broker_id}"]
        return broker if broker is not None and machine.life is not None and machine.life.node is broker.node else None
