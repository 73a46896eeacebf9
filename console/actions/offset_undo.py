"""Putting back what was committed before a change of a group's offsets: where the group has moved since, it is asked about first."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

from console.actions.audit import audited
from console.actions.groups import ends_of, partitions_of, refuse_members, refuse_outdated
from console.actions.offset_changes import committing, kept_rows
from console.actions.offset_moves import Move, Place, Plan, move, named_members, seen_of
from console.actions.offsets import within
from console.errors import Conflict, Risky
from console.gateway.connection import connection_of
from console.gateway.kafka_cluster import KafkaCluster
from console.models import Cluster, OffsetChange
from console.roles import OPERATOR, Actor
from console.rules.words import counted
from console.snapshot.asking import ask_now

NAMED = 5


class Kept(NamedTuple):
    """What a change found and what it left; None: nothing committed."""

    before: int | None
    after: int | None


def kept_of(change: OffsetChange) -> dict[Place, Kept]:
    return {(topic, number): Kept(before, after) for topic, rows in change.rows.items() for number, before, after in rows}


def plan_undo(cluster: Cluster, change: OffsetChange) -> Plan:
    """What is committed now, and what was before the change, as far as the logs still have it."""
    kafka = KafkaCluster(connection_of(cluster))
    kept, now = kept_of(change), kafka.group_offsets(change.group)
    numbers = partitions_of(kafka, [topic for topic, _ in kept])
    there = [place for place in kept if place[1] in numbers.get(place[0], ())]
    first, end = ends_of(kafka, there)
    moves = [_back(place, now.get(place), kept[place].before, first[place], end[place]) for place in there]
    members = named_members(kafka.describe_group(change.group).get("members") or [])
    gone = _listed([f"{topic}-{number}" for topic, number in kept if (topic, number) not in first])
    return Plan(moves, seen_of(now, there), members, drift=_drift(kept, now, there), gone=gone)


def _back(place: Place, now: int | None, before: int | None, first: int, end: int) -> Move:
    after, note = (None, None) if before is None else within(before, first, end)
    return move(place, now, after, (first, end), note)


def _drift(kept: Mapping[Place, Kept], now: Mapping[Place, int], there: Collection[Place]) -> list[str]:
    moved = [place for place in there if now.get(place) != kept[place].after]
    return _listed([f"{topic}-{n} was {_said(kept[topic, n].after)}, is {_said(now.get((topic, n)))}" for topic, n in moved])


def _said(offset: int | None) -> str:
    return "without an offset" if offset is None else str(offset)


def _listed(rows: list[str]) -> list[str]:
    return rows[:NAMED] + ([f"and {counted(len(rows) - NAMED, 'partition')} more"] if len(rows) > NAMED else [])


def risks_of(plan: Plan) -> list[str]:
    """What putting back would overrule."""
    drift = (
        f"The group has moved since that change: {'; '.join(plan.drift)}. What it has committed since is overwritten." if plan.drift else ""
    )
    noted = f"{plan.noted[0].place}: {plan.noted[0].note}." if plan.noted else ""
    return [said for said in (drift, noted) if said]


def undo(
    actor: Actor, cluster: Cluster, change: OffsetChange, *, seen: Collection[str] = (), confirm: bool = False
) -> tuple[Plan, OffsetChange]:
    """Commits what was committed before the change, and takes away what was not there; is itself a change that can be put back. `Risky`
    without `confirm` where the group has moved since, or the log no longer has an offset."""
    with audited(actor, OPERATOR, "put offsets back", change.group, cluster=cluster) as entry:
        if change.undone_by:
            raise Conflict(f"Change {change.pk} was put back already, by change {change.undone_by}.")
        plan = plan_undo(cluster, change)
        refuse_members(change.group, plan.members)
        refuse_outdated(change.group, plan, seen)
        if not plan.moves:
            raise Conflict(f"Nothing of change {change.pk} can be put back: {', '.join(plan.gone)} is no longer there.")
        if (risks := risks_of(plan)) and not confirm:
            raise Risky(risks)
        entry.before, entry.after = kept_rows(plan.moves)
        with committing(actor, cluster, change.group, plan.moves, kind="put back", how=f"as before change {change.pk}") as made:
            _commit(KafkaCluster(connection_of(cluster)), change.group, plan)
        OffsetChange.objects.filter(pk=change.pk).update(undone_by=made.pk)
    ask_now(cluster.pk, "groups")
    return plan, made


def _commit(kafka: KafkaCluster, group: str, plan: Plan) -> None:
    back = {(one.topic, one.partition): one.after for one in plan.moves if one.after is not None}
    if back:
        kafka.set_group_offsets(group, back)
    if away := [(one.topic, one.partition) for one in plan.moves if one.after is None and one.before is not None]:
        kafka.delete_group_offsets(group, away)
