"""Plans of moves: computed, shown, and given to a job as they are. Nothing is kept, and nothing of the cluster changes."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, Struct
from ninja import Router
from pydantic import Field

from console import queries
from console.api.described import answers
from console.api.shapes import Strict
from console.jobs.kind import Id, Name
from console.move_plans import planned, reassignment_json
from console.planning import model
from console.planning.words import plan_words
from console.snapshot.placed import Place
from console.snapshot.read import Snapshot

router = Router(tags=["jobs"])
EXAMPLE: Any = {"topics": ["orders"], "replication_factor": 3, "to": [1, 2, 3]}


BALANCE = (
    "Bring every broker within 1.1 times its share, by these aims in the order of their priority, with the least copied. "
    "Without topics: the whole cluster"
)


class PlannedPartition(Strict):
    topic: Name
    partition: Id


class NewPlan(Strict):
    """What is to move, and what is wanted of it. Without `topics` and `partitions`: all that the brokers of `away` have, or, for `leaders`
    alone or a `balance`, all of the cluster."""

    model_config = Strict.model_config | {"json_schema_extra": {"examples": [EXAMPLE]}}

    topics: list[Name] = Field(default_factory=list, max_length=5_000)
    partitions: list[PlannedPartition] = Field(default_factory=list, max_length=5_000)
    to: list[Id] = Field(default_factory=list, max_length=1_000, description="Brokers: replicas only on these")
    replication_factor: Annotated[int, Field(strict=True, ge=1, le=100, description="So many replicas of each")] | None = None
    away: list[Id] = Field(default_factory=list, max_length=1_000, description="Brokers to be emptied")
    instead: Annotated[Id | None, Field(description="The broker that takes their places")] = None
    leaders: Annotated[bool, Field(strict=True, description="Spread the preferred leaders evenly")] = False
    balance: list[model.Aim] = Field(default_factory=list, max_length=6, description=BALANCE)

    def goal(self) -> model.Goal:
        return model.Goal(
            to=tuple(self.to),
            replication_factor=self.replication_factor,
            away=tuple(self.away),
            instead=self.instead,
            leaders=self.leaders,
            aims=tuple(aim for aim in model.AIMS if aim in self.balance),
        )


class KafkaPartition(Struct):
    topic: str
    partition: int
    replicas: list[int]


class KafkaReassignment(Struct):
    """As `kafka-reassign-partitions.sh` takes it."""

    version: int
    partitions: Annotated[list[KafkaPartition], Meta(description="these are the `assignments` of a job of kind reassignment")]


class PlanAnswer(Struct):
    sentence: str
    plan: model.Plan
    reassignment: KafkaReassignment


@router.post("/clusters/{cluster_id}/plans")
@answers(PlanAnswer)
def plan(request: Any, cluster_id: str, payload: NewPlan) -> dict[str, Any]:
    """The moves that reach the goal with the least data copied: replicas stay where they may, no broker gets two of a partition, racks are
    spread, and brokers with few replicas get more. The same question about the same cluster has the same answer."""
    cluster = queries.cluster_of(cluster_id)
    places = [Place(one.topic, one.partition) for one in payload.partitions]
    found = planned(Snapshot(cluster.pk), payload.topics, places, payload.goal())
    return {"sentence": plan_words(found), "plan": found, "reassignment": reassignment_json(found.moves)}
