"""What becomes of one partition when a broker stops: who would lead it, who be in sync, and what clients would notice."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Literal

from msgspec import Meta, Struct

from broker_core.contract.live import Count
from broker_core.contract.partitions import Partition
from console.rules.forecast.deciding import State, after_death, after_shutdown

How = Literal["death", "shutdown"]
Becomes = Literal["offline", "unclean", "refuses", "unknown", "moves", "shrinks", "unchanged"]
BECOMES: tuple[Becomes, ...] = ("offline", "unclean", "refuses", "unknown", "moves", "shrinks", "unchanged")
"""The worst first."""
DECIDE = {"death": after_death, "shutdown": after_shutdown}


class Around(Struct, frozen=True):
    """What a partition's fate depends on beside itself.

    `serving` run and have a data folder; of the `doubtful` among them one of several folders is offline, so that a replica out of sync
    may be there or not. `unclean`: whether topics let somebody lead who is not in sync; one that is missing or None is not known.
    """

    broker_id: int
    how: How
    serving: frozenset[int]
    doubtful: frozenset[int] = frozenset()
    unclean: Mapping[str, bool | None] = {}


class Fate(Struct, frozen=True, kw_only=True, gc=False):
    topic: str
    partition: int
    becomes: Annotated[
        Becomes,
        Meta(
            description="offline: nobody leads until the broker is back; unclean: led by one that is not in sync, so acknowledged records "
            "may be lost; refuses: acks=all is refused; moves: another leads; shrinks: one less in sync"
        ),
    ]
    leader: Count
    isr: tuple[int, ...]
    leader_then: Annotated[Count, Meta(description="null where nobody would lead, or it is not known who")]
    isr_then: tuple[int, ...]
    min_insync_replicas: Annotated[Count, Meta(description="in force: at most the number of replicas; null where it is not known")]
    refuses: Annotated[bool | None, Meta(description="acks=all would be refused by its leader; null where that is not known")]
    why: Annotated[str, Meta(description="what is not known, or what would help before; else empty")] = ""

    @property
    def name(self) -> str:
        return f"{self.topic}-{self.partition}"


def fate_of(row: Partition, around: Around) -> Fate:
    """Of a partition that the broker has a replica of."""
    if row.state == "unknown":
        return _fate(row, "unknown", State(None, ()), why="who leads it and who is in sync is not known")
    now = State(row.leader, row.isr)
    if row.state == "deleting":
        return _fate(row, "unchanged", now)
    then = _decided(row, now, around, around.serving, unclean=bool(around.unclean.get(row.topic)))
    if why := _doubt(row, now, then, around):
        return _fate(row, "unknown", State(None, then.isr), why=why)
    return _judged(row, now, then, around.broker_id)


def _due(row: Partition, now: State, around: Around) -> State | None:
    """What the election brings that is due where nobody leads though somebody could: it is open whether that or the death comes first."""
    if now.leader in around.serving:
        return None
    here = [replica for replica in row.assignment if replica in around.serving]
    in_sync = [replica for replica in here if replica in now.isr]
    if in_sync:
        return State(in_sync[0], tuple(member for member in now.isr if member in here))
    sure = [replica for replica in here if replica not in around.doubtful] if around.unclean.get(row.topic) else []
    return State(sure[0], (sure[0],)) if sure else None


def _decided(row: Partition, now: State, around: Around, online: frozenset[int], *, unclean: bool) -> State:
    """The state stays as it is where no broker is left that could be the controller."""
    if not around.serving - {around.broker_id}:
        return State(None, now.isr)
    return DECIDE[around.how](around.broker_id, now, row.assignment or row.isr, online, unclean=unclean)


def _doubt(row: Partition, now: State, then: State, around: Around) -> str:
    """Why it is not known who would lead; empty where it is."""
    due = _due(row, now, around)
    if due is not None and _decided(row, due, around, around.serving, unclean=bool(around.unclean.get(row.topic))).leader != then.leader:
        return f"nobody leads it, though broker {due.leader} could: the controller is at it"
    if around.unclean.get(row.topic) is None and _decided(row, now, around, around.serving, unclean=True) != then:
        return "nobody in sync would be left, and it is not known whether the topic lets another lead (unclean.leader.election.enable)"
    sure = around.serving - (around.doubtful - frozenset(row.isr))
    if _decided(row, now, around, sure, unclean=bool(around.unclean.get(row.topic))) != then:
        return "nobody in sync would be left, and who is first of the others is on a broker with an offline data folder"
    return ""


MORE_IN_SYNC = "another replica in sync: bring back who is out, or add one"
HELPS: dict[Becomes, str] = {
    "offline": MORE_IN_SYNC,
    "unclean": "another replica in sync, or unclean.leader.election.enable=false for the topic",
    "refuses": MORE_IN_SYNC,
    "unknown": "how many have to be in sync (min.insync.replicas) is not known",
}


def _judged(row: Partition, now: State, then: State, broker: int) -> Fate:
    least = least_in_sync(row)
    refuses = None if least is None or then.leader is None else len(then.isr) < least
    concerned = broker in now.isr or broker == now.leader
    becomes = _becomes(now, then, refuses) if concerned or then != now else "unchanged"
    return _fate(row, becomes, then, refuses, why=HELPS.get(becomes, ""))


def _becomes(now: State, then: State, refuses: bool | None) -> Becomes:
    if then.leader is None:
        return "offline"
    if then.leader not in now.isr:
        return "unclean"
    if refuses is not False:
        return "unknown" if refuses is None else "refuses"
    return "moves" if then.leader != now.leader else "shrinks"


def least_in_sync(row: Partition) -> int | None:
    """`min.insync.replicas` in force: a topic with fewer replicas needs all it has (spec R5)."""
    if row.min_insync_replicas is None:
        return None
    return min(row.min_insync_replicas, len(row.assignment)) if row.assignment else row.min_insync_replicas


def _fate(row: Partition, becomes: Becomes, then: State, refuses: bool | None = None, why: str = "") -> Fate:
    return Fate(
        topic=row.topic,
        partition=row.partition,
        becomes=becomes,
        leader=row.leader,
        isr=row.isr,
        leader_then=then.leader,
        isr_then=then.isr,
        min_insync_replicas=least_in_sync(row),
        refuses=refuses,
        why=why,
    )


def worst_first(fates: Iterable[Fate]) -> list[Fate]:
    return sorted(fates, key=lambda fate: (BECOMES.index(fate.becomes), fate.topic, fate.partition))
