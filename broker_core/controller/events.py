"""What the controller's task is told: watches that fired, answers of brokers, timers, and calls it has to answer.

Events that only say "look again" are equal to each other and wait in the inbox once, however often they come.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from broker_core.controller.requests import ControlRequest
from broker_core.model import TopicPartition

if TYPE_CHECKING:
    from broker_core.controller.term import Term


@dataclass(frozen=True, slots=True)
class ControllerChange:
    """`/controller` was created, changed or deleted, the broker registered anew, or a retry is due."""


@dataclass(frozen=True, slots=True)
class Reconnected:
    """The connection to the store was lost and is back within the session: look at everything again."""


@dataclass(frozen=True, slots=True)
class BrokerChange:
    """`/brokers/ids` or one of the registrations below it."""


@dataclass(frozen=True, slots=True)
class TopicChange:
    """`/brokers/topics`: topics were created or are gone."""


@dataclass(frozen=True, slots=True)
class PartitionChange:
    """`/brokers/topics/T`: partitions were added."""

    topic: str


@dataclass(frozen=True, slots=True)
class DeletionRequested:
    """`/admin/delete_topics`."""


@dataclass(frozen=True, slots=True)
class ReassignmentRequested:
    """`/admin/reassign_partitions`."""


@dataclass(frozen=True, slots=True)
class ElectionRequested:
    """`/admin/preferred_replica_election`."""


@dataclass(frozen=True, slots=True)
class IsrChange:
    """`/isr_change_notification`."""


@dataclass(frozen=True, slots=True)
class LogDirChange:
    """`/log_dir_event_notification`."""


@dataclass(frozen=True, slots=True)
class MovingStateChange:
    """The state of a partition that is being reassigned."""

    tp: TopicPartition


@dataclass(frozen=True, slots=True)
class BalanceDue:
    """The timer of automatic preferred elections."""


@dataclass(frozen=True, slots=True)
class UncleanEnabled:
    """Unclean election was allowed for a topic, or (None) for all."""

    topic: str | None


@dataclass(frozen=True, slots=True, eq=False)
class Answered:
    """A broker answered a control request; `response` is the decoded entity."""

    request: ControlRequest
    response: Any


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """Work for the active controller whose result somebody waits for."""

    work: Callable[[Term], Coroutine[Any, Any, Any]]
    result: asyncio.Future[Any]


Event = (
    ControllerChange
    | Reconnected
    | BrokerChange
    | TopicChange
    | PartitionChange
    | DeletionRequested
    | ReassignmentRequested
    | ElectionRequested
    | IsrChange
    | LogDirChange
    | MovingStateChange
    | BalanceDue
    | UncleanEnabled
    | Answered
    | Call
)
