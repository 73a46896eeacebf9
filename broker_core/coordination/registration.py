"""A broker's registration `/brokers/ids/N`: ephemeral, and its czxid is the broker's epoch (spec Z1, KIP-380).

A broker that was killed leaves its registration until its session times out, so its successor has to deal with it:

| the znode's owner | what happens |
|---|---|
| nobody | `multi[create, set]`: the set's reply tells the czxid |
| this session | the reply of the creation was lost: the broker is registered |
| a dead session of this broker | deleted by version, then created (KAFKA-7165) |
| another one | waits, saying how long; after twice the session timeout it fails |

Dead are the session this broker had before it expired, and the one stored in its data folder: this process holds the
folder's lock, so the predecessor that stored it is gone.

The session id is stored in the data folder after each registration. A dead predecessor that was the controller has left
`/controller` too; it goes with the registration. After an expired session the broker connects and registers anew, and says
which epoch its process had first: the controller need not take it for one that was started again and may have lost records.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Sequence

from msgspec import structs

from broker_core.coordination.layout import CONTROLLER, broker_path
from broker_core.coordination.store import (
    BadVersion,
    ConnectionLoss,
    Create,
    NodeExists,
    NoNode,
    SessionExpired,
    SessionState,
    SetData,
    Stat,
    WatchEvent,
)
from broker_core.coordination.znode_data import encode_broker
from broker_core.errors import ErrorCode, KafkaError
from broker_core.model import BrokerInfo
from broker_core.seams import Node
from broker_core.tasks import end_task

log = logging.getLogger(__name__)

SESSION_FILE = "coordination-session.json"
SESSION_FILE_LIMIT_BYTES = 4_096
RETRY_MS = 100
RECONNECT_MS = 1_000
TIMEOUTS_TO_WAIT = 2


class Registration:
    """Registers one broker and keeps it registered.

    `folders` are the data folders, which this process has locked; `describe` gives what to register (its epoch is ignored).
    `on_registered` is called with the new broker epoch after each registration but the first, `on_failure` when it cannot
    be had any more: the broker must stop.
    """

    def __init__(
        self,
        node: Node,
        folders: Sequence[str],
        describe: Callable[[], BrokerInfo],
        *,
        session_timeout_ms: int,
        on_registered: Callable[[int], None],
        on_failure: Callable[[Exception], None],
    ) -> None:
        self._node = node
        self._files = [f"{folder}/{SESSION_FILE}" for folder in folders]
        self._describe = describe
        self._timeout_ms = session_timeout_ms
        self._on_registered = on_registered
        self._on_failure = on_failure
        self._own_sessions: set[int] = set()
        self._expired = asyncio.Event()
        self._moved = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._first_epoch = -1
        self.epoch = -1

    async def start(self) -> None:
        """Registers in the session that is open; returns once that is done, or raises `KafkaError`."""
        self._own_sessions.update(self._stored_sessions())
        self._node.store.add_listener(self._session_changed)
        await self._register()
        self._task = self._node.spawn(self._keep(), name="broker registration")

    async def stop(self) -> None:
        """Stops registering anew; the znode goes with the session."""
        await end_task(self._task)

    def _session_changed(self, state: SessionState) -> None:
        if state is SessionState.EXPIRED:
            self._expired.set()
            self._moved.set()

    def _predecessor_changed(self, _event: WatchEvent, _path: str) -> None:
        self._moved.set()

    async def _keep(self) -> None:
        while True:
            await self._expired.wait()
            self._expired.clear()
            log.warning("The session with the coordination store expired; broker %d registers anew", self._describe().broker_id)
            try:
                await self._register()
            except KafkaError as error:
                log.error("%s", error)
                self._on_failure(error)
                return
            else:
                self._on_registered(self.epoch)

    async def _connect(self) -> None:
        while self._node.store.session_id == 0:
            try:
                await self._node.store.connect(self._timeout_ms)
            except ConnectionLoss as error:
                log.warning("No connection to the coordination store, tried again: %s", error)
                await self._node.clock.sleep(RECONNECT_MS)

    async def _register(self) -> None:
        info = structs.replace(self._describe(), first_epoch=self._first_epoch)
        waiting_from_ms: float | None = None
        while True:
            self._expired.clear()
            await self._connect()
            try:
                epoch = await self._try(info)
                if epoch is not None:
                    break
                now_ms = self._node.clock.monotonic_ms()
                waiting_from_ms = now_ms if waiting_from_ms is None else waiting_from_ms
                await self._wait_for_predecessor(info.broker_id, waiting_from_ms + TIMEOUTS_TO_WAIT * self._timeout_ms - now_ms)
            except (NodeExists, NoNode, BadVersion, SessionExpired) as error:
                log.info("The registration is tried again: %s", error)
            except ConnectionLoss:
                await self._node.clock.sleep(RETRY_MS)
        self.epoch = epoch
        if self._first_epoch < 0:
            self._first_epoch = epoch
        self._own_sessions = {self._node.store.session_id}
        await self._store_session(info.broker_id)
        log.info("Broker %d is registered with epoch %d", info.broker_id, epoch)

    async def _try(self, info: BrokerInfo) -> int | None:
        """The broker epoch, or None while another session owns the znode."""
        path = broker_path(info.broker_id)
        stat = await self._node.store.exists(path)
        if stat is None:
            data = encode_broker(info, self._node.clock.now_ms())
            results = await self._node.store.multi([Create(path, b"", ephemeral=True), SetData(path, data, 0)])
            created = results[1]
            assert isinstance(created, Stat)
            return created.czxid
        if stat.ephemeral_owner == self._node.store.session_id:
            return stat.czxid
        if stat.ephemeral_owner in self._own_sessions:
            log.info("The registration of this broker's session 0x%x, which is dead, is deleted", stat.ephemeral_owner)
            await self._delete_controller(stat.ephemeral_owner)
            await self._node.store.delete(path, stat.version)
            return await self._try(info)
        return None

    async def _delete_controller(self, session_id: int) -> None:
        stat = await self._node.store.exists(CONTROLLER)
        if stat is not None and stat.ephemeral_owner == session_id:
            await self._node.store.delete(CONTROLLER, stat.version)

    async def _wait_for_predecessor(self, broker_id: int, left_ms: float) -> None:
        """Until the znode goes, this session ends, or the time is up."""
        self._moved.clear()
        stat = await self._node.store.exists(broker_path(broker_id), self._predecessor_changed)
        if stat is None:
            return
        owner = f"session 0x{stat.ephemeral_owner:x}"
        if left_ms <= 0:
            message = f"A broker with id {broker_id} is registered already, by {owner}, after {TIMEOUTS_TO_WAIT} session timeouts still."
            raise KafkaError(ErrorCode.DUPLICATE_BROKER_REGISTRATION, message)
        log.warning("Waiting at most %.1f s for the registration of broker %d by %s to go", left_ms / 1_000, broker_id, owner)
        try:
            await self._node.clock.wait_for(self._moved.wait(), left_ms)
        except TimeoutError:
            log.warning("The registration of broker %d by %s is still there", broker_id, owner)

    def _stored_sessions(self) -> list[int]:
        return [session for file in self._files for session in self._stored_session(file)]

    def _stored_session(self, file: str) -> list[int]:
        try:
            value = json.loads(self._node.disk.read_bytes(file, limit_bytes=SESSION_FILE_LIMIT_BYTES))
            return [int(value["session_id"])] if value["broker_id"] == self._describe().broker_id else []
        except (OSError, ValueError, KeyError, TypeError):
            return []

    async def _store_session(self, broker_id: int) -> None:
        value = {"version": 1, "broker_id": broker_id, "session_id": self._node.store.session_id}
        for file in self._files:
            try:
                await self._node.disk.write_atomic(file, json.dumps(value).encode())
            except OSError as error:
                log.error("The session id could not be stored in %s: %s", file, error)
