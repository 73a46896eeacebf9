"""Settings as DescribeConfigs shows them: value, where it comes from, and the places it would come from next."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from itertools import dropwhile

from msgspec import Struct, field

from broker_core.admin.loggers import levels
from broker_core.config import BROKER_KEYS, HIDDEN, IDLE_KEYS, TOPIC_KEYS, ConfigHolder, Key, KeyType, TopicConfig, broker_key

_UNITS = (
    ("log.retention.ms", "log.retention.minutes", "log.retention.hours"),
    ("log.roll.ms", "log.roll.hours"),
    ("log.roll.jitter.ms", "log.roll.jitter.hours"),
)
ONLY_WHERE_SET = frozenset(
    (
        *("leader.replication.throttled.rate", "follower.replication.throttled.rate"),
        "replica.alter.log.dirs.io.max.bytes.per.second",
    )
)
"""Settings that Kafka keeps in ZooKeeper alone: it describes them once they are set, without a default, and as read-only, though they may
be changed."""
_FAMILIES = {name: family for family in _UNITS for name in family}
"""Settings that say the same in different units."""


class ConfigSource(enum.IntEnum):
    """Where a value comes from, strongest first."""

    TOPIC = 1
    DYNAMIC_BROKER = 2
    DYNAMIC_DEFAULT_BROKER = 3
    STATIC_BROKER = 4
    DEFAULT = 5
    DYNAMIC_BROKER_LOGGER = 6


class ConfigSynonym(Struct, frozen=True):
    name: str
    value: str | None
    source: ConfigSource


class ConfigEntry(Struct, frozen=True):
    """One setting; `synonyms` begin with the place its value comes from."""

    name: str
    value: str | None
    source: ConfigSource
    read_only: bool
    sensitive: bool
    type: KeyType
    documentation: str
    synonyms: tuple[ConfigSynonym, ...]


class DynamicBrokerConfigs(Struct):
    """Broker settings from ZooKeeper: for this broker, and for all of them."""

    own: dict[str, str] = field(default_factory=dict)
    default: dict[str, str] = field(default_factory=dict)


def topic_entries(config: ConfigHolder, dynamic: DynamicBrokerConfigs, topic: str) -> list[ConfigEntry]:
    """All settings of a topic, by name."""
    return override_entries(config, dynamic, config.topic_overrides(topic))


def override_entries(config: ConfigHolder, dynamic: DynamicBrokerConfigs, overrides: Mapping[str, str]) -> list[ConfigEntry]:
    """All settings of a topic with these overrides, by name."""
    effective = TopicConfig.from_overrides(config.current, overrides)
    return [_topic_entry(config, dynamic, overrides, effective, TOPIC_KEYS[name]) for name in sorted(TOPIC_KEYS)]


def broker_entries(config: ConfigHolder, dynamic: DynamicBrokerConfigs) -> list[ConfigEntry]:
    """All settings of this broker, by name, those without effect too; what Kafka keeps in ZooKeeper alone, or only a listener has, where
    it is set."""
    places = (dynamic.own, dynamic.default, config.static.given)
    given = {name for values in places for name in values}
    entries = [_broker_entry(config, dynamic, key) for key in BROKER_KEYS.values() if key.name not in ONLY_WHERE_SET - given]
    idle = (key for name in (IDLE_KEYS.keys() - HIDDEN) | given if name not in BROKER_KEYS and (key := broker_key(name)) is not None)
    return sorted(entries + [_idle_entry(config, dynamic, key) for key in idle], key=lambda entry: entry.name)


def default_entries(dynamic: DynamicBrokerConfigs) -> list[ConfigEntry]:
    """What is set for all brokers at once."""
    source = ConfigSource.DYNAMIC_DEFAULT_BROKER
    return [
        _entry(key, value, source, name in ONLY_WHERE_SET, (ConfigSynonym(name, None if key.sensitive else value, source),))
        for name, value in sorted(dynamic.default.items())
        if (key := broker_key(name)) is not None
    ]


def logger_entries() -> list[ConfigEntry]:
    """The levels of this process's loggers, by name."""
    source = ConfigSource.DYNAMIC_BROKER_LOGGER
    return [ConfigEntry(name, level, source, False, False, KeyType.UNKNOWN, "", ()) for name, level in levels().items()]


