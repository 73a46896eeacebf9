"""What happened, as sentences with place, cause and effect. Pure: two values of the same thing in, events out."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from broker_core.contract import feed
from console.live.partition import FOLDER_OFFLINE
from console.live.telling import moved
from console.rules.disk import finding
from console.rules.partitions import DELETING, OFFLINE, STARTING, UNDER_MIN_ISR, and_list
from console.rules.recovery import records_lost
from console.rules.words import counted, whole

Value = dict[str, Any]


def event(kind: str, level: str, sentence: str, at_ms: int, **where: Any) -> Value:
    return {
        "kind": kind,
        "level": level,
        "sentence": sentence,
        "at_ms": at_ms,
        "broker_id": where.get("broker_id"),
        "topic": where.get("topic"),
        "partition": where.get("partition"),
        "group": where.get("group"),
        "cause": where.get("cause", ""),
        "old": where.get("old"),
        "new": where.get("new"),
        "epoch": where.get("epoch"),
    }


def folder_events(before: feed.Broker | None, after: feed.Broker, now_ms: int) -> list[Value]:
    """A broker's data folder went offline, or serves again after a restart; nothing for a broker heard for the first time."""
    if before is None:
        return []
    was, now = before.log_dir.offline_since_ms, after.log_dir.offline_since_ms
    if now is not None and was is None:
        _, level, text = finding(after.id, after.log_dir)
        return [event("log_dir_offline", level, text, now, broker_id=after.id)]
    if was is not None and now is None:
        return [event("log_dir_online", "ok", f"The data folder of broker {after.id} serves again.", now_ms, broker_id=after.id)]
    return []


def number(offset: int | None) -> str:
    """`18 204 366` with thin spaces, `unknown` where there is none."""
    return "unknown" if offset is None else whole(offset)


def partition_events(before: Value | None, after: Value, alive: Collection[int]) -> list[Value]:
    """Leader moved, ISR shrank or grew, truncation; nothing for a partition seen for the first time, starting or being deleted."""
    if before is None or before["state"] == STARTING or DELETING in (before["state"], after["state"]):
        return []
    return [*_leader_events(before, after, alive), *_isr_events(before, after), *_truncations(before, after), *_moves(before, after)]


def _name(value: Value) -> str:
    return f"{value['topic']}-{value['partition']}"


def _leader_events(before: Value, after: Value, alive: Collection[int]) -> list[Value]:
    old, new, at_ms = before["leader"], after["leader"], after["at_ms"]
    if old == new:
        return []
    where = {"topic": after["topic"], "partition": after["partition"], "old": old, "new": new, "epoch": after["leader_epoch"]}
    if new is None:
        return [
            event(
                "leader_moved",
                "bad",
                f"{_name(after)} lost its leader, broker {old}: no reads, no writes until {_until(after, alive)}.",
                at_ms,
                broker_id=old,
                **where,
            )
        ]
    if _is_unclean(before, after):
        return [_unclean(before, after, where)]
    if old is None:
        text = f"broker {new} leads {_name(after)} in epoch {after['leader_epoch']}: it takes reads and writes again."
        return [event("leader_moved", "ok", text, at_ms, broker_id=new, **where)]
    cause = (
        f"broker {old} is down"
        if old not in alive
        else f"the data folder of broker {old} is offline"
        if _reason_of(after, old) == FOLDER_OFFLINE
        else "it is the preferred leader"
        if new == after["preferred_leader"]
        else "elected from the ISR"
    )
    return [moved(event("leader_moved", "notice", "", at_ms, broker_id=new, **where), cause)]


def _until(value: Value, alive: Collection[int]) -> str:
    """The ISR is the one before the controller has acted: which of those that are down it will leave in it nobody knows yet."""
    ready = [b for b in value["isr"] if b in alive]
    return "the controller has elected another" if ready else "a replica that was in sync is back: none of them runs"


def _is_unclean(before: Value, after: Value) -> bool:
    found = after["unclean"]
    return bool(found) and found["leader_epoch"] == after["leader_epoch"] and found != before["unclean"]


def _unclean(before: Value, after: Value, where: Value) -> Value:
    """Its cost is what those in sync had, as last seen, beyond the new leader's log."""
    new, had = after["leader"], after["unclean"]["in_sync"]
    lost = records_lost(before["replicas"], had, new)
    many = "how many is not known" if lost is None else f"at least {counted(lost, 'record')}, as last seen"
    text = (
        f"broker {new} leads {_name(after)} in epoch {after['leader_epoch']} by an unclean election: it was not in sync, {_ids(had)} "
        f"{'was' if len(had) == 1 else 'were'}. Acknowledged records that it did not have are lost: {many}."
    )
    return event("unclean_election", "bad", text, after["at_ms"], broker_id=new, **where)


def _reason_of(value: Value, broker: int) -> str | None:
    return next((replica.get("reason") for replica in value["replicas"] if replica["broker_id"] == broker), None)


def _isr_events(before: Value, after: Value) -> list[Value]:
    if before["isr"] == after["isr"]:
        return []
    left = [b for b in before["isr"] if b not in after["isr"]]
    joined = [b for b in after["isr"] if b not in before["isr"]]
    reasons = {r["broker_id"]: r for r in after["replicas"]}
    led_anew = (after["leader_epoch"] or 0) > (before["leader_epoch"] or 0)
    moving = before["reassigning"] or after["reassigning"] or {"adding": [], "removing": []}
    stays = [b for b in left if b in after["assignment"] and b not in moving["removing"]]
    shrinks = [_shrink(after, b, reasons.get(b, {}), led_anew=led_anew) for b in stays]
    return shrinks + [_expand(after, b, reasons.get(b, {}), new=b in moving["adding"]) for b in joined]


