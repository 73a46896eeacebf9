"""Follows `/config/changes` and keeps the broker's settings as ZooKeeper has them (SOURCES O1).

A change is a sequential znode that names an entity; the entity's settings are read again, so a notification may be seen
twice or late without harm. Notifications older than a quarter of an hour are removed by whoever meets them.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable

from broker_core.admin.config_entries import DynamicBrokerConfigs
from broker_core.admin.names import DEFAULT_ENTITY
from broker_core.config import ConfigHolder
from broker_core.coordination import layout
from broker_core.coordination.store import NoNode, StoreError, WatchEvent
from broker_core.coordination.znode_data import decode_config, decode_config_change
from broker_core.errors import ConfigError
from broker_core.seams import Node

log = logging.getLogger(__name__)

NOTIFICATION_AGE_MAX_MS = 15 * 60 * 1000
RETRY_AFTER_MS = 1000


class ConfigWatcher:
    """One task that reads changes; `start` returns once everything has been read."""

    def __init__(self, node: Node, config: ConfigHolder, dynamic: DynamicBrokerConfigs, broker_id: int) -> None:
        self._node = node
        self._config = config
        self._dynamic = dynamic
        self._broker_id = broker_id
        self._loaded_topics: set[str] = set()
        self._last_change = ""
        self._changed = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Reads all settings, then follows the changes."""
        await self._reload()
        self._task = self._node.spawn(self._follow(), name="config-watcher")

    def session_renewed(self) -> None:
        """After a new session all watches are gone and changes may have been missed: everything is read again."""
        self._last_change = ""
        self._loaded_topics.clear()
        self._changed.set()

    def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def ensure_loaded(self, topics: Iterable[str]) -> None:
        """Reads the settings of topics met for the first time: a new leader must know `min.insync.replicas` before it serves."""
        for topic in sorted(set(topics) - self._loaded_topics):
            await self._apply(f"topics/{topic}")

    def forget(self, topic: str) -> None:
        """The topic is gone; one created later under its name starts from its own settings."""
        self._loaded_topics.discard(topic)
        self._config.set_topic(topic, {})

    async def _follow(self) -> None:
        while True:
            await self._changed.wait()
            self._changed.clear()
            try:
                await (self._reload() if self._last_change == "" else self._read_changes())
            except StoreError as error:
                log.warning("settings could not be read, trying again", extra={"error": repr(error)})
                await self._node.clock.sleep(RETRY_AFTER_MS)
                self._changed.set()

    async def _reload(self) -> None:
        names = await self._node.store.children(layout.CONFIG_CHANGES, self._on_change)
        for kind in ("topics", "brokers"):
            for name in await self._children(f"{layout.CONFIGS}/{kind}"):
                await self._apply(f"{kind}/{name}")
        self._last_change = names[-1] if names else "-"

    async def _children(self, path: str) -> list[str]:
        try:
            return await self._node.store.children(path)
        except NoNode:
            return []

    def _on_change(self, event: WatchEvent, path: str) -> None:
        self._changed.set()

    async def _read_changes(self) -> None:
        for name in await self._node.store.children(layout.CONFIG_CHANGES, self._on_change):
            try:
                data, stat = await self._node.store.get(f"{layout.CONFIG_CHANGES}/{name}")
                if name > self._last_change:
                    await self._apply(decode_config_change(data))
                    self._last_change = name
                if self._node.clock.now_ms() - stat.ctime_ms > NOTIFICATION_AGE_MAX_MS:
                    await self._node.store.delete(f"{layout.CONFIG_CHANGES}/{name}")
            except NoNode:
                continue

    async def _apply(self, entity: str) -> None:
        kind, _, name = entity.partition("/")
        if kind not in ("topics", "brokers"):
            return
        try:
            data, _ = await self._node.store.get(f"{layout.CONFIGS}/{entity}")
            overrides = decode_config(data)
        except NoNode:
            overrides = {}
        try:
            self._set(kind, name, overrides)
        except ConfigError as error:
            log.error("settings in ZooKeeper are refused", extra={"entity": entity, "error": str(error)})

    def _set(self, kind: str, name: str, overrides: dict[str, str]) -> None:
        if kind == "topics":
            self._loaded_topics.add(name)
            self._config.set_topic(name, overrides)
        elif name == DEFAULT_ENTITY:
            self._config.set_broker({**overrides, **self._dynamic.own})
            self._dynamic.default = overrides
        elif name == str(self._broker_id):
            self._config.set_broker({**self._dynamic.default, **overrides})
            self._dynamic.own = overrides
