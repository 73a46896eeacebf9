"""The replica manager: the partitions a broker hosts, and the parts that do what is asked of them.

It owns no rule but the two that stand before every control request: it has to be meant for this registration of the broker
(KIP-380) and to come from the newest controller. All else is asked of its parts, by name:

    control   → roles        LeaderAndIsr, StopReplica       periodic → isr_expiration      ISR shrink, stalled high watermarks
    produce   → appending    append and wait for replicas    fetchers → following           what we replicate from others
    fetch     → fetching     read now or wait; sessions      ISR      → alter_isr_manager   asks the controller
    questions → lookups, hosted_partitions                   waiting  → delayed_operations  purgatories, sessions, watchers
    deletions → record_deletions   DeleteRecords             folders  → log_moves          replicas between data folders
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from broker_core.client.pool import ChannelPool
from broker_core.config import ConfigHolder
from broker_core.errors import CloseConnection, ErrorCode
from broker_core.metadata.cache import MetadataCache
from broker_core.model import NO_EPOCH, TopicPartition
from broker_core.protocol.codec import field
from broker_core.replication.appending import Appending
from broker_core.replication.control_requests import leader_and_isr_payload, leader_orders, stop_orders, stop_replica_payload
from broker_core.replication.control_work import ControlWork
from broker_core.replication.delayed_operations import DelayedOperations, topic_of
from broker_core.replication.flaws import NO_FLAWS, Flaws
from broker_core.replication.following.replica_fetcher_manager import ReplicaFetcherManager
from broker_core.replication.hosted_partitions import HostedPartitions
from broker_core.replication.isr.alter_isr_manager import AlterIsrManager
from broker_core.replication.isr.alter_partition_sender import AlterPartitionSender
from broker_core.replication.isr.isr_expiration import IsrExpiration
from broker_core.replication.leadership import is_old_generation
from broker_core.replication.log_dir_event import AskAgain, announce_log_dir_failure
from broker_core.replication.log_moves import LogMoves
from broker_core.replication.lookups import Lookups
from broker_core.replication.partition import Surroundings
from broker_core.replication.quota import follower_quota, leader_quota
from broker_core.replication.record_deletions import RecordDeletions
from broker_core.replication.roles import Roles
from broker_core.replication.serving.awaited_followers import AwaitedFollowers
from broker_core.replication.serving.fetch_params import FetchParams
from broker_core.replication.serving.fetch_session import FetchSession, PartitionKey, Reply, SessionWatch, WantedPartition
from broker_core.replication.serving.fetch_session_cache import FetchSessionCache
from broker_core.replication.serving.fetching import Fetching
from broker_core.replication.serving.partition_reader import LocalReader
from broker_core.replication.txn_verification import TxnVerification
from broker_core.seams import Node
from broker_core.storage.folder.log_dir import LogDirFailure
from broker_core.storage.manager import LogManager

log = logging.getLogger(__name__)


class ReplicaManager:
    """All replicas of one broker. `broker_epoch` gives the czxid of its present registration."""

    def __init__(
        self,
        node: Node,
        broker_id: int,
        config: ConfigHolder,
        logs: LogManager,
        metadata: MetadataCache,
        *,
        broker_epoch: Callable[[], int],
        channels: ChannelPool,
        flaws: Flaws = NO_FLAWS,
    ) -> None:
        self.broker_id = broker_id
        self.controller_epoch = NO_EPOCH
        self.on_refused: Callable[[str], None] = lambda text: None
        """Told of a control request that is refused as a whole, and why; of those alike that follow each other of the first."""
        self._last_refused = ""
        self._node = node
        self._metadata = metadata
        self._broker_epoch = broker_epoch
        self._flaws = flaws
        self._tasks: list[asyncio.Task[None]] = []
        current = config.current
        self.delayed = DelayedOperations(
            node.clock,
            fetch_purge_interval=current.fetch_purgatory_purge_interval_requests,
            produce_purge_interval=current.producer_purgatory_purge_interval_requests,
            deletion_purge_interval=current.delete_records_purgatory_purge_interval_requests,
        )
        self.partitions = HostedPartitions(Surroundings(broker_id, node.clock, config, metadata.is_alive, flaws), metadata)
        sender = AlterPartitionSender(node, config, broker_id, broker_epoch, metadata=metadata, channels=channels)
        asks_controller = config.static.inter_broker_protocol.alters_partitions
        self.alter_isr = AlterIsrManager(node, self.delayed, sender if asks_controller else None)
        self.delayed.on_isr_change = self.alter_isr.submit
        logs.upkeep.on_log_start_moved = self.delayed.log_start_moved
        self.fetchers = ReplicaFetcherManager(
            node,
            config,
            broker_id,
            broker_epoch,
            metadata=metadata,
            channels=channels,
            moved=self.delayed.moved,
            quota=follower_quota(broker_id, config),
        )
        awaited = AwaitedFollowers(node.clock)
        self.moves = LogMoves(node, config, logs, self.partitions)
        self.roles = Roles(
            broker_id,
            node,
            logs,
            partitions=self.partitions,
            fetchers=self.fetchers,
            delayed=self.delayed,
            awaited=awaited,
            moves=self.moves,
        )
        self._ask_again = AskAgain(node, broker_id, self._has_undone)
        self.roles.on_put_off = self._ask_again.begin
        self.control_work = ControlWork()
        self.workbench = logs.workbench
        self.verification = TxnVerification(lambda: config.current.transaction_partition_verification_enable)
        self.appending = Appending(node, self.delayed, self.partitions.hosted, self.workbench, self.verification)
        reader = LocalReader(node, config, metadata, self.delayed, hosted=self.partitions.hosted, quota=leader_quota(broker_id, config))
        self._fetching = Fetching(config, self.delayed, reader, awaited)
        self.lookups = Lookups(self.partitions.hosted, self.workbench)
        self.deletions = RecordDeletions(config, self.delayed, self.partitions.hosted, metadata.is_alive)
        self._isr_expiration = IsrExpiration(node, config, self.partitions, self.delayed)
        logs.on_settled = self._settled
        logs.on_offline = self._log_dir_failed
        self.fetch_sessions = FetchSessionCache(
            lambda: config.current.max_incremental_fetch_session_cache_slots,
            self._draw_session_id,
            SessionWatch(self._session_gained, self._session_lost),
        )

    # Start and stop

    def start(self) -> None:
        """Starts the periodic work."""
        self._tasks.append(self._node.spawn(self._isr_expiration.run(), name="isr-expiration"))

    async def shutdown(self) -> None:
        """Stops replication and lets everything that waits go."""
        self.fetchers.stop()
        self.moves.end()
        self._ask_again.end()
        self.alter_isr.close()
        for task in self._tasks:
            task.cancel()
        self.delayed.close()

    # The controller's requests

    async def become_leader_or_follower(self, request: Any) -> dict[str, Any]:
        return await self.control_work.once(request, lambda: self._become_leader_or_follower(request))

    async def _become_leader_or_follower(self, request: Any) -> dict[str, Any]:
        refused = self._refuse(request, "LeaderAndIsr")
        if refused is not ErrorCode.NONE:
            return leader_and_isr_payload(refused)
        for leader in field(request, "live_leaders", None) or ():
            self.fetchers.learn(leader.broker_id, leader.host_name, leader.port)
        verdicts = await self.roles.lead_and_follow(leader_orders(request), lambda: self._overtaken(request))
        return leader_and_isr_payload(ErrorCode.NONE, verdicts)

    async def stop_replicas(self, request: Any) -> dict[str, Any]:
        return await self.control_work.once(request, lambda: self._stop_replicas(request))

    async def _stop_replicas(self, request: Any) -> dict[str, Any]:
        refused = self._refuse(request, "StopReplica")
        if refused is not ErrorCode.NONE:
            return stop_replica_payload(refused)
        return stop_replica_payload(ErrorCode.NONE, await self.roles.stop(stop_orders(request), lambda: self._overtaken(request)))

    def update_metadata(self, request: Any) -> dict[str, Any]:
        refused = self._refuse(request, "UpdateMetadata")
        if refused is ErrorCode.NONE:
            before = self._metadata.live_brokers()
            self._metadata.update(request, self._node.clock.now_ms())
            if self._metadata.live_brokers() != before:
                self._isr_expiration.recheck_stalled()
        return {"error_code": int(refused)}

    def _overtaken(self, request: Any) -> ErrorCode:
        """A newer controller may be heard of while an older one's request is carried out in slices: what it deletes may be wanted again."""
        return ErrorCode.STALE_CONTROLLER_EPOCH if request.controller_epoch < self.controller_epoch else ErrorCode.NONE

    def _refuse(self, request: Any, api: str) -> ErrorCode:
        """The verdict on a control request as a whole; a newer controller is remembered.

        Until this broker is registered nobody can tell whether a request is meant for it or for its predecessor (which may
        have had a longer log), so the connection is closed and the controller asks again.
        """
        named, own = field(request, "broker_epoch", NO_EPOCH), self._broker_epoch()
        if not self._flaws.obey_before_registration and named != NO_EPOCH and own == NO_EPOCH:
            raise CloseConnection(f"a control request for registration {named} came before this broker is registered")
        if not self._flaws.accept_old_generations and is_old_generation(named, own):
            log.warning("control request for an earlier registration refused", extra={"request_epoch": request.broker_epoch})
            self._tell_refused(request, api, f"it is for registration {named}, this is {own}")
            return ErrorCode.STALE_BROKER_EPOCH
        if request.controller_epoch < self.controller_epoch:
            log.warning("control request of a former controller refused", extra={"request_epoch": request.controller_epoch})
            self._tell_refused(request, api, f"the controller's epoch is {self.controller_epoch} now")
            return ErrorCode.STALE_CONTROLLER_EPOCH
        self.controller_epoch = request.controller_epoch
        return ErrorCode.NONE

    def _tell_refused(self, request: Any, api: str, why: str) -> None:
        text = f"{api} of controller {request.controller_id} in epoch {request.controller_epoch}: {why}"
        if text != self._last_refused:
            self._last_refused = text
            self.on_refused(text)

    # A failed or busy disk

    def _log_dir_failed(self, failure: LogDirFailure) -> None:
        """In a task of its own: whoever met the error is in the middle of one of the partitions."""
        self._node.spawn(self._go_offline(), name="log dir offline")

    async def _go_offline(self) -> None:
        await self.roles.go_offline()
        await announce_log_dir_failure(self._node, self.broker_id)

    def _has_undone(self) -> bool:
        return any(partition.undone for partition in self.partitions.all())

    def _settled(self, tp: TopicPartition) -> None:
        """A flush that an acknowledgement waited for is done: ours as a leader, or the one to our leader."""
        self._isr_expiration.recheck(tp)
        self.fetchers.note(tp)

    # Fetching

    def fetch(
        self,
        params: FetchParams,
        partitions: list[WantedPartition],
        *,
        session_id: int = 0,
        session_epoch: int = -1,
        forgotten: Sequence[PartitionKey] = (),
    ) -> Awaitable[Reply]:
        """Answers a Fetch request, which counts as arrived already when this returns: `Reply.answers` are the partitions to tell, in
        order."""
        context = self.fetch_sessions.context(
            params.version,
            session_id,
            session_epoch,
            partitions=partitions,
            forgotten=forgotten,
            now_ms=self._node.clock.monotonic_ms(),
            from_follower=params.from_follower,
        )
        return self._fetching.fetch(params, context)

    def _draw_session_id(self) -> int:
        return int.from_bytes(self._node.entropy.bytes(4), "big") & 0x7FFFFFFF

    def _session_gained(self, session: FetchSession, wanted: WantedPartition) -> bool:
        return self.delayed.gained(session, topic_of(wanted, self._metadata.topic_name), wanted)

    def _session_lost(self, session: FetchSession, wanted: WantedPartition) -> None:
        tp = self.delayed.lost(session, wanted)
        partition = self.partitions.get(tp) if tp is not None else None
        if partition is not None:
            partition.session_ended(session.clock)
