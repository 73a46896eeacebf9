"""Keeps the settings in force as ZooKeeper has them (spec O1).

`ConfigChanges` tells which entity changed and all its overrides; here they take effect. What is refused (somebody wrote it
past us) is logged, and the old settings stay.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping

from broker_core.admin.config_entries import DynamicBrokerConfigs
from broker_core.admin.names import DEFAULT_ENTITY
from broker_core.config import ConfigHolder, usable
from broker_core.coordination.config_changes import ConfigChanges, read_overrides
from broker_core.coordination.store import ConnectionLoss, SessionExpired
from broker_core.errors import ConfigError
from broker_core.quotas.entities import QUOTA_KINDS
from broker_core.seams import Node

log = logging.getLogger(__name__)


class ConfigWatcher:
    """`start` returns once all settings have been read."""

    def __init__(self, node: Node, config: ConfigHolder, dynamic: DynamicBrokerConfigs, broker_id: int) -> None:
        self._node = node
        self._config = config
        self._dynamic = dynamic
        self._broker_id = broker_id
        self._loaded_topics: set[str] = set()
        self._changes = ConfigChanges(node, self._changed)
        self._broker_listeners: list[Callable[[], None]] = []
        self._quota_listeners: list[Callable[[str, Mapping[str, str]], None]] = []

    def on_broker_change(self, listener: Callable[[], None]) -> None:
        """Calls back after a dynamic setting of this broker has changed."""
        self._broker_listeners.append(listener)

    def on_quota_change(self, listener: Callable[[str, Mapping[str, str]], None]) -> None:
        """Calls back with the path of an entity below `/config` and all its limits when they are read, or may have changed."""
        self._quota_listeners.append(listener)

    async def start(self) -> None:
        await self._changes.start()

    async def stop(self) -> None:
        await self._changes.stop()

    async def ensure_loaded(self, topics: Iterable[str]) -> None:
        """Reads the settings of topics met for the first time: a new leader must know `min.insync.replicas` before it serves.

        Raises `ConnectionLoss` or `SessionExpired`; a znode that is not settings counts as none, or its topic had no leader for ever.
        """
        for topic in sorted(set(topics) - self._loaded_topics):
            entity = f"topics/{topic}"
            self._changed(entity, await read_overrides(self._node.store, entity) or {})

    async def refresh(self, topics: Iterable[str]) -> None:
        """Reads the settings of these topics again: who asks for them right after a change, here or elsewhere, gets the new ones.

        Without the store (or where it is silent for as long as a session lasts), or where the znode is not settings, they stay as they are.
        """
        limit_ms = self._config.current.zookeeper_session_timeout_ms
        try:
            await self._node.clock.wait_for(self._refresh(sorted(set(topics))), limit_ms)
        except (ConnectionLoss, SessionExpired, TimeoutError) as error:
            log.warning("settings are told as they were last read", extra={"error": repr(error)})

    async def _refresh(self, topics: Iterable[str]) -> None:
        for topic in topics:
            entity = f"topics/{topic}"
            overrides = await read_overrides(self._node.store, entity)
            if overrides is not None:
                self._changed(entity, overrides)

    def forget(self, topic: str) -> None:
        """The topic is gone; one created later under its name starts from its own settings."""
        self._loaded_topics.discard(topic)
        self._config.set_topic(topic, {})

    def _changed(self, entity: str, overrides: Mapping[str, str]) -> None:
        kind, _, name = entity.partition("/")
        try:
            if kind in QUOTA_KINDS:
                for listener in self._quota_listeners:
                    listener(entity, overrides)
            else:
                self._set(kind, name, dict(overrides))
        except ConfigError as error:
            log.error("settings in ZooKeeper are refused", extra={"entity": entity, "error": str(error)})

    def _set(self, kind: str, name: str, overrides: dict[str, str]) -> None:
        if kind == "topics":
            self._loaded_topics.add(name)
            if overrides != self._config.topic_overrides(name):
                self._config.set_topic(name, overrides)
        elif kind == "brokers" and name == DEFAULT_ENTITY:
            self._set_broker(_usable(overrides, per_broker=False), self._dynamic.own)
        elif kind == "brokers" and name == str(self._broker_id):
            self._set_broker(self._dynamic.default, _usable(overrides, per_broker=True))

    def _set_broker(self, default: dict[str, str], own: dict[str, str]) -> None:
        merged = {**default, **own}
        changed = merged != self._config.broker_overrides
        if changed:
            self._config.set_broker(merged)
        self._dynamic.default, self._dynamic.own = default, own
        for listener in self._broker_listeners if changed else ():
            listener()


def _usable(overrides: Mapping[str, str], *, per_broker: bool) -> dict[str, str]:
    """As in Kafka one setting that cannot be taken, which another kind of broker may have written, keeps none of the others from it."""
    kept, left = usable(overrides, per_broker=per_broker)
    for name, why in left.items():
        log.error("a setting in ZooKeeper is left out", extra={"setting": name, "error": why})
    return kept
