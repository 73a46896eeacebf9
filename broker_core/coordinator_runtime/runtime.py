"""A coordinator's state by partition of its topic: loaded where this broker is elected, kept while it leads, unloaded when it resigns.

What the state is, its user says: a shard is one partition's part of it. It is built from the partition's whole log, then handed over to
whoever asks (`shard_for`), and writes by the `PartitionWriter` it was made with, which ends with it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, Literal, Protocol, TypeVar

from broker_core.coordinator_runtime.loader import Playback, play_back
from broker_core.coordinator_runtime.ownership import Ownership, Tenure
from broker_core.coordinator_runtime.partition_writer import PartitionWriter
from broker_core.coordinator_runtime.state_topic import StateTopic
from broker_core.errors import ErrorCode, KafkaError
from broker_core.model import TopicPartition
from broker_core.records.steps import Steps
from broker_core.seams import Node
from broker_core.storage.slices import in_slices

if TYPE_CHECKING:
    from broker_core.replication.manager import ReplicaManager

log = logging.getLogger(__name__)

RETRY_BACKOFF_MS = 1000

P = TypeVar("P", bound=Playback)


class Shard(Protocol[P]):
    """One partition's state, from an election to the resignation. It is asked from `loaded` on, while that still runs, too."""

    def playback(self) -> P:
        """A new one for each attempt to read the log."""

    def build(self, playback: P) -> Steps[int]:
        """Takes the state over from the log; returns how many things there are."""

    def loaded(self) -> Steps[None]:
        """Wakes the state: time passes for it from now on."""

    def unloaded(self) -> None:
        """Answers what waits here: another broker has the state now. Not called of a shard that never was loaded."""


S = TypeVar("S", bound=Shard[Any])


class CoordinatorRuntime(Generic[S]):
    """Told of every change of role of this broker's replicas; `shards` are those that are loaded, by partition."""

    def __init__(
        self,
        node: Node,
        topic: StateTopic,
        replicas: ReplicaManager,
        make_shard: Callable[[PartitionWriter], S],
        buffer_bytes: Callable[[], int],
    ) -> None:
        self._node = node
        self._topic = topic
        self._replicas = replicas
        self._make_shard = make_shard
        self._buffer_bytes = buffer_bytes
        self.ownership = Ownership()
        self.shards: dict[int, S] = {}
        self._when_loaded: dict[int, list[Callable[[S], None]]] = {}
        replicas.roles.add_listener(self._on_role)

    def shard_for(self, key: str) -> S:
        """The shard that the key belongs to. Raises COORDINATOR_LOAD_IN_PROGRESS, or NOT_COORDINATOR."""
        partition = self._topic.partition_for(key)
        shard = self.shards.get(partition)
        if shard is None:
            loading = self.ownership.is_loading(partition)
            code = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS if loading else ErrorCode.NOT_COORDINATOR
            raise KafkaError(code, f"{key[:80]!r} in {self._topic.name}-{partition}: {code.name}")
        return shard

    def tenure_for(self, key: str) -> tuple[int, int | None]:
        """The partition that the key belongs to, and the leader epoch in which this broker has its state."""
        partition = self._topic.partition_for(key)
        return partition, self.ownership.epoch(partition)

    def when_loaded(self, partition: int, act: Callable[[S], None]) -> None:
        """Does it with the partition's shard, now or as soon as that is loaded; never where another broker has the state.

        What is appended while a shard is loaded may be read by that or not, so `act` has to bear both.
        """
        shard = self.shards.get(partition)
        if shard is not None:
            act(shard)
        elif self.ownership.is_loading(partition):
            self._when_loaded.setdefault(partition, []).append(act)

    def close(self) -> None:
        for partition in self.ownership.partitions:
            self._resigned(partition, None)

    def _on_role(self, tp: TopicPartition, role: Literal["leader", "follower", "none"], leader_epoch: int) -> None:
        if tp.topic != self._topic.name:
            return
        if role == "leader":
            self._elected(tp, leader_epoch)
        else:
            self._resigned(tp.partition, leader_epoch if role == "follower" else None)

    def _elected(self, tp: TopicPartition, epoch: int) -> None:
        tenure = self.ownership.elected(tp.partition, epoch)
        if tenure is not None:
            log.info("elected coordinator", extra={"partition": str(tp), "epoch": epoch})
            self._node.spawn(self._load(tp, tenure), name=f"load-{tp}")

    def _resigned(self, partition: int, epoch: int | None) -> None:
        if not self.ownership.resigned(partition, epoch):
            return
        log.info("resigned coordinator", extra={"partition": f"{self._topic.name}-{partition}", "epoch": epoch})
        self._when_loaded.pop(partition, None)
        shard = self.shards.pop(partition, None)
        if shard is not None:
            shard.unloaded()

    async def _load(self, tp: TopicPartition, tenure: Tenure) -> None:
        """Until it succeeds or the partition is given up: answering from half of the state would lose the rest."""
        while tenure.is_loading:
            try:
                await self._load_once(tp, tenure)
                return
            except (KafkaError, OSError) as error:
                log.warning("coordinator not loaded", extra={"partition": str(tp), "reason": str(error)})
            await self._node.clock.sleep(RETRY_BACKOFF_MS)

    async def _load_once(self, tp: TopicPartition, tenure: Tenure) -> None:
        shard = self._make_shard(PartitionWriter(self._node.clock, self._replicas.appending, tp, tenure))
        playback = shard.playback()
        started_ms = self._node.clock.monotonic_ms()
        bytes_read = await play_back(self._node, self._replicas.partitions.leader_log(tp), playback, tenure, self._buffer_bytes())
        if not tenure.is_loading:
            return
        count = await in_slices(self._node, shard.build(playback))
        if not tenure.is_loading:
            return
        tenure.is_loading = False
        self.shards[tp.partition] = shard
        for act in self._when_loaded.pop(tp.partition, ()):
            act(shard)
        took_ms = self._node.clock.monotonic_ms() - started_ms
        told = {"partition": str(tp), "count": count, "bytes": bytes_read, "skipped": playback.skipped, "ms": took_ms}
        log.info("coordinator loaded", extra=told)
        await in_slices(self._node, shard.loaded())