def _ids(ids: Sequence[int]) -> str:
    return and_list([str(b) for b in sorted(ids)]) or "nobody"


def _shrink(after: Value, broker: int, replica: Value, *, led_anew: bool) -> Value:
    """A new epoch with a smaller ISR is the controller's doing: it takes out who lost its session, which may be back already."""
    reason = replica.get("reason") or "it fell behind"
    if led_anew and reason not in ("broker is down", FOLDER_OFFLINE):
        reason = "its session had ended"
    low = after["state"] in (UNDER_MIN_ISR, OFFLINE)
    effect = (
        f"acks=all is refused: min.insync.replicas is {after['min_insync_replicas']}" if low else f"HW now waits for {_ids(after['isr'])}"
    )
    text = f"broker {broker} left the ISR of {_name(after)}: {reason}. {effect[0].upper()}{effect[1:]}."
    level = "bad" if low else "warn"
    where = {"broker_id": broker, "topic": after["topic"], "partition": after["partition"], "cause": reason.split(",", maxsplit=1)[0]}
    return event("isr_shrink", level, text, after["at_ms"], **where)


def _expand(after: Value, broker: int, replica: Value, *, new: bool) -> Value:
    place = f"{_name(after)} at {number(replica.get('log_end_offset'))}"
    did, cause = ("joined", "its new copy is complete") if new else ("is back in", "")
    text = f"broker {broker} {did} the ISR of {place}: {cause or 'it reached the HW'}. In sync: {_ids(after['isr'])}."
    where = {"broker_id": broker, "topic": after["topic"], "partition": after["partition"], "cause": cause}
    return event("isr_expand", "ok", text, after["at_ms"], **where)


def _truncations(before: Value, after: Value) -> list[Value]:
    if not any(r["truncated"] for r in after["replicas"]):
        return []
    old = {r["broker_id"]: r["truncated"] for r in before["replicas"]}
    said = []
    for replica in after["replicas"]:
        cut = replica["truncated"]
        if cut and cut != old.get(replica["broker_id"]):
            text = (
                f"broker {replica['broker_id']} cut {_name(after)} from {number(cut['from'])} back to {number(cut['to'])} "
                f"to follow epoch {after['leader_epoch']} of broker {after['leader']}: {_range(cut['to'], cut['from'] - 1)}."
            )
            where = {"broker_id": replica["broker_id"], "topic": after["topic"], "partition": after["partition"]}
            said.append(event("truncation", "warn", text, after["at_ms"], **where))
    return said


def _range(first: int, last: int) -> str:
    """Records that a replica had and its leader has not."""
    if first == last:
        return f"its record at offset {number(first)} is gone"
    return f"its {counted(last - first + 1, 'record')} at offsets {number(first)} to {number(last)} are gone"


def _moves(before: Value, after: Value) -> list[Value]:
    """A reassignment begins or ends."""
    where = {"topic": after["topic"], "partition": after["partition"]}
    move = after["reassigning"]
    if move and not before["reassigning"]:
        steps = [f"{word} {_ids(ids)}" for word, ids in (("joining", move["adding"]), ("leaving", move["removing"])) if ids]
        text = f"{_name(after)} is being moved: {', '.join(steps)}."
        return [event("reassignment", "notice", text, after["at_ms"], cause="begins", **where)]
    if before["reassigning"] and not move:
        text = f"the move of {_name(after)} is over: its replicas are {', '.join(map(str, after['assignment']))}."
        return [event("reassignment", "ok", text, after["at_ms"], cause="ends", **where)]
    return []


def broker_events(before: dict[int, Value], after: dict[int, Value], at_ms: int) -> list[Value]:
    """Brokers that came or went, from the registrations before and after."""
    gone = [
        event(
            "broker_died",
            "bad",
            f"broker {b} is gone: its session in ZooKeeper ended. Its leaders move to other replicas.",
            at_ms,
            broker_id=b,
        )
        for b in sorted(before.keys() - after.keys())
    ]
    come = [
        event(
            "broker_returned",
            "ok",
            f"broker {b} is registered at {after[b].get('host')}:{after[b].get('port')}. Its replicas catch up now.",
            at_ms,
            broker_id=b,
        )
        for b in sorted(after.keys() - before.keys())
    ]
    again = [
        event(
            "broker_returned",
            "warn",
            f"broker {b} registered anew (epoch {after[b]['epoch']}): it restarted or lost its session.",
            at_ms,
            broker_id=b,
        )
        for b in sorted(before.keys() & after.keys())
        if before[b].get("epoch") != after[b].get("epoch")
    ]
    return gone + come + again


def controller_event(old: int | None, new: int | None, epoch: int | None, alive: Collection[int], at_ms: int) -> Value | None:
    """None where it is the same one, or the first that was seen."""
    if new is None or old is None or new == old:
        return None
    cause = f"broker {old} is down" if old not in alive else f"broker {old} resigned"
    return event(
        "controller_moved",
        "notice",
        f"broker {new} is the controller now, epoch {epoch} (was broker {old}): {cause}.",
        at_ms,
        broker_id=new,
    )


def group_event(before: Value, after: Value) -> Value | None:
    """A finished rebalance: another generation, stable or empty again."""
    settled = ("Stable", "Empty")
    if after["state"] not in settled or (before["generation"] == after["generation"] and before["state"] in settled):
        return None
    was, now = len(before["members"]), len(after["members"])
    cause = "a member joined" if now > was else "a member left" if now < was else "its members rejoined"
    text = f"group {after['group']} rebalanced to generation {after['generation']}: {cause}; {now} {'member' if now == 1 else 'members'}."
    return event("group_rebalance", "notice", text, after["at_ms"], group=after["group"])
