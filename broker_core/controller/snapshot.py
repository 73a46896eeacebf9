"""The controller's state for telemetry, as numbers."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

from broker_core.controller.balance import imbalance_ratios
from broker_core.controller.inbox import Inbox
from broker_core.controller.term import Term


class ControllerSnapshot(Struct, frozen=True):
    """Counts are zero on a broker that is not the controller. Waits are those of the last 256 events.

    `requests_waiting` counts control requests by broker; `imbalance` is for each broker the part (0 to 1) of the partitions
    it is preferred for that others lead.
    """

    active: bool
    controller_id: int
    epoch: int
    queue_size: int
    queue_time_mean_ms: float
    queue_time_max_ms: float
    requests_waiting: Mapping[int, int] = field(default_factory=dict)
    imbalance: Mapping[int, float] = field(default_factory=dict)
    brokers: int = 0
    topics: int = 0
    partitions: int = 0
    offline_partitions: int = 0
    preferred_imbalance: int = 0
    partitions_moving: int = 0
    topics_to_delete: int = 0
    topics_ineligible_to_delete: int = 0
    unclean_elections: int = 0


def take_snapshot(term: Term | None, controller_id: int, inbox: Inbox) -> ControllerSnapshot:
    mean_ms, max_ms = inbox.wait_times_ms()
    if term is None:
        return ControllerSnapshot(False, controller_id, -1, len(inbox), mean_ms, max_ms)
    context = term.context
    return ControllerSnapshot(
        active=True,
        controller_id=controller_id,
        epoch=context.epoch,
        queue_size=len(inbox),
        queue_time_mean_ms=mean_ms,
        queue_time_max_ms=max_ms,
        requests_waiting=term.channels.waiting(),
        imbalance=imbalance_ratios(context),
        brokers=len(context.brokers),
        topics=len(context.assignments),
        partitions=len(context.partitions()),
        offline_partitions=context.offline_count(),
        preferred_imbalance=context.imbalance_count(),
        partitions_moving=len(context.moving),
        topics_to_delete=len(context.deleting),
        topics_ineligible_to_delete=len(context.ineligible),
        unclean_elections=term.changes.unclean_elections,
    )
