"""The controller, and the znodes of a cluster's ZooKeeper, to read."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, Struct
from ninja import Query, Router

from broker_core.contract import live
from broker_core.contract.feed import Controller
from broker_core.contract.sentences import Level
from console import queries
from console.actions.znodes import Znode, look
from console.api.bearer import Bearer
from console.api.described import answers
from console.roles import OPERATOR
from console.snapshot.read import Snapshot

router = Router(tags=["controller"])


class ReadController(Struct, frozen=True):
    """Who it is; `before` is what waits for it, null where it does not tell or nobody is the controller."""

    controller_id: int | None
    controller_epoch: Annotated[int | None, Meta(description="orders of an older epoch are refused; null where it is not told")]
    level: Level
    sentence: str
    before: Controller | None
    as_of: live.AsOf


@router.get("/clusters/{cluster_id}/controller")
@answers(ReadController)
def controller(request: Any, cluster_id: str) -> ReadController:
    snapshot = Snapshot(queries.cluster_at(cluster_id).snapshot_id)
    found = queries.controller(snapshot, snapshot.brokers())
    who, epoch = (None, None) if found.live is None else (found.live.controller_id, found.live.controller_epoch)
    return ReadController(who, epoch, found.level, found.sentence, found.broker.controller if found.broker else None, found.as_of)


@router.get("/clusters/{cluster_id}/znode", auth=Bearer(OPERATOR, "reading ZooKeeper"))
@answers(Znode)
def znode(request: Any, cluster_id: str, path: Annotated[str, Query(max_length=1000)] = "/") -> Znode:
    """One znode and the names below it, read now. Secrets are hidden. 422 where no ZooKeeper of the cluster is known."""
    return look(queries.cluster_of(cluster_id), path)
