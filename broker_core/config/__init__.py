"""Settings by Kafka's names: definitions, parsing, defaults, and the ones in force."""

from broker_core.config.broker import BROKER_KEYS, BrokerConfig, broker_key
from broker_core.config.dynamic import check_dynamic, check_threads, keeps_no_password, usable
from broker_core.config.holder import ConfigHolder
from broker_core.config.idle import HIDDEN, IDLE_KEYS
from broker_core.config.key import Key, KeyType
from broker_core.config.topic import TOPIC_KEYS, TopicConfig, parse_overrides, validate_topic_overrides

__all__ = [
    "BROKER_KEYS",
    "HIDDEN",
    "IDLE_KEYS",
    "TOPIC_KEYS",
    "BrokerConfig",
    "ConfigHolder",
    "Key",
    "KeyType",
    "TopicConfig",
    "broker_key",
    "check_dynamic",
    "check_threads",
    "keeps_no_password",
    "parse_overrides",
    "usable",
    "validate_topic_overrides",
]
