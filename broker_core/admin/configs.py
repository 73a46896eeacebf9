"""Reads and changes the settings of topics and brokers (spec O1).

Reading is answered from what is in force here; a change is checked, written to `/config/topics|brokers/…` and announced
by a sequential znode under `/config/changes`, which every broker's `ConfigWatcher` follows.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from broker_core.admin.config_entries import (
    ConfigEntry,
    DynamicBrokerConfigs,
    broker_entries,
    default_entries,
    logger_entries,
    override_entries,
    topic_entries,
)
from broker_core.admin.loggers import LevelChange, check_levels, set_levels
from broker_core.admin.names import CONFIG_CHANGE_PREFIX, DEFAULT_ENTITY, check_topic_name
from broker_core.admin.topics import in_session, store_errors
from broker_core.config import (
    TOPIC_KEYS,
    ConfigHolder,
    Key,
    KeyType,
    broker_key,
    check_dynamic,
    check_threads,
    keeps_no_password,
    usable,
    validate_topic_overrides,
)
from broker_core.coordination import layout
from broker_core.coordination.store import BadVersion, NodeExists, NoNode, Stat
from broker_core.coordination.znode_data import decode_config, encode_config, encode_config_change
from broker_core.errors import ConfigError, ErrorCode, KafkaError
from broker_core.seams import Node

if TYPE_CHECKING:
    from broker_core.metadata.cache import MetadataCache

WRITE_ATTEMPTS = 3
ALL_BROKERS = ""


class ResourceType(enum.IntEnum):
    """Kinds of resources that have settings, as far as ZooKeeper mode knows them."""

    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    """Of KRaft only (KIP-714): named, and refused."""

    @classmethod
    def of(cls, number: int) -> ResourceType:
        try:
            return cls(number)
        except ValueError:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"Unknown resource type {number}") from None


class ConfigOperation(enum.IntEnum):
    """What IncrementalAlterConfigs does to one setting."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3

    @classmethod
    def of(cls, number: int) -> ConfigOperation:
        try:
            return cls(number)
        except ValueError:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"Unknown config operation {number}") from None


class ConfigChange(Struct, frozen=True):
    name: str
    operation: ConfigOperation
    value: str | None


class ConfigAdmin:
    """The settings of topics, of this broker and of all brokers."""

    def __init__(self, node: Node, config: ConfigHolder, metadata: MetadataCache, dynamic: DynamicBrokerConfigs, broker_id: int) -> None:
        self._node = node
        self._config = config
        self._metadata = metadata
        self._dynamic = dynamic
        self._broker_id = broker_id

    def describe(self, kind: ResourceType, name: str) -> list[ConfigEntry]:
        """All settings of a resource; for all brokers (empty name) only those set for all."""
        if kind is ResourceType.TOPIC:
            check_topic_name(name)
        self._check_resource(kind, name)
        if kind is ResourceType.TOPIC:
            return topic_entries(self._config, self._dynamic, name)
        if kind is ResourceType.BROKER_LOGGER:
            return logger_entries()
        if name == ALL_BROKERS:
            return default_entries(self._dynamic)
        return broker_entries(self._config, self._dynamic)

    def describe_overrides(self, overrides: Mapping[str, str]) -> list[ConfigEntry]:
        """All settings that a topic with these overrides has (for CreateTopics)."""
        return override_entries(self._config, self._dynamic, overrides)

    async def replace(self, kind: ResourceType, name: str, configs: Mapping[str, str], *, validate_only: bool) -> None:
        """Makes `configs` all that is set on the resource."""
        if kind is ResourceType.BROKER_LOGGER:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "levels of loggers are changed one by one (IncrementalAlterConfigs)")
        await self._change(kind, name, lambda _: dict(configs), validate_only)

    async def alter(self, kind: ResourceType, name: str, changes: Sequence[ConfigChange], *, validate_only: bool) -> None:
        """Applies the changes to what is set on the resource."""
        if kind is ResourceType.BROKER_LOGGER:
            self._check_resource(kind, name)
            return _alter_levels(changes, validate_only=validate_only)
        key_of = TOPIC_KEYS.get if kind is ResourceType.TOPIC else broker_key
        await self._change(kind, name, lambda present: apply_changes(present, changes, key_of), validate_only)

    def _check_resource(self, kind: ResourceType, name: str) -> None:
        if kind is ResourceType.CLIENT_METRICS:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "Config type client-metrics is only supported on KRaft clusters")
        if kind is ResourceType.TOPIC:
            if not self._metadata.partitions(name):
                raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{name}' does not exist.")
        elif name == ALL_BROKERS and kind is ResourceType.BROKER_LOGGER:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "Broker id must not be empty: each broker has its own loggers")
        elif name != ALL_BROKERS and _broker_of(name) != self._broker_id:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"Unexpected broker id, expected {self._broker_id}, but received {name[:100]!r}")

    async def _change(
        self, kind: ResourceType, name: str, change: Callable[[Mapping[str, str]], dict[str, str]], validate_only: bool
    ) -> None:
        if kind is ResourceType.CLIENT_METRICS:
            words = f"AlterConfigs is only supported for topics and brokers, but resource type is {kind.name}"
            raise KafkaError(ErrorCode.INVALID_REQUEST, words)
        if kind is ResourceType.TOPIC and not name:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "Default topic resources are not allowed.")
        self._check_resource(kind, name)
        whose = DEFAULT_ENTITY if name == ALL_BROKERS else str(self._broker_id)
        entity = f"topics/{name}" if kind is ResourceType.TOPIC else f"brokers/{whose}"
        await in_session(self._node, self._config, entity, self._change_entity(kind, name, entity, change, validate_only))

    async def _change_entity(
        self, kind: ResourceType, name: str, entity: str, change: Callable[[Mapping[str, str]], dict[str, str]], validate_only: bool
    ) -> None:
        with store_errors(entity):
            for _ in range(WRITE_ATTEMPTS):
                present, stat = await self._read(entity)
                if kind is ResourceType.BROKER:
                    present, _ = usable(present, per_broker=name != ALL_BROKERS)
                wanted = change(present)
                if kind is ResourceType.TOPIC:
                    _validate_topic(name, wanted)
                else:
                    self._validate_dynamic(name, wanted)
                if validate_only:
                    return
                if kind is ResourceType.BROKER:
                    keeps_no_password(wanted)
                try:
                    await self._write(entity, wanted, stat)
                    return
                except (BadVersion, NodeExists):
                    continue
        raise KafkaError(ErrorCode.REQUEST_TIMED_OUT, f"the settings of {entity} kept changing while they were written")

    def _validate_dynamic(self, name: str, overrides: Mapping[str, str]) -> None:
        """Alone and beside the settings that it will meet here.

        What is wrong with a topic's setting is INVALID_CONFIG to Kafka, with a broker's INVALID_REQUEST.
        """
        default, own = (overrides, self._dynamic.own) if name == ALL_BROKERS else (self._dynamic.default, overrides)
        before = {entry.name: entry.value for entry in broker_entries(self._config, self._dynamic)}
        try:
            check_dynamic(overrides, per_broker=name != ALL_BROKERS)
            check_threads(before, {**default, **own})
            self._config.static.with_overrides({**default, **own})
        except ConfigError as error:
            raise KafkaError(ErrorCode.INVALID_REQUEST, str(error)) from error

    async def _read(self, entity: str) -> tuple[dict[str, str], Stat | None]:
        try:
            data, stat = await self._node.store.get(f"{layout.CONFIGS}/{entity}")
        except NoNode:
            return {}, None
        return decode_config(data), stat

    async def _write(self, entity: str, wanted: Mapping[str, str], stat: Stat | None) -> None:
        path, data = f"{layout.CONFIGS}/{entity}", encode_config(wanted)
        if stat is None:
            await self._node.store.create(path, data)
        else:
            await self._node.store.set(path, data, stat.version)
        await self._node.store.create(CONFIG_CHANGE_PREFIX, encode_config_change(entity), sequence=True)


