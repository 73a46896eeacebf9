"""Brokers, and start, stop, restart, kill, pause, resume of local ones."""

from __future__ import annotations

from typing import Annotated, Any

from ninja import Router
from pydantic import Field

from broker_core.contract.live import Broker
from console import queries
from console.actions.brokers import act_on_broker
from console.api.answers import BrokerAction, IfStopped, ListedLive, ReadBroker, read
from console.api.bearer import Bearer
from console.api.described import answers
from console.api.shapes import Limit, listed, listed_live, number_cursor
from console.hosting import broker_or_fail, if_stopped
from console.roles import ADMIN
from console.rules.forecast.fates import Becomes, Fate, How, worst_first
from console.snapshot.read import Snapshot

router = Router(tags=["brokers"])


@router.get("/clusters/{cluster_id}/brokers")
@answers(ListedLive[Broker])
def brokers(request: Any, cluster_id: str, limit: Limit = 100, cursor: str | None = None) -> ListedLive[Broker]:
    after = number_cursor(cursor)
    snapshot = Snapshot(queries.cluster_at(cluster_id).snapshot_id)
    found = [b for b in snapshot.brokers() if after is None or b.broker_id > after]
    return listed_live(listed(found, limit, lambda b: str(b.broker_id)), snapshot)


@router.get("/clusters/{cluster_id}/brokers/{int:broker_id}")
@answers(ReadBroker)
def broker(request: Any, cluster_id: str, broker_id: int) -> ReadBroker:
    snapshot = Snapshot(queries.cluster_at(cluster_id).snapshot_id)
    return read(ReadBroker, broker_or_fail(snapshot, broker_id), as_of=snapshot.as_of())


Way = Annotated[How, Field(description="death: its process ends at once; shutdown: it hands over what it leads first")]


@router.get("/clusters/{cluster_id}/brokers/{int:broker_id}/if-it-stops")
@answers(IfStopped)
def broker_if_stopped(request: Any, cluster_id: str, broker_id: int, how: Way = "death") -> IfStopped:
    """What its stop or death would do to its partitions, the worst 10 000 of them, by what is known now; and to the other brokers."""
    snapshot = Snapshot(queries.cluster_at(cluster_id).snapshot_id)
    found = if_stopped(snapshot, broker_or_fail(snapshot, broker_id), how)
    return read(IfStopped, found.told, as_of=snapshot.as_of())


@router.get("/clusters/{cluster_id}/brokers/{int:broker_id}/if-it-stops/partitions")
@answers(ListedLive[Fate])
def broker_if_stopped_partitions(
    request: Any,
    cluster_id: str,
    broker_id: int,
    *,
    how: Way = "death",
    becomes: Annotated[Becomes | None, Field(description="only those that become so; left out: all of them, the worst first")] = None,
    limit: Limit = 100,
    cursor: str | None = None,
) -> ListedLive[Fate]:
    """Each partition of the forecast with who would lead it and who be in sync. A page is worked out anew from what is known then."""
    first = number_cursor(cursor) or 0
    snapshot = Snapshot(queries.cluster_at(cluster_id).snapshot_id)
    fates = worst_first(if_stopped(snapshot, broker_or_fail(snapshot, broker_id), how).fates)
    wanted = list(enumerate([fate for fate in fates if becomes is None or fate.becomes == becomes]))[first : first + limit + 1]
    page = listed(wanted, limit, lambda one: str(one[0] + 1))
    return ListedLive([fate for _, fate in page.items], page.next, snapshot.as_of())


@router.post("/clusters/{cluster_id}/brokers/{int:broker_id}/{action}", auth=Bearer(ADMIN, "{action} broker"))
@answers(BrokerAction)
def broker_action(request: Any, cluster_id: str, broker_id: int, action: str) -> BrokerAction:
    """Admin only, local cluster only. Answers when it is done."""
    act_on_broker(request.auth, queries.cluster_of(cluster_id), broker_id, action, confirm=None)
    return BrokerAction(broker_id, action)
