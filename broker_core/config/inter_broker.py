"""What `inter.broker.protocol.version` decides of how brokers work with each other.

A broker serves all versions of requests whatever it speaks itself, so that a cluster can be moved from one to the next broker by
broker, as with Kafka: first the new program everywhere, then the setting. The steps are those of Kafka's `MetadataVersion`; in which
version each request is sent says `protocol/inter_broker`.
"""

from __future__ import annotations

from functools import lru_cache

from msgspec import Struct

from broker_core.config.versions import is_version, rank
from broker_core.errors import ConfigError

LEAST = "2.7-IV1"
"""Followers learn by Fetch v12 what to cut off their logs; there is no other way here."""


class InterBrokerProtocol(Struct, frozen=True):
    """One value of the setting; `rank` orders them."""

    rank: int

    def is_at_least(self, version: str) -> bool:
        return self.rank >= rank(version)

    @property
    def alters_partitions(self) -> bool:
        """Leaders ask the controller to change their ISRs (KIP-497), they do not write them into the store themselves."""
        return self.is_at_least("2.7-IV2")

    @property
    def has_topic_ids(self) -> bool:
        """New topics get ids, and the controller gives one to each that has none (KIP-516)."""
        return self.is_at_least("2.8-IV0")

    @property
    def fetches_by_topic_id(self) -> bool:
        return self.is_at_least("3.1-IV0")

    @property
    def has_leader_recovery(self) -> bool:
        """That a leader was not in the ISR when it was elected is kept in the state until its ISR changes (KIP-704)."""
        return self.is_at_least("3.2-IV0")


@lru_cache(maxsize=64)
def inter_broker_protocol(text: str) -> InterBrokerProtocol:
    """The meaning of the setting's value; `ConfigError` for one that Kafka does not know or that is too old to be spoken here."""
    if not is_version(text):
        raise ConfigError(f"inter.broker.protocol.version {text[:100]!r} is no version of Kafka")
    if rank(text) < rank(LEAST):
        raise ConfigError(f"inter.broker.protocol.version {text} is too old to be spoken here: {LEAST} is the oldest")
    return InterBrokerProtocol(rank(text))
