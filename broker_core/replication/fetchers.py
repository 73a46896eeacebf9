"""The fetchers of a broker: one per source broker, kept while the broker runs (SOURCES R7)."""

from __future__ import annotations

from collections.abc import Callable

from broker_core.client.pool import ChannelPool
from broker_core.client.request import BrokerChannel
from broker_core.config import ConfigHolder
from broker_core.metadata.cache import MetadataCache
from broker_core.model import TopicPartition
from broker_core.replication.fetcher import Fetcher, Source
from broker_core.replication.partition import Moved, Partition
from broker_core.replication.quota import ReplicationQuota
from broker_core.seams import Node

PURPOSE = "replica fetcher"


class Fetchers:
    """Gives each followed partition to the fetcher of its leader."""

    def __init__(
        self,
        node: Node,
        config: ConfigHolder,
        broker_id: int,
        broker_epoch: Callable[[], int],
        *,
        metadata: MetadataCache,
        channels: ChannelPool,
        moved: Callable[[Partition, Moved], None],
        quota: ReplicationQuota,
    ) -> None:
        self._node = node
        self._config = config
        self._broker_id = broker_id
        self._broker_epoch = broker_epoch
        self._metadata = metadata
        self._channels = channels
        self._moved = moved
        self._quota = quota
        self._fetchers: dict[int, Fetcher] = {}
        self._source_of: dict[TopicPartition, int] = {}
        self._addresses: dict[int, tuple[str, int]] = {}

    def learn(self, broker_id: int, host: str, port: int) -> None:
        """A leader's address from LeaderAndIsr, used while the metadata does not have the broker."""
        self._addresses[broker_id] = (host, port)

    def follow(self, partition: Partition) -> None:
        """Fetches the partition from its leader from now on."""
        self.remove(partition.tp)
        source = partition.leader_id
        self._source_of[partition.tp] = source
        if source not in self._fetchers:
            self._fetchers[source] = self._make(source)
        self._fetchers[source].add(partition)

    def remove(self, tp: TopicPartition) -> None:
        source = self._source_of.pop(tp, None)
        if source is not None:
            self._fetchers[source].remove(tp)

    def note(self, tp: TopicPartition) -> None:
        """A followed partition can be fetched again, see `Fetcher.note`."""
        source = self._source_of.get(tp)
        if source is not None:
            self._fetchers[source].note(tp)

    def stop(self) -> None:
        for fetcher in self._fetchers.values():
            fetcher.stop()

    def _make(self, source: int) -> Fetcher:
        origin = Source(source, self._broker_id, self._broker_epoch, lambda: self._channel(source))
        return Fetcher(self._node, self._config, origin, self._quota, moved=self._moved)

    def _channel(self, source: int) -> BrokerChannel:
        broker = self._metadata.broker(source)
        address = (broker.endpoints[0].host, broker.endpoints[0].port) if broker is not None else self._addresses.get(source)
        if address is None:
            raise ConnectionError(f"no address of broker {source} is known")
        return self._channels.channel(*address, PURPOSE)
