"""The periodic work of led partitions: members that fell behind leave the ISR, and what no event would notice is looked at."""

from __future__ import annotations

import logging

from broker_core.config import ConfigHolder
from broker_core.model import TopicPartition
from broker_core.replication.delayed_operations import DelayedOperations
from broker_core.replication.hosted_partitions import HostedPartitions
from broker_core.replication.partition import Partition
from broker_core.seams import Node
from broker_core.storage.slices import Slices

log = logging.getLogger(__name__)


class IsrExpiration:
    """Runs every half `replica.lag.time.max.ms`; its work follows the number of led partitions."""

    def __init__(self, node: Node, config: ConfigHolder, partitions: HostedPartitions, delayed: DelayedOperations) -> None:
        self._node = node
        self._config = config
        self._partitions = partitions
        self._delayed = delayed
        self._log_starts: dict[TopicPartition, int] = {}

    async def run(self) -> None:
        while True:
            await self._node.clock.sleep(self._config.current.replica_lag_time_max_ms / 2)
            await self._check_all()

    async def _check_all(self) -> None:
        slices, log_starts = Slices(self._node), dict[TopicPartition, int]()
        for partition in self._partitions.led():
            try:
                self._check(partition)
            except Exception:
                log.exception("a led partition could not be checked", extra={"partition": str(partition.tp)})
            if partition.log is not None:
                log_starts[partition.tp] = partition.log.log_start_offset
            await slices.breathe()
        self._log_starts = log_starts

    def recheck_stalled(self) -> None:
        """After the live brokers changed: a high watermark may have waited for one that is gone."""
        for partition in self._partitions.led():
            self._recheck_if_stalled(partition)

    def recheck(self, tp: TopicPartition) -> None:
        """After a flush that the leader's own part of an acknowledgement waited for."""
        partition = self._partitions.get(tp)
        if partition is not None:
            self._recheck_if_stalled(partition)

    def _check(self, partition: Partition) -> None:
        self._delayed.moved(partition, partition.shrink_isr())
        self._recheck_if_stalled(partition)
        if partition.log is not None and partition.log.log_start_offset != self._log_starts.get(
            partition.tp, partition.log.log_start_offset
        ):
            self._delayed.log_start_moved(partition.tp)

    def _recheck_if_stalled(self, partition: Partition) -> None:
        """A joiner that the high watermark waited for may have lost its right to be waited for, without any event."""
        if partition.log is not None and partition.log.high_watermark < partition.log.log_end_offset:
            moved = partition.recheck_high_watermark()
            if moved.high_watermark:
                self._delayed.moved(partition, moved)
