"""Tells the controller that this broker's data folder is offline: a sequential znode in `/log_dir_event_notification`.

The controller then asks the broker about all its replicas by LeaderAndIsr, learns from KAFKA_STORAGE_ERROR which are offline,
elects others and deletes the znode. A second znode after a lost reply only makes it ask again.

The same question heals what was for the moment only: a replica whose role could not begin for want of a file handle is offline for the
controller, which does not name it again by itself. So the broker has itself asked again after a growing pause, and obeys then. Where Apache
Kafka lacks a handle it ends.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from broker_core.coordination.layout import LOG_DIR_EVENTS
from broker_core.coordination.store import StoreError
from broker_core.coordination.znode_data import encode_log_dir_event
from broker_core.seams import Node

log = logging.getLogger(__name__)

RETRY_MS = 500
ASK_AGAIN_MS, ASK_AGAIN_MOST_MS = 5_000.0, 300_000.0
"""The first pause, and the longest: the question is about all replicas of the broker."""


async def announce_log_dir_failure(node: Node, broker_id: int) -> None:
    """Tries until the store has taken it: until then the controller sees a live broker with its leaderships."""
    while True:
        try:
            await _be_asked(node, broker_id)
        except StoreError as error:
            log.warning("the offline data folder could not be announced, will retry", extra={"error": repr(error)})
            await node.clock.sleep(RETRY_MS)
        else:
            log.warning("the offline data folder is announced to the controller", extra={"broker": broker_id})
            return


async def _be_asked(node: Node, broker_id: int) -> None:
    await node.store.create(f"{LOG_DIR_EVENTS}/log_dir_event_", encode_log_dir_event(broker_id), sequence=True)


class AskAgain:
    """Has the controller ask again, while `wanted` says that there is something to be healed."""

    def __init__(self, node: Node, broker_id: int, wanted: Callable[[], bool]) -> None:
        self._node = node
        self._broker_id = broker_id
        self._wanted = wanted
        self._task: asyncio.Task[None] | None = None

    def begin(self) -> None:
        if self._task is None or self._task.done():
            self._task = self._node.spawn(self._run(), name="ask again for roles")

    def end(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def _run(self) -> None:
        pause_ms = ASK_AGAIN_MS
        while True:
            await self._node.clock.sleep(pause_ms)
            if not self._wanted():
                return
            pause_ms = min(pause_ms * 2, ASK_AGAIN_MOST_MS)
            log.warning("the controller is asked for the roles that could not begin", extra={"broker": self._broker_id})
            try:
                await _be_asked(self._node, self._broker_id)
            except StoreError as error:
                log.warning("the controller could not be asked for roles", extra={"error": repr(error)})
