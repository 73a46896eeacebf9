"""Everything that was ever committed, and who must hold it: checked after the steps that changed a leader (spec A).

- *LeaderCompleteness*: who begins to lead in epoch e holds all that was committed in epochs up to e.
- *StrongIsr*: when a high watermark rises or an ISR is written, each running member of the ISR in the store holds it too.

A member that lost power since the registration in which it joined is not asked: what it lost is the risk of unflushed logs
(spec B15). Nor is one whose data folder is offline, until it runs again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from broker_core.coordination.layout import broker_path
from broker_core.model import TopicPartition
from broker_core.records.batch import iter_headers, read_records
from broker_core.server.broker import Broker
from broker_core.storage.log import PartitionLog
from tests.simulation.kernel.disk import SimDisk
from tests.support.broker_cluster import BrokerCluster

Entry = tuple[int, int, bytes]
"""(offset, leader epoch of its batch, value) of a record."""


def entries(log: PartitionLog, start: int, end: int) -> list[Entry]:
    """Records in [start, end), fewer when the log ends before; a disk that fails to read does not keep the simulator out."""
    found: list[Entry] = []
    offset, end = start, min(end, log.log_end_offset)
    with cast(SimDisk, log._node.disk).sound():
        while offset < end:
            part = log.read(offset, 1 << 24, end, True)
            assert part.records is not None
            data = part.records.file.pread(part.records.position, part.records.length)
            for position, header in iter_headers(data):
                records = read_records(data, position, header)
                found += [(each.offset, header.leader_epoch, each.value or b"") for each in records if start <= each.offset < end]
                offset = header.next_offset
    return found


def values(log: PartitionLog, start: int, end: int) -> list[bytes]:
    return [value for _, _, value in entries(log, start, end)]


class Ledger:
    """`tell` is called with each violation."""

    def __init__(self, cluster: BrokerCluster, tell: Callable[[str], None]) -> None:
        self._cluster = cluster
        self._tell = tell
        self._committed: dict[TopicPartition, list[tuple[bytes, int]]] = {}
        self._members: dict[TopicPartition, dict[int, int]] = {}
        """The ISR as last written, each with the czxid of the registration in which it joined (0: none)."""
        self._seen: dict[tuple[TopicPartition, int], tuple[PartitionLog, int, int]] = {}
        """Of each member the log that was looked at, how often it had been cut, and how much of it was as it must be."""

    def leader_begins(self, tp: TopicPartition, epoch: int, broker_id: int, log: PartitionLog) -> None:
        owed = [value for value, committed_in in self._committed.get(tp, []) if committed_in <= epoch]
        held = values(log, 0, len(owed))
        if held != owed:
            at = next((index for index, pair in enumerate(zip(held, owed, strict=False)) if pair[0] != pair[1]), len(held))
            self._tell(f"broker {broker_id} leads {tp} in epoch {epoch} without the committed record at offset {at}")

    def committed(self, tp: TopicPartition, epoch: int, log: PartitionLog) -> None:
        """The leader's high watermark or ISR has changed."""
        ledger = self._committed.setdefault(tp, [])
        ledger += [(value, epoch) for value in values(log, len(ledger), log.high_watermark)]
        self._ask_members(tp)

    def isr_written(self, tp: TopicPartition, isr: tuple[int, ...]) -> None:
        """The store's ISR was written, by whomever."""
        before = self._members.get(tp, {})
        self._members[tp] = {broker_id: before.get(broker_id, self._registration(broker_id)) for broker_id in isr}
        for broker_id in self._cluster.ids:
            if broker_id not in before:
                self._seen.pop((tp, broker_id), None)
        self._ask_members(tp)

    def _registration(self, broker_id: int) -> int:
        znode = self._cluster.world.ensemble.tree.find(broker_path(broker_id))
        return 0 if znode is None else znode.czxid

    def _ask_members(self, tp: TopicPartition) -> None:
        for broker_id, joined_zxid in self._members[tp].items():
            broker = self._running(broker_id)
            if broker is not None and self._cluster.world.machines[f"b{broker_id}"].power_lost_zxid <= joined_zxid:
                self._ask(tp, broker_id, broker)

    def _ask(self, tp: TopicPartition, broker_id: int, broker: Broker) -> None:
        logs, ledger = broker.services.logs, self._committed.get(tp, [])
        log = logs.get(tp)
        if logs.folders.offline or (log is not None and log.health.closed):
            return
        if log is None:
            if ledger:
                self._tell(f"broker {broker_id} is in the ISR of {tp} without any log")
            return
        seen, cuts, start = self._seen.get((tp, broker_id), (log, 0, 0))
        start = start if seen is log and cuts == log.recovery.truncations else 0
        owed = [value for value, _ in ledger[start:]]
        if owed and values(log, start, len(ledger)) != owed:
            self._tell(f"broker {broker_id} is in the ISR of {tp} without all that is committed from offset {start} on")
        self._seen[tp, broker_id] = log, log.recovery.truncations, len(ledger)

    def _running(self, broker_id: int) -> Broker | None:
        broker, machine = self._cluster.brokers.get(broker_id), self._cluster.world.machines[f"b{broker_id}"]
        return broker if broker is not None and machine.life is not None and machine.life.node is broker.node else None
