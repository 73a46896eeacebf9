"""Small value types that every layer shares."""

from __future__ import annotations

from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

NO_LEADER = -1
LEADER_DURING_DELETE = -2
NO_EPOCH = -1
INITIAL_LEADER_EPOCH = 0
CONSUMER_OFFSETS = "__consumer_offsets"
TRANSACTION_STATE = "__transaction_state"
INTERNAL_TOPICS = frozenset({CONSUMER_OFFSETS, TRANSACTION_STATE})
"""Clients neither append to them nor delete their records."""


class TopicPartition(NamedTuple):
    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


class LeaderAndIsr(Struct, frozen=True):
    """A partition's leadership as its state znode has it.

    `leader` is a broker id, `NO_LEADER` or `LEADER_DURING_DELETE`; `zk_version` is the version of the state znode that
    the next conditional write must name. `recovering`: its leader was not in the ISR when it was elected, and the ISR has not changed
    since (KIP-704; Kafka's RECOVERING).
    """

    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    zk_version: int = 0
    recovering: bool = False

    def with_new_epoch(self, leader: int, isr: tuple[int, ...]) -> LeaderAndIsr:
        return replace(self, leader=leader, isr=isr, leader_epoch=self.leader_epoch + 1)


class Endpoint(Struct, frozen=True):
    """Where a broker listens."""

    listener: str
    host: str
    port: int
    security_protocol: str = "PLAINTEXT"


class BrokerInfo(Struct, frozen=True):
    """A live broker; `epoch` is the czxid of its registration znode (KIP-380).

    `first_epoch` is the epoch of its process's first registration, -1 where this is the first or the broker does not say.
    `early_failover`: it agrees to act on deaths before sessions end; an Apache Kafka broker never says so.
    """

    broker_id: int
    endpoints: tuple[Endpoint, ...]
    rack: str | None
    epoch: int
    first_epoch: int = -1
    early_failover: bool = False

    @property
    def process_epoch(self) -> int:
        """The same as long as the process lives, however often its session expires: what it has written is not lost."""
        return self.epoch if self.first_epoch < 0 else self.first_epoch

    def inter_broker(self, name: str | None) -> Endpoint:
        """Where other brokers reach it: the listener that they call `name` (PLAINTEXT without one), else its first."""
        wanted = (name or "PLAINTEXT").upper()
        return next((endpoint for endpoint in self.endpoints if endpoint.listener == wanted), self.endpoints[0])
