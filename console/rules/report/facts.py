"""What a health report is judged from: gathered once, in bounds (`workers/kinds/health_facts.py`). None is "nobody tells"."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from msgspec import Struct

from broker_core.contract.groups import Group, Lag
from broker_core.contract.live import Broker, SilentClient
from broker_core.contract.partitions import Partition, Topic

SHORT_WATCH_MS = 3_600_000
"""What happens "again and again" is not judged before so long."""


class PartitionLog(Struct, frozen=True, gc=False):
    """Of a partition what its size and its oldest record are judged by: a part of `Partition`, as the snapshot has it."""

    topic: str
    partition: int
    size_bytes: int | None = None
    log_start_offset: int | None = None


class Logs(NamedTuple):
    """Partitions' logs of so many topics, the largest first; `skipped` topics were left out."""

    rows: Sequence[PartitionLog]
    skipped: int = 0


class Lags(NamedTuple):
    """Where groups that are behind stand, the longest behind first; `skipped` groups were left out, of `unknown` ones nobody tells."""

    rows: Sequence[Lag]
    skipped: int = 0
    unknown: int = 0


class Shrinks(NamedTuple):
    """How often a broker left an ISR; `partition` is None where many partitions were told in one event."""

    broker: int
    topic: str
    partition: int | None
    times: int
    last_ms: int


class Happened(NamedTuple):
    """What happened again since `since_ms`, from which on events are known."""

    since_ms: int
    shrinks: Sequence[Shrinks] = ()
    controller_moves: int = 0


class Throttling(NamedTuple):
    """A job under way that holds copying back; what it set it takes away when it ends."""

    job: int
    brokers: frozenset[int]
    topics: frozenset[str]


@dataclass(frozen=True, slots=True)
class Facts:
    """`trouble` are the partitions that are not safe, `brokers` all that are known, `topics` those that are not being deleted."""

    now_ms: int = 0
    trouble: Sequence[Partition] = ()
    brokers: Sequence[Broker] = ()
    topics: Sequence[Topic] = ()
    groups: Sequence[Group] = ()
    clients: Sequence[SilentClient] = ()
    logs: Logs | None = None
    lags: Lags | None = None
    happened: Happened | None = None
    throttling: Sequence[Throttling] = ()

    @property
    def online(self) -> list[Broker]:
        return [broker for broker in self.brokers if broker.state == "online"]
