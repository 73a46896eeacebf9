"""The controller's state for telemetry, as numbers: what is at hand, and what partitions are counted anew for."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import field, structs

from broker_core.contract import feed
from broker_core.controller.deciders.balance import imbalance_ratios
from broker_core.controller.inbox import Inbox
from broker_core.controller.term import Term


class ControllerSnapshot(feed.Controller, frozen=True, kw_only=True):
    """Counts are zero on a broker that is not the controller; `imbalance` is for each broker the part (0 to 1) of the partitions it is
    preferred for that others lead."""

    active: bool
    controller_id: int
    epoch: int
    imbalance: Mapping[int, float] = field(default_factory=dict)
    brokers: int = 0
    topics: int = 0
    partitions: int = 0
    offline_partitions: int = 0
    preferred_imbalance: int = 0
    unclean_elections: int = 0


def ahead(term: Term | None, inbox: Inbox) -> feed.Controller:
    """Without a look at each partition."""
    if term is None:
        return feed.Controller(queue_size=len(inbox), queue_time_max_ms=inbox.longest_wait_ms())
    context = term.context
    return feed.Controller(
        queue_size=len(inbox),
        queue_time_max_ms=inbox.longest_wait_ms(),
        requests_waiting=term.channels.waiting(),
        partitions_to_create=len(context.uncreated),
        partitions_moving=len(context.being_reassigned),
        topics_to_delete=len(context.queued_for_deletion),
        topics_ineligible_to_delete=len(context.ineligible_for_deletion),
    )


def take_snapshot(term: Term | None, controller_id: int, inbox: Inbox) -> ControllerSnapshot:
    known = structs.asdict(ahead(term, inbox))
    if term is None:
        return ControllerSnapshot(active=False, controller_id=controller_id, epoch=-1, **known)
    context = term.context
    return ControllerSnapshot(
        active=True,
        controller_id=controller_id,
        epoch=context.epoch,
        imbalance=imbalance_ratios(context),
        brokers=len(context.brokers),
        topics=len(context.assignments),
        partitions=len(context.partitions()),
        offline_partitions=context.offline_count(),
        preferred_imbalance=context.imbalance_count(),
        unclean_elections=term.changes.unclean_elections,
        **known,
    )
