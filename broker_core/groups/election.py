"""Takes over and gives up partitions of `__consumer_offsets`: loads their groups from the log, unloads them."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Literal

from broker_core.config import ConfigHolder
from broker_core.coordinator_runtime.loader import Loader
from broker_core.errors import KafkaError
from broker_core.groups import leaving, liveness
from broker_core.groups.engine import Engine
from broker_core.groups.group import Group
from broker_core.groups.hosting import LoadTicket
from broker_core.groups.replay import Replay
from broker_core.groups.states import GroupState
from broker_core.model import CONSUMER_OFFSETS, TopicPartition
from broker_core.seams import Node

if TYPE_CHECKING:
    from broker_core.replication.hosted_partitions import HostedPartitions

log = logging.getLogger(__name__)

RETRY_BACKOFF_MS = 1000
GROUPS_PER_SLICE = 100


class Elections:
    """Told of every change of role of this broker's replicas of the topic."""

    def __init__(self, node: Node, config: ConfigHolder, hosting: HostedPartitions, engine: Engine) -> None:
        self._node = node
        self._config = config
        self._hosting = hosting
        self._engine = engine

    def on_role(self, tp: TopicPartition, role: Literal["leader", "follower", "none"], leader_epoch: int) -> None:
        if tp.topic != CONSUMER_OFFSETS:
            return
        if role == "leader":
            self.elected(tp.partition, leader_epoch)
        else:
            self.resigned(tp.partition, leader_epoch if role == "follower" else None)

    def elected(self, partition: int, epoch: int) -> None:
        ticket = self._engine.hosted.elected(partition, epoch)
        if ticket is not None:
            log.info("elected coordinator", extra={"partition": partition, "epoch": epoch})
            self._node.spawn(self._load(partition, ticket), name=f"load-groups-{partition}")

    def resigned(self, partition: int, epoch: int | None) -> None:
        hosted = self._engine.hosted
        was_hosted = hosted.is_owned(partition) or hosted.is_loading(partition)
        groups = hosted.resigned(partition, epoch)
        if was_hosted and not hosted.is_owned(partition):
            log.info("resigned coordinator", extra={"partition": partition, "epoch": epoch, "groups": len(groups)})
        for group in groups:
            self._engine.carry_out(group, leaving.unload(group, self._engine.now_ms))

    async def _load(self, partition: int, ticket: LoadTicket) -> None:
        """Until it succeeds or the partition is given up: answering from half of the offsets would lose the rest."""
        while self._is_current(partition, ticket):
            try:
                await self._load_once(partition, ticket)
                return
            except (KafkaError, OSError) as error:
                log.warning("groups not loaded", extra={"partition": partition, "reason": str(error)})
            await self._node.clock.sleep(RETRY_BACKOFF_MS)

    def _is_current(self, partition: int, ticket: LoadTicket) -> bool:
        return self._engine.hosted.is_current(partition, ticket)

    async def _load_once(self, partition: int, ticket: LoadTicket) -> None:
        leader_log = self._hosting.leader_log(TopicPartition(CONSUMER_OFFSETS, partition))
        replay = Replay()
        loader = Loader(self._node, leader_log, replay, lambda: self._is_current(partition, ticket))
        started_ms = self._node.clock.monotonic_ms()
        if not await loader.run(self._config.current.offsets_load_buffer_size):
            return
        groups: list[Group] = []
        for group in replay.build(self._engine.now_ms):
            groups.append(group)
            if len(groups) % GROUPS_PER_SLICE == 0:
                await self._node.clock.sleep(0)
        if not self._is_current(partition, ticket):
            return
        self._engine.hosted.loaded(partition, groups)
        log.info(
            "groups loaded",
            extra={
                "partition": partition,
                "groups": len(groups),
                "bytes": loader.bytes_read,
                "skipped": replay.skipped,
                "ms": self._node.clock.monotonic_ms() - started_ms,
            },
        )
        await self._wake(groups)

    async def _wake(self, groups: list[Group]) -> None:
        """Starts the groups' timers, some at a time; a group may be asked, or be given up, before its turn."""
        for index, group in enumerate(groups):
            if group.state is not GroupState.DEAD:
                self._engine.carry_out(group, liveness.loaded(group, self._engine.rules, self._engine.now_ms))
                self._engine.watch_retention(group)
                self._engine.tell(group)
            if index % GROUPS_PER_SLICE == GROUPS_PER_SLICE - 1:
                await self._node.clock.sleep(0)