def _topic_entry(
    config: ConfigHolder, dynamic: DynamicBrokerConfigs, overrides: Mapping[str, str], effective: TopicConfig, key: Key
) -> ConfigEntry:
    value = key.show(getattr(effective, key.attribute))
    synonyms = [ConfigSynonym(key.name, value, ConfigSource.TOPIC)] if key.name in overrides else []
    synonyms += _broker_synonyms(config, dynamic, key.synonyms)
    source = synonyms[0].source if synonyms else ConfigSource.DEFAULT
    return _entry(key, value, source, False, tuple(synonyms))


def _broker_entry(config: ConfigHolder, dynamic: DynamicBrokerConfigs, key: Key) -> ConfigEntry:
    synonyms = _broker_synonyms(config, dynamic, _FAMILIES.get(key.name, (key.name,)), key.name)
    value = key.show(getattr(config.current, key.attribute))
    source = synonyms[0].source if synonyms else ConfigSource.DEFAULT
    return _entry(key, value, source, not key.dynamic or key.name in ONLY_WHERE_SET, tuple(synonyms))


def _idle_entry(config: ConfigHolder, dynamic: DynamicBrokerConfigs, key: Key) -> ConfigEntry:
    """A setting without effect, as it is set somewhere, or by default."""
    default = key.show(key.default)
    places = (
        (dynamic.own, ConfigSource.DYNAMIC_BROKER),
        (dynamic.default, ConfigSource.DYNAMIC_DEFAULT_BROKER),
        (config.static.idle, ConfigSource.STATIC_BROKER),
    )
    found = [(values[key.name], source) for values, source in places if key.name in values]
    if default is not None and key.name not in ONLY_WHERE_SET:
        found.append((default, ConfigSource.DEFAULT))
    synonyms = tuple(ConfigSynonym(key.name, None if key.sensitive else value, source) for value, source in found)
    value, source = found[0] if found else (None, ConfigSource.DEFAULT)
    return _entry(
        key, value if value is None else key.show(key.parse(value)), source, not key.dynamic or key.name in ONLY_WHERE_SET, synonyms
    )


def _broker_synonyms(
    config: ConfigHolder, dynamic: DynamicBrokerConfigs, names: Sequence[str], described: str | None = None
) -> list[ConfigSynonym]:
    """Where the value of the first of `names` comes from, strongest first; as in Kafka nothing before that very name is told."""
    found = []
    for source in (ConfigSource.DYNAMIC_BROKER, ConfigSource.DYNAMIC_DEFAULT_BROKER, ConfigSource.STATIC_BROKER, ConfigSource.DEFAULT):
        for name in names:
            value = _value_from(source, config, dynamic, BROKER_KEYS[name])
            if value is not None and not (source is ConfigSource.DEFAULT and name in ONLY_WHERE_SET):
                found.append(ConfigSynonym(name, None if BROKER_KEYS[name].sensitive else value, source))
    first = described or (names[0] if names else "")
    return list(dropwhile(lambda synonym: synonym.name != first, found))


def _value_from(source: ConfigSource, config: ConfigHolder, dynamic: DynamicBrokerConfigs, key: Key) -> str | None:
    default = key.show(key.default)
    if source is ConfigSource.DYNAMIC_BROKER:
        return dynamic.own.get(key.name)
    if source is ConfigSource.DYNAMIC_DEFAULT_BROKER:
        return dynamic.default.get(key.name)
    if source is ConfigSource.STATIC_BROKER:
        static = key.show(getattr(config.static, key.attribute))
        return static if static != default or key.name in config.static.given else None
    return default


def _entry(key: Key, value: str | None, source: ConfigSource, read_only: bool, synonyms: tuple[ConfigSynonym, ...]) -> ConfigEntry:
    shown = None if key.sensitive else value
    return ConfigEntry(key.name, shown, source, read_only, key.sensitive, key.shown_as or key.type, key.doc, synonyms)
