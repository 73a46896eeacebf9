"""Every broker's watch on `/config/changes`: tells which settings changed, without a restart (spec O1).

Whoever changes settings writes `/config/<kind>/<name>` and then a sequential notification below `/config/changes` that names
the entity. A notification only says "look"; what counts is what the settings are when they are read. At the start, and
after the connection was lost, all settings are read, as notifications may have been missed.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping

from broker_core.coordination.layout import CONFIG_CHANGES, CONFIG_TYPES, CONFIGS
from broker_core.coordination.store import ConnectionLoss, NoNode, SessionExpired, SessionState, Store, StoreError, WatchEvent
from broker_core.coordination.znode_data import decode_config, decode_config_change
from broker_core.seams import Node
from broker_core.tasks import end_task

log = logging.getLogger(__name__)

PREFIX = "config_change_"
RETRY_MS = 100
AGAIN_MS = 1_000
"""After an error that nobody foresaw: a watch that ended by it would leave the broker with the settings of that moment for good."""
USERS, CLIENTS = "users", "clients"
GONE_WHEN_EMPTY = (USERS, CLIENTS, "ips")
EXPIRY_MS = 15 * 60 * 1_000
"""Notifications this old are deleted by whoever comes by: every broker has read them or will read everything."""

OnChange = Callable[[str, Mapping[str, str]], None]
"""Called with the entity, such as `topics/orders`, `brokers/<default>` or `users/alice/clients/app`, and all its present overrides."""


async def read_overrides(store: Store, entity: str) -> dict[str, str] | None:
    """What is set on an entity now; None, and a line in the log, where its znode is not settings.

    Raises `ConnectionLoss` or `SessionExpired`.
    """
    try:
        return decode_config((await store.get(f"{CONFIGS}/{entity}"))[0])
    except NoNode:
        return {}
    except (ConnectionLoss, SessionExpired):
        raise
    except StoreError as error:
        log.error("settings in ZooKeeper are refused", extra={"entity": entity, "error": str(error)})
        return None


class ConfigChanges:
    """One broker's watcher; `start` returns after all settings have been read once."""

    def __init__(self, node: Node, on_change: OnChange) -> None:
        self._node = node
        self._on_change = on_change
        self._wake = asyncio.Event()
        self._read_all = True
        self._done = ""
        self._set: dict[str, None] = {}
        """Whose znode had something and goes with the last of it, so that one that is missing has to be told of."""
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        self._node.store.add_listener(self._session_changed)
        await self._catch_up()
        self._task = self._node.spawn(self._run(), name="config changes")

    async def stop(self) -> None:
        await end_task(self._task)

    def _session_changed(self, state: SessionState) -> None:
        if state is SessionState.CONNECTED:
            self._read_all = True
            self._wake.set()

    def _changed(self, _event: WatchEvent, _path: str) -> None:
        self._wake.set()

    async def _run(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            try:
                await self._catch_up()
            except SessionExpired:
                log.info("Settings are read again in the next session")
            except Exception:
                log.exception("Settings could not be followed, and are read again")
                self._read_all = True
                self._wake.set()
                await self._node.clock.sleep(AGAIN_MS)

    async def _catch_up(self) -> None:
        while True:
            try:
                names = await self._node.store.children(CONFIG_CHANGES, self._changed)
                if self._read_all:
                    self._read_all = False
                    await self._tell_all()
                else:
                    await self._tell_new([name for name in names if name > self._done])
                self._done = max(names, default=self._done)
                await self._drop_old(names)
                return
            except ConnectionLoss:
                self._read_all = True
                await self._node.clock.sleep(RETRY_MS)

    async def _tell_all(self) -> None:
        gone = dict(self._set)
        for kind in CONFIG_TYPES:
            for name in await self._names(kind):
                for entity in (f"{kind}/{name}", *(await self._below(name) if kind == USERS else ())):
                    gone.pop(entity, None)
                    await self._tell(entity)
        for entity in gone:
            await self._tell(entity)

    async def _below(self, user: str) -> list[str]:
        """A user's client ids have settings of their own."""
        folder = f"{USERS}/{user}/{CLIENTS}"
        return [f"{folder}/{client}" for client in await self._names(folder)]

    async def _names(self, kind: str) -> list[str]:
        try:
            return await self._node.store.children(f"{CONFIGS}/{kind}")
        except NoNode:
            return []

    async def _tell_new(self, names: list[str]) -> None:
        entities: dict[str, None] = {}
        for name in names:
            try:
                data, _ = await self._node.store.get(f"{CONFIG_CHANGES}/{name}")
                entities[decode_config_change(data)] = None
            except NoNode:
                log.debug("Config change %s is gone", name)
            except (ConnectionLoss, SessionExpired):
                raise
            except StoreError as error:
                log.error("A config change was left out: %s", error)
        for entity in entities:
            await self._tell(entity)

    async def _tell(self, entity: str) -> None:
        overrides = await read_overrides(self._node.store, entity)
        if overrides is None:
            return
        if overrides and entity.partition("/")[0] in GONE_WHEN_EMPTY:
            self._set[entity] = None
        else:
            self._set.pop(entity, None)
        self._on_change(entity, overrides)

    async def _drop_old(self, names: list[str]) -> None:
        now_ms = self._node.clock.now_ms()
        for name in names:
            path = f"{CONFIG_CHANGES}/{name}"
            stat = await self._node.store.exists(path)
            if stat is None:
                continue
            if now_ms - stat.ctime_ms < EXPIRY_MS:
                return
            try:
                await self._node.store.delete(path)
            except NoNode:
                log.debug("%s was deleted by another broker", path)
