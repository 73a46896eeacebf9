"""What the controller's task is told: watches that fired, answers of brokers, timers, and calls it has to answer.

Events that only say "look again" are equal to each other and wait in the inbox once, however often they come.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from broker_core.controller.channels.requests import ControlRequest
from broker_core.model import TopicPartition

if TYPE_CHECKING:
    from broker_core.controller.term import Term


class ControllerChange(Struct, frozen=True):
    """`/controller` was created, changed or deleted, the broker registered anew, or a retry is due."""


class Reconnected(Struct, frozen=True):
    """The connection to the store was lost and is back within the session: look at everything again."""


class BrokerChange(Struct, frozen=True):
    """`/brokers/ids` or one of the registrations below it."""


class TopicChange(Struct, frozen=True):
    """`/brokers/topics`: topics were created or are gone."""


class PartitionChange(Struct, frozen=True):
    """`/brokers/topics/T`: partitions were added."""

    topic: str


class DeletionRequested(Struct, frozen=True):
    """`/admin/delete_topics`."""


class ReassignmentRequested(Struct, frozen=True):
    """`/admin/reassign_partitions`."""


class ElectionRequested(Struct, frozen=True):
    """`/admin/preferred_replica_election`."""


class IsrChange(Struct, frozen=True):
    """`/isr_change_notification`."""


class LogDirChange(Struct, frozen=True):
    """`/log_dir_event_notification`."""


class PartitionReassignmentIsrChange(Struct, frozen=True):
    """The state of a partition that is being reassigned."""

    tp: TopicPartition


class BalanceDue(Struct, frozen=True):
    """The timer of automatic preferred elections."""


class BacklogDue(Struct, frozen=True):
    """The brokers have room for more of the work that waits."""


class UncleanEnabled(Struct, frozen=True):
    """Unclean election was allowed for a topic, or (None) for all."""

    topic: str | None


class Answered(Struct, frozen=True, eq=False):
    """A broker answered a control request; `response` is the decoded entity."""

    request: ControlRequest
    response: Any


class Call(Struct, frozen=True, eq=False):
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
    | PartitionReassignmentIsrChange
    | BalanceDue
    | BacklogDue
    | UncleanEnabled
    | Answered
    | Call
)
