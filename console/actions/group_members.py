"""What is taken away from a group: its members, and committed offsets of some partitions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from console.actions.audit import audited
from console.actions.groups import PLACES_MAX, What
from console.actions.offset_changes import committing, kept_rows
from console.actions.offset_moves import Plan, listed_members, move, named_members, seen_of
from console.actions.offsets import chosen
from console.errors import Conflict, Invalid, Unconfirmed
from console.gateway.connection import connection_of
from console.gateway.kafka_cluster import KafkaCluster
from console.models import Cluster, OffsetChange
from console.roles import ADMIN, OPERATOR, Actor
from console.rules.words import counted
from console.snapshot.asking import ask_now

MEMBERS_MAX = 1_000


class Leaving(Struct):
    """A member as its coordinator tells it; `error` is why it did not go."""

    member_id: str
    instance_id: str | None
    client_id: str | None
    host: str | None
    partitions: list[str]
    error: str | None = None


class Removal(Struct):
    """Who would go, or went, and how many stay."""

    members: list[Leaving]
    staying: int
    sentence: str


def plan_removal(cluster: Cluster, group: str, ids: Sequence[str] | None) -> Removal:
    """`ids` are member ids or static names (group.instance.id); None: all members there are."""
    found = KafkaCluster(connection_of(cluster)).describe_group(group).get("members") or []
    if not found:
        raise Conflict(f"Group {group} has no members: there is nobody to remove.")
    picked = [_leaving(member) for member in found if ids is None or {member["member_id"], member.get("group_instance_id")} & set(ids)]
    known = {one for member in picked for one in (member.member_id, member.instance_id)}
    if missing := [one for one in ids or () if one not in known]:
        raise Invalid("members", f"Group {group} has no member {missing[0][:200]!r} now: members come and go, look again.")
    if len(picked) > MEMBERS_MAX:
        raise Invalid("members", f"These are {counted(len(picked), 'member')}: name at most {MEMBERS_MAX}.")
    return Removal(picked, len(found) - len(picked), _sentence(picked, len(found) - len(picked)))


def _leaving(member: Mapping[str, Any]) -> Leaving:
    host = str(member.get("client_host") or "").lstrip("/") or None
    return Leaving(member["member_id"], member.get("group_instance_id"), member.get("client_id"), host, _assigned(member))


def _assigned(member: Mapping[str, Any]) -> list[str]:
    """Empty where the assignment is none that consumers have."""
    given = member.get("member_assignment")
    rows = given.get("assigned_partitions") if isinstance(given, Mapping) else getattr(given, "assigned_partitions", None)
    found = []
    for row in rows or ():
        topic, numbers = (row["topic"], row["partitions"]) if isinstance(row, Mapping) else (row.topic, row.partitions)
        found += [f"{topic}-{number}" for number in numbers]
    return found


def _sentence(picked: Sequence[Leaving], staying: int) -> str:
    partitions = sum(len(one.partitions) for one in picked)
    who = "it" if len(picked) == 1 else "them"
    others = "its other member takes over" if staying == 1 else f"its {counted(staying, 'other member')} take over"
    given = others if staying else "nobody would read"
    static = " A static member's name is free then for another." if any(one.instance_id for one in picked) else ""
    again = f"A client that still runs joins again by itself: stop {who} first to keep {who} away."
    return f"{counted(len(picked), 'member')} would leave; {given} {counted(partitions, 'partition')}, after a rebalance. {again}{static}"


def remove_members(actor: Actor, cluster: Cluster, group: str, ids: Sequence[str] | None, *, confirm: str | bool) -> Removal:
    """`confirm` is the group's name as somebody typed it, or True of a program. One that is refused stops no other; where all are, the
    first refusal is raised."""
    with audited(actor, OPERATOR, "remove members", group, cluster=cluster) as entry:
        plan = plan_removal(cluster, group, ids)
        names = [one.instance_id or one.member_id for one in plan.members]
        entry.before = {"members": names}
        if confirm not in (True, group):
            raise Unconfirmed("confirm", f"Type the group's name, {group}, to remove {counted(len(names), 'member')} from it.")
        kafka = KafkaCluster(connection_of(cluster))
        refused = kafka.remove_members(group, [(one.member_id, one.instance_id) for one in plan.members])
        for one in plan.members:
            error = refused.get(one.member_id)
            one.error = str(error) if error else None
        entry.after = {"refused": {one.member_id: one.error for one in plan.members if one.error}}
        if plan.members and len(refused) == len(plan.members):
            raise next(iter(refused.values()))
    ask_now(cluster.pk, "groups")
    return plan


def plan_offset_deletion(cluster: Cluster, group: str, what: What) -> Plan:
    """Which committed offsets would be forgotten; `members` read one of the topics, and stand in its way."""
    kafka = KafkaCluster(connection_of(cluster))
    now = kafka.group_offsets(group)
    places = _committed(group, now, what)
    moves = [move(place, now[place], None) for place in places]
    topics = {topic for topic, _ in places}
    members = [member for member in kafka.describe_group(group).get("members") or [] if _reads(member, topics)]
    return Plan(moves, seen_of(now, places), named_members(members))


def _committed(group: str, now: Mapping[tuple[str, int], int], what: What) -> list[tuple[str, int]]:
    if what is None:
        raise Invalid("topic", "Name the topic whose offsets are to be forgotten.")
    found: list[tuple[str, int]] = []
    for topic, spans in what:
        there = [number for name, number in now if name == topic]
        if not there:
            raise Invalid("topic", f"{group} has committed nothing on {topic}.")
        found += [(topic, number) for number in chosen(topic, there, spans)]
    if not found:
        raise Invalid("partition", f"{group} has committed nothing on those partitions.")
    return found[:PLACES_MAX]


def _reads(member: Mapping[str, Any], topics: set[str]) -> bool:
    """One whose subscription cannot be read counts as a reader."""
    told = member.get("member_metadata")
    names = told.get("topics") if isinstance(told, Mapping) else getattr(told, "topics", None)
    return names is None or bool(topics & set(names))


def delete_offsets(actor: Actor, cluster: Cluster, group: str, what: What, *, confirm: str | bool) -> tuple[Plan, OffsetChange]:
    """Kafka refuses it of a topic that a member is subscribed to (GROUP_SUBSCRIBED_TO_TOPIC). What was committed is kept."""
    with audited(actor, ADMIN, "delete offsets", group, cluster=cluster) as entry:
        plan = plan_offset_deletion(cluster, group, what)
        if plan.members:
            raise Conflict(
                f"Group {group} is subscribed to the topic (GROUP_SUBSCRIBED_TO_TOPIC): {listed_members(plan.members)}. Stop them first."
            )
        if confirm not in (True, group):
            raise Unconfirmed("confirm", f"Type the group's name, {group}, to forget {counted(len(plan.moves), 'offset')}.")
        entry.before = kept_rows(plan.moves)[0]
        with committing(actor, cluster, group, plan.moves, kind="delete offsets", how="") as change:
            KafkaCluster(connection_of(cluster)).delete_group_offsets(group, [(one.topic, one.partition) for one in plan.moves])
    ask_now(cluster.pk, "groups")
    return plan, change
