"""Asks the controller for ISR changes by AlterPartition: one request on its way at a time, with all that waits (KIP-497).

Who is the controller says the metadata alone, which follows the controllers' epochs: a former one is never asked after its successor,
whose answer would otherwise be undone by what the former still carries out.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import Any
from uuid import UUID

from msgspec import Struct

from broker_core.client.pool import ChannelPool
from broker_core.config import ConfigHolder
from broker_core.errors import ErrorCode, ProtocolViolation
from broker_core.metadata.cache import MetadataCache
from broker_core.model import NO_EPOCH, LeaderAndIsr, TopicPartition
from broker_core.protocol.api import ApiKey
from broker_core.protocol.codec import field
from broker_core.protocol.inter_broker import version_between_brokers
from broker_core.seams import Node

log = logging.getLogger(__name__)

PURPOSE = "alter partition"
PARTITIONS_MAX = 1_000
"""Partitions in one request: the controller does nothing else meanwhile."""
_BY_ID_SINCE = 2
_NETWORK_ERRORS = (ConnectionError, TimeoutError, OSError, ProtocolViolation)


class Wish(Struct, frozen=True):
    """The state that a leader asks for. `broker_epochs` are those that its followers' fetches name."""

    tp: TopicPartition
    topic_id: UUID | None
    proposal: LeaderAndIsr
    broker_epochs: Mapping[int, int]


class Reply(Struct, frozen=True):
    """The controller's word on one partition; `code` is None where none came. `state` with NONE alone."""

    code: ErrorCode | None
    state: LeaderAndIsr | None = None


NO_REPLY = Reply(None)


class AlterPartitionSender:
    """Of one broker. `broker_epoch` gives that of its present registration."""

    def __init__(
        self,
        node: Node,
        config: ConfigHolder,
        broker_id: int,
        broker_epoch: Callable[[], int],
        *,
        metadata: MetadataCache,
        channels: ChannelPool,
    ) -> None:
        self._node = node
        self._config = config
        self._broker_id = broker_id
        self._broker_epoch = broker_epoch
        self._metadata = metadata
        self._channels = channels
        self._waiting: dict[TopicPartition, tuple[Wish, asyncio.Future[Reply]]] = {}
        self._is_working = False
        self._asked: tuple[int, str, int] | None = None
        self._trouble = ""
        metadata.on_change(self._leave_former_controller)

    async def ask(self, wish: Wish) -> Reply:
        """One try. An earlier one of the same partition that still waits to be sent is given up: its leadership is over."""
        reply: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        _, overtaken = self._waiting.pop(wish.tp, (None, None))
        if overtaken is not None and not overtaken.done():
            overtaken.set_result(NO_REPLY)
        self._waiting[wish.tp] = wish, reply
        if not self._is_working:
            self._is_working = True
            self._node.spawn(self._work(), name="alter partitions")
        return await reply

    async def _work(self) -> None:
        try:
            while self._waiting:
                batch = dict(islice(self._waiting.items(), PARTITIONS_MAX))
                for tp in batch:
                    del self._waiting[tp]
                replies = await self._replies([wish for wish, _ in batch.values()])
                for tp, (_, reply) in batch.items():
                    if not reply.done():
                        reply.set_result(replies.get(tp, NO_REPLY))
        finally:
            self._is_working = False

    async def _replies(self, wishes: Sequence[Wish]) -> dict[TopicPartition, Reply]:
        """By partition; those that the answer lacks were not answered."""
        try:
            version, answer = await self._request(wishes)
        except _NETWORK_ERRORS as error:
            self._note_trouble("AlterPartition was not answered", len(wishes), repr(error))
            return {}
        except Exception:
            log.exception("AlterPartition could not be sent")
            return {}
        whole = ErrorCode(int(answer.error_code))
        if whole is not ErrorCode.NONE:
            self._note_trouble("AlterPartition refused", len(wishes), whole.name)
            return {wish.tp: Reply(whole) for wish in wishes}
        self._trouble = ""
        names = {wish.topic_id: wish.tp.topic for wish in wishes}
        return {
            TopicPartition(name, row.partition_index): _reply(row)
            for topic in answer.topics
            if (name := names.get(topic.topic_id) if version >= _BY_ID_SINCE else topic.topic_name) is not None
            for row in topic.partitions
        }

    def _note_trouble(self, trouble: str, partitions: int, error: str) -> None:
        """Once: it is tried again ten times a second, for as long as there is no controller."""
        if trouble != self._trouble:
            self._trouble = trouble
            log.info(trouble, extra={"partitions": partitions, "error": error})

    async def _request(self, wishes: Sequence[Wish]) -> tuple[int, Any]:
        controller = self._metadata.broker(self._metadata.controller_id)
        if controller is None:
            raise ConnectionError("no controller is known")
        current, static = self._config.current, self._config.static
        endpoint = controller.inter_broker(static.inter_broker_listener_name)
        version = version_between_brokers(static.inter_broker_protocol, ApiKey.ALTER_PARTITION)
        if any(wish.topic_id is None for wish in wishes):
            version = min(version, _BY_ID_SINCE - 1)
        payload = {"broker_id": self._broker_id, "broker_epoch": self._broker_epoch(), "topics": _topics(wishes)}
        self._asked = controller.broker_id, endpoint.host, endpoint.port
        try:
            channel = self._channels.channel(endpoint.host, endpoint.port, PURPOSE)
            return version, await channel.request(ApiKey.ALTER_PARTITION, version, payload, current.controller_socket_timeout_ms)
        finally:
            self._asked = None

    def _leave_former_controller(self) -> None:
        """It may never answer, and the next one waits to be asked."""
        if self._asked is not None and self._asked[0] != self._metadata.controller_id:
            self._channels.close(*self._asked[1:], PURPOSE)


def _topics(wishes: Sequence[Wish]) -> list[dict[str, Any]]:
    topics: dict[tuple[str, UUID | None], list[dict[str, Any]]] = {}
    for wish in wishes:
        proposal = wish.proposal
        row = {
            "partition_index": wish.tp.partition,
            "leader_epoch": proposal.leader_epoch,
            "new_isr": proposal.isr,
            "new_isr_with_epochs": [
                {"broker_id": member, "broker_epoch": wish.broker_epochs.get(member, NO_EPOCH)} for member in proposal.isr
            ],
            "leader_recovery_state": int(proposal.recovering),
            "partition_epoch": proposal.zk_version,
        }
        topics.setdefault((wish.tp.topic, wish.topic_id), []).append(row)
    return [{"topic_name": name, "topic_id": topic_id, "partitions": rows} for (name, topic_id), rows in topics.items()]


def _reply(row: Any) -> Reply:
    code = ErrorCode(int(row.error_code))
    if code is not ErrorCode.NONE:
        return Reply(code)
    recovering = bool(field(row, "leader_recovery_state", 0))
    return Reply(code, LeaderAndIsr(row.leader_id, row.leader_epoch, tuple(row.isr), row.partition_epoch, recovering))
