"""Log levels of a broker's process."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, Struct
from ninja import Router
from pydantic import Field

from console import queries
from console.actions.loggers import CHANGES_MAX, LevelChange, Logger, change_levels, preview_levels, read_loggers
from console.api.bearer import Bearer
from console.api.described import answers
from console.api.shapes import DryRun, Strict, example
from console.hosting import broker_or_fail
from console.models import Cluster
from console.roles import ADMIN
from console.snapshot.read import Snapshot

router = Router(tags=["brokers"])
ONE = "/clusters/{cluster_id}/brokers/{int:broker_id}/loggers"
LevelName = Annotated[str, Field(max_length=40)] | None


class Loggers(Struct):
    """All of them by name; none of a broker that tells of none."""

    items: list[Logger]


class LevelsChange(Strict):
    model_config = example(levels={"root": "WARN", "broker_core.replication.partition": "DEBUG"}, dry_run=True)

    levels: Annotated[
        dict[str, LevelName],
        Field(
            min_length=1, max_length=CHANGES_MAX, description="TRACE, DEBUG, INFO, WARN, ERROR or FATAL by logger; null takes its own away"
        ),
    ]
    dry_run: DryRun = False


class LevelsChanged(Struct):
    changes: Annotated[list[LevelChange], Meta(description="what is, or would be, changed")]


def _cluster(cluster_id: str, broker_id: int) -> Cluster:
    cluster = queries.cluster_of(cluster_id)
    broker_or_fail(Snapshot(cluster.pk), broker_id)
    return cluster


@router.get(ONE)
@answers(Loggers)
def loggers(request: Any, cluster_id: str, broker_id: int) -> Loggers:
    """As the broker itself says now; nothing is kept of the past."""
    return Loggers(read_loggers(_cluster(cluster_id, broker_id), broker_id))


@router.patch(ONE, auth=Bearer(ADMIN, "change log levels"))
@answers(LevelsChanged)
def change(request: Any, cluster_id: str, broker_id: int, payload: LevelsChange) -> LevelsChanged:
    """Of this one broker at once, until it ends: a level is stored nowhere."""
    cluster = _cluster(cluster_id, broker_id)
    if payload.dry_run:
        return LevelsChanged(preview_levels(cluster, broker_id, payload.levels))
    return LevelsChanged(change_levels(request.auth, cluster, broker_id, payload.levels))
