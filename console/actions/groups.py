"""Groups: move offsets, delete."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import nullcontext
from datetime import UTC, datetime
from typing import Any

from console.actions.audit import audited
from console.actions.offset_changes import committing, kept_rows
from console.actions.offset_moves import Move, Place, Plan, listed_members, move, named_members, seen_of
from console.actions.offsets import AtTime, Lines, Shift, Where, chosen, field_of, target, within
from console.errors import Conflict, Invalid, Outdated, Unconfirmed
from console.gateway.connection import connection_of
from console.gateway.kafka_cluster import KafkaCluster
from console.models import Cluster, OffsetChange
from console.roles import ADMIN, OPERATOR, Actor
from console.rules.words import counted, whole
from console.snapshot.asking import ask_now
from console.snapshot.read import Snapshot, SnapshotUnavailable

Spans = Sequence[tuple[int, int]] | None
What = Sequence[tuple[str, Spans]] | None
"""Topics, each with some of its partitions (None: all of them); None: all that the group has committed."""
PLACES_MAX = 10_000


def plan_offsets(cluster: Cluster, group: str, what: What, to: Where) -> Plan:
    """Where each offset would go. One beyond the log goes to its end (or start), and `note` says so."""
    kafka = KafkaCluster(connection_of(cluster))
    if isinstance(to, str):
        target(to, 0, 2**63)
    now = kafka.group_offsets(group)
    places = _there(kafka, to) if isinstance(to, Lines) else _places(kafka, group, what, now)
    first, end = ends_of(kafka, places)
    at_time = kafka.offsets(places, to.at_ms) if isinstance(to, AtTime) else {}
    moves = []
    for place in places:
        ends = first[place], end[place]
        after, note = _after(to, place, ends, now.get(place), at_time.get(place))
        moves.append(move(place, now.get(place), after, ends, note))
    members = named_members(kafka.describe_group(group).get("members") or [])
    at = datetime.fromtimestamp(to.at_ms / 1000, UTC).isoformat(timespec="milliseconds") if isinstance(to, AtTime) else None
    return Plan(moves, seen_of(now, places), members, at)


def _after(to: Where, place: Place, ends: tuple[int, int], committed: int | None, at_time: int | None) -> tuple[int, str | None]:
    if isinstance(to, Lines):
        return within(to.offsets[place], *ends)
    return target(to, *ends, committed=committed, at_time=at_time)


def _places(kafka: KafkaCluster, group: str, what: What, now: Mapping[Place, int]) -> list[Place]:
    """What is to move, all of it there."""
    if what is None:
        if not now:
            raise Invalid("topic", f"{group} has committed nothing: name the topics.")
        return _few(sorted(now))
    numbers = partitions_of(kafka, [topic for topic, _ in what])
    found: dict[Place, None] = {}
    for topic, spans in what:
        if not numbers.get(topic):
            raise Invalid("topic", f"There is no topic {topic}.")
        found |= dict.fromkeys((topic, number) for number in chosen(topic, numbers[topic], spans))
    return _few(list(found))


def _there(kafka: KafkaCluster, to: Lines) -> list[Place]:
    numbers = partitions_of(kafka, [topic for topic, _ in to.offsets])
    for topic, number in to.offsets:
        if number not in numbers.get(topic, ()):
            raise Invalid(to.field, f"There is no partition {topic}-{number}.")
    return _few(list(to.offsets))


def _few(places: list[Place]) -> list[Place]:
    if len(places) > PLACES_MAX:
        raise Invalid("topic", f"These are {counted(len(places), 'partition')}: move at most {whole(PLACES_MAX)} at a time.")
    return places


def partitions_of(kafka: KafkaCluster, topics: Sequence[str]) -> dict[str, list[int]]:
    return {found["name"]: [row["partition_index"] for row in found["partitions"]] for found in kafka.topics(list(dict.fromkeys(topics)))}


def ends_of(kafka: KafkaCluster, places: Sequence[Place]) -> tuple[dict[Place, int], dict[Place, int]]:
    first, end = kafka.offsets(places, "earliest"), kafka.offsets(places, "latest")
    unknown = [place for place in places if place not in first or place not in end]
    if unknown:
        topic, number = unknown[0]
        raise Invalid("partition", f"Where the log of {topic}-{number} begins and ends was not told: has it a leader?")
    return first, end


def set_offsets(
    actor: Actor,
    cluster: Cluster,
    group: str,
    what: What,
    to: Where,
    *,
    seen: Collection[str] = (),
    confirm: bool = False,
) -> tuple[Plan, OffsetChange]:
    """Moves the committed offsets of a group without members; returns what was done, and what is kept of it so that it can be put back.
    An offset beyond the log is refused without `confirm`; `Outdated` where the mark of what is committed is none of `seen` (empty: any).
    Kafka has no such condition: between the look and the change another client may still be quicker."""
    with audited(actor, OPERATOR, "move offsets", group, cluster=cluster) as entry:
        kafka = KafkaCluster(connection_of(cluster))
        plan = plan_offsets(cluster, group, what, to)
        refuse_members(group, plan.members)
        refuse_outdated(group, plan, seen)
        _refuse_beyond(plan.noted, field_of(to), confirm=confirm)
        entry.before, entry.after = kept_rows(plan.moves)
        with committing(actor, cluster, group, plan.moves, kind="reset", how=words_of(to)) as change:
            kafka.set_group_offsets(group, {(one.topic, one.partition): one.after for one in plan.moves if one.after is not None})
    ask_now(cluster.pk, "groups")
    return plan, change


def words_of(to: Where) -> str:
    """Where offsets went, for whoever reads it later."""
    if isinstance(to, AtTime):
        return f"to {datetime.fromtimestamp(to.at_ms / 1000, UTC):%Y-%m-%d %H:%M:%S} UTC"
    if isinstance(to, Shift):
        return f"{whole(abs(to.by))} {'on' if to.by >= 0 else 'back'}"
    return "each by itself" if isinstance(to, Lines) else f"to {to}"


def refuse_members(group: str, members: Sequence[str]) -> None:
    if members:
        has = f"Group {group} has {counted(len(members), 'member')}: {listed_members(members)}."
        raise Conflict(f"{has} Stop them first, or their next commit undoes the change.")


def refuse_outdated(group: str, plan: Plan, seen: Collection[str]) -> None:
    if seen and plan.seen not in seen:
        raise Outdated(f"What {group} has committed is not what you saw: somebody moved it meanwhile. Nothing was done; look at it again.")


def _refuse_beyond(beyond: Sequence[Move], field: str, *, confirm: bool) -> None:
    if not beyond or confirm:
        return
    first, more = beyond[0], len(beyond) - 1
    others = f" ({counted(more, 'other partition')} likewise)" if more else ""
    raise Unconfirmed(field, f"{first.place}: {first.note}{others}. Confirm that, or give another offset.")


def delete_group(actor: Actor, cluster: Cluster, group: str, *, confirm: str) -> OffsetChange | None:
    """Returns what is kept of its committed offsets, so that they can be put back; None where it had none."""
    with audited(actor, ADMIN, "delete group", group, cluster=cluster) as entry:
        entry.before = _known(cluster, group)
        if confirm != group:
            raise Unconfirmed("confirm", f"Type the group's name, {group}, to delete it with its committed offsets.")
        kafka = KafkaCluster(connection_of(cluster))
        moves = [move(place, offset, None) for place, offset in sorted(kafka.group_offsets(group).items())[:PLACES_MAX]]
        keeping = committing(actor, cluster, group, moves, kind="delete group", how="") if moves else nullcontext()
        with keeping as change:
            kafka.delete_group(group)
    ask_now(cluster.pk, "groups")
    return change


def _known(cluster: Cluster, group: str) -> dict[str, Any] | None:
    """What goes with the group, as it was last seen."""
    try:
        found = Snapshot(cluster.pk).group(group)
    except SnapshotUnavailable:
        return None
    return {key: getattr(found, key) for key in ("state", "topics", "lag")} if found else None