def _validate_topic(name: str, wanted: Mapping[str, str]) -> None:
    """`ConfigError` says what is wrong; Kafka puts more words before what it says of a value."""
    try:
        validate_topic_overrides(wanted)
    except ConfigError as error:
        if not wanted.keys() <= TOPIC_KEYS.keys():
            raise
        raise ConfigError(f"Invalid config value for resource ConfigResource(type=TOPIC, name='{name}'): {error}") from error


def _broker_of(name: str) -> int | None:
    """The id that a resource's name is, as Java reads numbers."""
    return int(name) if re.fullmatch(r"[+-]?[0-9]{1,10}", name, re.ASCII) else None


def _alter_levels(changes: Sequence[ConfigChange], *, validate_only: bool) -> None:
    for change in changes:
        if change.operation not in (ConfigOperation.SET, ConfigOperation.DELETE):
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"{change.operation.name} is not allowed for the level of a logger")
    wanted = [LevelChange(change.name, change.value if change.operation is ConfigOperation.SET else None) for change in changes]
    check_levels(wanted)
    if not validate_only:
        set_levels(wanted)


def apply_changes(present: Mapping[str, str], changes: Sequence[ConfigChange], key_of: Callable[[str], Key | None]) -> dict[str, str]:
    """The settings after the changes; a list that was not set is appended to its default."""
    wanted = dict(present)
    for change in changes:
        if change.operation is ConfigOperation.DELETE:
            wanted.pop(change.name, None)
            continue
        key = key_of(change.name)
        if key is None:
            kind = "topic config" if key_of == TOPIC_KEYS.get else "config"
            raise KafkaError(ErrorCode.INVALID_CONFIG, f"Unknown {kind} name: {change.name}")
        if change.operation is ConfigOperation.SET:
            wanted[change.name] = change.value or ""
        else:
            wanted[change.name] = _changed_list(key, wanted.get(change.name), change)
    return wanted


def _changed_list(key: Key, present: str | None, change: ConfigChange) -> str:
    if key.type is not KeyType.LIST:
        raise KafkaError(ErrorCode.INVALID_CONFIG, f"Config value {change.operation.name} is not allowed for config key: {change.name}")
    text = key.show(key.default) if present is None else present
    items = dict.fromkeys(item for item in (text or "").split(",") if item)
    given = dict.fromkeys(item.strip() for item in (change.value or "").split(",") if item.strip())
    if change.operation is ConfigOperation.APPEND:
        return ",".join(items | given)
    return ",".join(item for item in items if item not in given)
