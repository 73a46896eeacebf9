"""The fetchers of a broker: `num.replica.fetchers` per source broker, each with its share of the partitions (spec R7)."""

from __future__ import annotations

from collections.abc import Callable

from broker_core.client.pool import ChannelPool
from broker_core.client.request import BrokerChannel
from broker_core.config import ConfigHolder
from broker_core.hashing import java_hash, kafka_abs
from broker_core.metadata.cache import MetadataCache
from broker_core.model import BrokerInfo, TopicPartition
from broker_core.replication.following.replica_fetcher import ReplicaFetcher, Source
from broker_core.replication.partition import Moved, Partition
from broker_core.replication.quota import ReplicationQuotaManager
from broker_core.seams import Node

PURPOSE = "replica fetcher"
FetcherKey = tuple[int, int]
"""The source broker and the number of the fetcher."""

_INT32 = 1 << 32


def fetcher_number(tp: TopicPartition, fetchers: int) -> int:
    """Which of a source broker's fetchers has the partition: Kafka's choice, in 32-bit arithmetic that wraps around."""
    mixed = (31 * java_hash(tp.topic) + tp.partition) % _INT32
    return kafka_abs(mixed - _INT32 if mixed >= _INT32 // 2 else mixed) % fetchers


class ReplicaFetcherManager:
    """Gives each followed partition to its fetcher. A fetcher has a connection and a fetch session of its own."""

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
        quota: ReplicationQuotaManager,
    ) -> None:
        self._node = node
        self._config = config
        self._broker_id = broker_id
        self._broker_epoch = broker_epoch
        self._metadata = metadata
        self._channels = channels
        self._moved = moved
        self._quota = quota
        self._fetchers: dict[FetcherKey, ReplicaFetcher] = {}
        self._followed: dict[TopicPartition, tuple[FetcherKey, Partition]] = {}
        self._addresses: dict[int, tuple[str, int]] = {}
        self._read_off: dict[int, tuple[BrokerInfo, tuple[str, int]]] = {}
        """The addresses read off what the metadata has of brokers, for as long as it has just that."""

    def learn(self, broker_id: int, host: str, port: int) -> None:
        """A leader's address from LeaderAndIsr, used while the metadata does not have the broker."""
        self._addresses[broker_id] = (host, port)

    def follow(self, partition: Partition) -> None:
        """Fetches the partition from its leader from now on."""
        key = (partition.leader_id, fetcher_number(partition.tp, self._config.current.num_replica_fetchers))
        self._end_idle(key)
        self.remove(partition.tp)
        self._followed[partition.tp] = key, partition
        if key not in self._fetchers:
            self._fetchers[key] = self._make(*key)
        self._fetchers[key].add(partition)

    def _end_idle(self, key: FetcherKey) -> None:
        """A fetcher that had nothing to follow is not taken up again, nor its connection (Kafka ends idle fetchers at once): its
        last request may wait for a machine that has lost power since, for as long as `replica.socket.timeout.ms`."""
        fetcher = self._fetchers.get(key)
        if fetcher is not None and fetcher.is_idle:
            self._fetchers.pop(key).retire()
            address = self._address(key[0])
            if address is not None:
                self._channels.close(*address, f"{PURPOSE} {key[1]}")

    def remove(self, tp: TopicPartition) -> None:
        key, _ = self._followed.pop(tp, (None, None))
        if key is not None:
            self._fetchers[key].remove(tp)

    def resize(self) -> None:
        """After `num.replica.fetchers` changed: partitions go to their new fetchers, each from its log's end; the surplus ends."""
        count = self._config.current.num_replica_fetchers
        for tp, ((_, number), partition) in list(self._followed.items()):
            if number != fetcher_number(tp, count):
                self.follow(partition)
        for key in [key for key in self._fetchers if key[1] >= count]:
            self._fetchers.pop(key).retire()

    def note(self, tp: TopicPartition) -> None:
        """A followed partition can be fetched again, see `ReplicaFetcher.note`."""
        key, _ = self._followed.get(tp, (None, None))
        if key is not None:
            self._fetchers[key].note(tp)

    def stop(self) -> None:
        for fetcher in self._fetchers.values():
            fetcher.stop()

    def _make(self, source: int, number: int) -> ReplicaFetcher:
        purpose = f"{PURPOSE} {number}"
        origin = Source(
            source, self._broker_id, self._broker_epoch, lambda: self._channel(source, purpose), lambda: self._metadata.has_topic_ids
        )
        return ReplicaFetcher(self._node, self._config, origin, self._quota, moved=self._moved)

    def _channel(self, source: int, purpose: str) -> BrokerChannel:
        address = self._address(source)
        if address is None:
            raise ConnectionError(f"no address of broker {source} is known")
        return self._channels.channel(*address, purpose)

    def _address(self, source: int) -> tuple[str, int] | None:
        broker = self._metadata.broker(source)
        if broker is None:
            return self._addresses.get(source)
        read_off = self._read_off.get(source)
        if read_off is None or read_off[0] is not broker:
            endpoint = broker.inter_broker(self._config.static.inter_broker_listener_name)
            read_off = self._read_off[source] = broker, (endpoint.host, endpoint.port)
        return read_off[1]
