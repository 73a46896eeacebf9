"""Brokers, and start, stop, restart, kill, pause, resume of local ones."""

from __future__ import annotations

from typing import Any

from ninja import Router

from console import queries
from console.actions.brokers import act_on_broker
from console.api.answers import Broker, BrokerAction, ListedLive, ReadBroker
from console.api.bearer import Bearer
from console.api.described import answers
from console.api.shapes import Limit, listed, number_cursor
from console.roles import ADMIN
from console.snapshot.read import Snapshot

router = Router(tags=["brokers"])


@router.get("/clusters/{cluster_id}/brokers")
@answers(ListedLive[Broker])
def brokers(request: Any, cluster_id: str, limit: Limit = 100, cursor: str | None = None) -> dict[str, Any]:
    after = number_cursor(cursor)
    snapshot = Snapshot(queries.cluster_of(cluster_id).pk)
    found = [b for b in snapshot.brokers() if after is None or b["broker_id"] > after]
    return {**listed(found, limit, lambda b: str(b["broker_id"])), "as_of": snapshot.as_of()}


@router.get("/clusters/{cluster_id}/brokers/{int:broker_id}")
@answers(ReadBroker)
def broker(request: Any, cluster_id: str, broker_id: int) -> dict[str, Any]:
    snapshot = Snapshot(queries.cluster_of(cluster_id).pk)
    found = snapshot.broker(broker_id)
    if found is None:
        raise queries.NotFound(f"There is no broker {broker_id}.")
    return {**found, "as_of": snapshot.as_of()}


@router.post("/clusters/{cluster_id}/brokers/{int:broker_id}/{action}", auth=Bearer(ADMIN, "{action} broker"))
@answers(BrokerAction)
def broker_action(request: Any, cluster_id: str, broker_id: int, action: str) -> dict[str, Any]:
    """Admin only, local cluster only. Answers when it is done."""
    act_on_broker(request.auth, queries.cluster_of(cluster_id), broker_id, action, confirm=None)
    return {"broker_id": broker_id, "action": action, "done": True}
