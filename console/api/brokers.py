"""Brokers, and start, stop, restart, kill, pause, resume of local ones."""

from __future__ import annotations

from typing import Any

from ninja import Router

from broker_core.contract.live import Broker
from console import queries
from console.actions.brokers import act_on_broker
from console.api.answers import BrokerAction, IfStopped, ListedLive, ReadBroker, read
from console.api.bearer import Bearer
from console.api.described import answers
from console.api.shapes import Limit, listed, listed_live, number_cursor
from console.hosting import broker_or_fail, if_stopped
from console.roles import ADMIN
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


@router.get("/clusters/{cluster_id}/brokers/{int:broker_id}/if-it-stops")
@answers(IfStopped)
def broker_if_stopped(request: Any, cluster_id: str, broker_id: int) -> IfStopped:
    """What its stop or death would do to its partitions, the worst 10 000 of them, by what is known now."""
    snapshot = Snapshot(queries.cluster_at(cluster_id).snapshot_id)
    return read(IfStopped, if_stopped(snapshot, broker_or_fail(snapshot, broker_id)), as_of=snapshot.as_of())


@router.post("/clusters/{cluster_id}/brokers/{int:broker_id}/{action}", auth=Bearer(ADMIN, "{action} broker"))
@answers(BrokerAction)
def broker_action(request: Any, cluster_id: str, broker_id: int, action: str) -> BrokerAction:
    """Admin only, local cluster only. Answers when it is done."""
    act_on_broker(request.auth, queries.cluster_of(cluster_id), broker_id, action, confirm=None)
    return BrokerAction(broker_id, action)
