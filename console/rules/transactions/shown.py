"""What pages and REST show of transactions. Times are ms since 1970; what is not known is null."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from broker_core.contract.sentences import Level
from console.rules.transactions.told import OPEN

Kind = Literal["none", "in_progress", "ending", "hanging", "orphaned", "unknown"]
Number = int | None


class Transaction(Struct, kw_only=True):
    """A transactional id with its present or last transaction."""

    transactional_id: str
    state: Annotated[str, Meta(description="as Kafka calls it; Ongoing and Prepare… are in progress")]
    producer_id: int
    coordinator: int
    producer_epoch: Number = None
    timeout_ms: Number = None
    started_ms: Annotated[Number, Meta(description="null where none is in progress, or it was not described")] = None
    age_ms: Annotated[Number, Meta(description="since then, by this console's clock")] = None
    partitions: Annotated[Number, Meta(description="in it; of one that ends those that still lack its marker may be told alone")] = None
    level: Level = "ok"
    note: Annotated[str, Meta(description="that it is past its time-out, or why it is not described; may be empty")] = ""

    @property
    def is_open(self) -> bool:
        return self.state in OPEN


class Unseen(Struct):
    """Transactions that nobody told of: `coordinator` leads these partitions of __transaction_state and did not answer, or nobody leads
    them."""

    coordinator: Number
    partitions: list[int]
    why: str


class Transactions(Struct, kw_only=True):
    """A page of transactional ids out of `total`, with what is to be said of all that were asked for."""

    rows: list[Transaction]
    total: int
    first: int
    unseen: list[Unseen]
    level: Level
    sentence: str
    notes: list[str]


class HeldPlace(Struct, kw_only=True):
    """A partition of a transaction. Readers of committed transactions wait at the last stable offset: `holds` where it is this transaction
    that they wait for first."""

    topic: str
    partition: int
    leader: Number
    start_offset: Annotated[Number, Meta(description="where the transaction begins there; null: nothing written there yet, or not known")]
    last_stable_offset: Number
    high_watermark: Number
    held: Annotated[Number, Meta(description="offsets from the last stable one to the high watermark")]
    held_for_ms: Annotated[Number, Meta(description="where it holds: the transaction's age, which no record of it is older than")]
    holds: bool | None
    error: Annotated[str, Meta(description="why its leader did not tell; may be empty")]


class OneTransaction(Transaction, kw_only=True):
    """With its partitions, as many as are shown."""

    ends_ms: Annotated[Number, Meta(description="when its coordinator aborts it at the latest")]
    places: list[HeldPlace]
    sentence: str


class SeenProducer(Struct, kw_only=True):
    """A producer as a partition's leader knows it, with what its open transaction there is found to be. `hanging`: no coordinator knows
    of it any more, so it never ends by itself (KIP-664), and nothing was written in it for longer than any transaction may last;
    `orphaned`: the same, but for less long; `unknown`: not all coordinators told."""

    topic: str
    partition: int
    producer_id: int
    producer_epoch: int
    last_sequence: Number
    last_at_ms: Annotated[Number, Meta(description="time of its last record, by the clock of whoever wrote it")]
    coordinator_epoch: Annotated[Number, Meta(description="of the last marker; null where there was none")]
    start_offset: Annotated[Number, Meta(description="where its open transaction begins; null without one")]
    transaction: Kind
    transactional_id: Annotated[str | None, Meta(description="null where no coordinator knows of one, or none was asked")]
    silent_ms: Annotated[Number, Meta(description="of an open transaction: since its last record")]

    @property
    def name(self) -> str:
        return f"{self.topic}-{self.partition}"


class PartitionProducers(Struct, kw_only=True):
    """The producers that a partition's leader remembers: those in a transaction first, from the oldest on, then whoever wrote last."""

    topic: str
    partition: int
    leader: int
    at_ms: int
    last_stable_offset: Number
    high_watermark: Number
    held: Annotated[Number, Meta(description="offsets that readers of committed transactions wait for")]
    max_timeout_ms: Annotated[Number, Meta(description="the longest that a transaction may last (transaction.max.timeout.ms)")]
    producers: list[SeenProducer]
    total: int
    level: Level
    sentence: str


class Hanging(Struct, kw_only=True):
    """What a search for hanging transactions found: `items` are those that hang, and those of which it cannot be said."""

    items: list[SeenProducer]
    next: None
    partitions: Annotated[int, Meta(description="looked at")]
    unanswered: Annotated[int, Meta(description="partitions whose leader did not tell, or that have none")]
    max_timeout_ms: int
    level: Level
    sentence: str


class Abort(Struct, kw_only=True):
    """The end of a transaction in one partition: what would be, or (`done`) was, written there."""

    topic: str
    partition: int
    start_offset: int
    producer_id: int
    producer_epoch: int
    coordinator_epoch: Annotated[int, Meta(description="as the marker has it")]
    transaction: Kind
    transactional_id: str | None
    held: Annotated[Number, Meta(description="offsets that readers of committed transactions wait for, before it; then (`done`) after it")]
    risks: list[str]
    sentence: str
    done: bool


class Termination(Struct, kw_only=True):
    """The end of a transaction by taking its transactional id from its producer."""

    transactional_id: str
    state: str
    producer_id: int
    producer_epoch: Annotated[int, Meta(description="what the fenced producer has; then (`done`) the one that is in force")]
    partitions: int
    risks: list[str]
    sentence: str
    done: bool
