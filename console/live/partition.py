"""One partition, merged from what its replicas claim and what the coordination store says. Pure.

Who is believed: the leadership (leader, epoch, ISR) with the highest leader epoch; at one epoch the leader's own claim before
the store's, because the leader is the one that writes the ISR, unless that leader's feed is lost. A replica's LEO and HW are its
own words while its feed is heard, else what the leader last saw of it. Two brokers that both claim to lead are both shown.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from workers.rules.partitions import partition_state

Value = dict[str, Any]
TRUNCATION_SHOWN_MS = 60_000


@dataclass(slots=True)
class PartitionFacts:
    """Everything heard of one partition. `claims` is by broker; `store` is (leader, leader_epoch, isr)."""

    topic: str
    partition: int
    assignment: list[int] = field(default_factory=list)
    adding: list[int] = field(default_factory=list)
    removing: list[int] = field(default_factory=list)
    store: tuple[int, int, list[int]] | None = None
    claims: dict[int, Value] = field(default_factory=dict)
    truncated: dict[int, Value] = field(default_factory=dict)


def leadership(facts: PartitionFacts, heard: Collection[int]) -> tuple[int | None, int | None, list[int]]:
    """(leader, leader_epoch, isr); leader None where there is none or it is not known."""
    leading = [(c["leader_epoch"], b) for b, c in facts.claims.items() if c.get("role") == "leader" and b in heard]
    best = max(leading, default=None)
    if facts.store is not None and (best is None or facts.store[1] > best[0]):
        leader, epoch, isr = facts.store
        return (leader if leader >= 0 else None), epoch, list(isr)
    if best is not None:
        return best[1], best[0], list(facts.claims[best[1]].get("isr") or [])
    return _as_followers_say(facts)


def _as_followers_say(facts: PartitionFacts) -> tuple[int | None, int | None, list[int]]:
    told = [c for c in facts.claims.values() if c.get("leader") is not None]
    if not told:
        return None, None, []
    claim = max(told, key=lambda c: c.get("leader_epoch") or -1)
    leader = claim["leader"] if claim["leader"] >= 0 else None
    return leader, claim.get("leader_epoch"), list(claim.get("isr") or [])


def rival_claims(facts: PartitionFacts, heard: Collection[int]) -> list[Value] | None:
    rivals = [(b, c["leader_epoch"]) for b, c in sorted(facts.claims.items()) if c.get("role") == "leader" and b in heard]
    return [{"broker_id": b, "leader_epoch": e} for b, e in rivals] if len(rivals) > 1 else None


def merge_partition(facts: PartitionFacts, heard: Collection[int], alive: Collection[int], min_isr: int | None, now_ms: int) -> Value:
    """The partition as DESIGN's table has it; `heard` = brokers whose feed is live, `alive` = brokers registered."""
    leader, epoch, isr = leadership(facts, heard)
    if leader is not None and leader not in alive:
        leader = None
    claim = facts.claims.get(leader, {}) if leader is not None else {}
    seen = {f["broker_id"]: f for f in claim.get("followers") or []}
    assignment = facts.assignment or list(claim.get("replicas") or sorted(facts.claims))
    order = sorted(assignment, key=lambda b: (b != leader, assignment.index(b)))
    return {
        "topic": facts.topic,
        "partition": facts.partition,
        "state": partition_state(leader, isr, assignment, min_isr),
        "leader": leader,
        "preferred_leader": assignment[0] if assignment else None,
        "leader_epoch": epoch,
        "isr": isr,
        "assignment": assignment,
        "high_watermark": claim.get("high_watermark"),
        "log_end_offset": claim.get("log_end_offset"),
        "log_start_offset": claim.get("log_start_offset"),
        "size_bytes": claim.get("size_bytes"),
        "min_insync_replicas": min_isr,
        "replicas": [_replica(facts, b, leader, isr, seen.get(b), heard=b in heard, alive=b in alive, now_ms=now_ms) for b in order],
        "reassigning": {"adding": facts.adding, "removing": facts.removing} if facts.adding or facts.removing else None,
        "claims": rival_claims(facts, heard),
        "at_ms": now_ms,
    }


def _replica(
    facts: PartitionFacts, broker: int, leader: int | None, isr: list[int], seen: Value | None, *, heard: bool, alive: bool, now_ms: int
) -> Value:
    own = facts.claims.get(broker) if heard else None
    source = own or seen or {}
    claim = facts.claims.get(leader) if leader is not None else None
    fetch_age = _aged(seen, "fetch_age_ms", claim, now_ms)
    age = 0 if broker == leader and own else fetch_age
    cut = facts.truncated.get(broker)
    in_isr = broker in isr
    return {
        "broker_id": broker,
        "is_leader": broker == leader,
        "in_isr": in_isr,
        "log_end_offset": source.get("log_end_offset"),
        "high_watermark": source.get("high_watermark"),
        "age_ms": age,
        "reason": None if in_isr else _reason(alive, leader, seen, _aged(seen, "caught_up_age_ms", claim, now_ms), fetch_age),
        "truncated": cut if cut and now_ms - cut["at_ms"] < TRUNCATION_SHOWN_MS else None,
    }


def _aged(seen: Value | None, name: str, claim: Value | None, now_ms: int) -> int | None:
    if seen is None or seen.get(name) is None or claim is None:
        return None
    return int(seen[name]) + max(now_ms - int(claim["at_ms"]), 0)


def _reason(alive: bool, leader: int | None, seen: Value | None, caught_up_age: int | None, fetch_age: int | None) -> str:
    """Why a replica is out of the ISR: down, never fetched, stopped fetching, or too slow (R3)."""
    if not alive:
        return "broker is down"
    if leader is None:
        return "no leader to follow"
    if seen is None or fetch_age is None:
        return "has not fetched yet"
    if fetch_age > 2000:
        return f"no fetch for {fetch_age / 1000:.1f} s"
    if caught_up_age is None:
        return "catching up"
    return f"catching up, behind for {caught_up_age / 1000:.1f} s"
