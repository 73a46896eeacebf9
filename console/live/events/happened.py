"""What happened, as sentences with place, cause and effect. Pure: two values of the same thing in, events out."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from msgspec.structs import replace

from broker_core.contract import feed
from broker_core.contract.groups import Group
from broker_core.contract.partitions import Partition, Reassigning, UncleanElection
from broker_core.contract.sentences import Event, Level
from broker_core.contract.stored import Registration
from console.live.merging.partition import FOLDER_OFFLINE
from console.rules.disk import finding
from console.rules.partitions import DELETING, OFFLINE, STARTING, UNDER_MIN_ISR, and_list, brokers
from console.rules.pieces import text_of
from console.rules.recovery import records_lost
from console.rules.words import counted, whole


class Happened(Event, frozen=True, gc=False):
    """An event that is not told yet, with what makes it like others: its cause in a few words, leaders before and after, the epoch."""

    cause: str = ""
    old: int | None = None
    new: int | None = None
    epoch: int | None = None


def folder_events(before: feed.Broker | None, after: feed.Broker, now_ms: int) -> list[Happened]:
    """A broker's data folders went offline, or serve again after a restart; nothing for a broker heard for the first time."""
    if before is None:
        return []
    known = {folder.path: folder for folder in (before.log_dir, *before.other_log_dirs)}
    several, found = bool(after.other_log_dirs), []
    for folder in (after.log_dir, *after.other_log_dirs):
        old = known.get(folder.path)
        if old is not None:
            found += _folder_event(after.id, old, folder, now_ms, of_several=several)
    return found


def _folder_event(broker: int, before: feed.LogDir, after: feed.LogDir, now_ms: int, *, of_several: bool) -> list[Happened]:
    was, now = before.offline_since_ms, after.offline_since_ms
    if now is not None and was is None:
        found = finding(broker, after, after.logs if of_several else None, of_several=of_several)
        return [Happened("log_dir_offline", found.level, text_of(found.pieces), now, broker_id=broker)]
    if was is not None and now is None:
        name = f" {after.path}" if of_several else ""
        return [Happened("log_dir_online", "ok", f"The data folder{name} of broker {broker} serves again.", now_ms, broker_id=broker)]
    return []


def number(offset: int | None) -> str:
    """`18 204 366` with thin spaces, `unknown` where there is none."""
    return "unknown" if offset is None else whole(offset)


def partition_events(before: Partition | None, after: Partition, alive: Collection[int]) -> list[Happened]:
    """Leader moved, ISR shrank or grew, truncation; nothing for a partition seen for the first time, starting or being deleted."""
    if before is None or before.state == STARTING or DELETING in (before.state, after.state):
        return []
    return [*_leader_events(before, after, alive), *_isr_events(before, after), *_truncations(before, after), *_moves(before, after)]


def _leader_events(before: Partition, after: Partition, alive: Collection[int]) -> list[Happened]:
    old, new, at_ms = before.leader, after.leader, after.at_ms
    unclean = _newly_unclean(before, after)
    if old == new and not unclean:
        return []
    found = Happened("leader_moved", "bad", "", at_ms, new, after.topic, after.partition, old=old, new=new, epoch=after.leader_epoch)
    if new is None:
        text = f"{after.name} lost its leader, broker {old}: no reads, no writes until {_until(after, alive)}."
        return [replace(found, sentence=text, broker_id=old)]
    if unclean:
        return [replace(found, kind="unclean_election", sentence=_unclean(before, after, new, unclean.in_sync))]
    if old is None:
        text = f"broker {new} leads {after.name} in epoch {after.leader_epoch}: it takes reads and writes again."
        return [replace(found, level="ok", sentence=text)]
    cause = (
        f"broker {old} is down"
        if old not in alive
        else f"the data folder of broker {old} is offline"
        if _reason_of(after, old) == FOLDER_OFFLINE
        else "it is the preferred leader"
        if new == after.preferred_leader
        else "elected from the ISR"
    )
    return [moved(found, cause)]


def _newly_unclean(before: Partition, after: Partition) -> UncleanElection | None:
    """How the present epoch began, by the store, which may be read after the leader has told that it leads."""
    found = after.unclean
    is_new = found is not None and found != before.unclean and found.leader_epoch == after.leader_epoch
    return found if is_new and after.leader is not None else None


def _until(value: Partition, alive: Collection[int]) -> str:
    """The ISR is the one before the controller has acted: which of those that are down it will leave in it nobody knows yet."""
    ready = [b for b in value.isr if b in alive]
    return "the controller has elected another" if ready else "a replica that was in sync is back: none of them runs"


def moved(e: Happened, cause: str) -> Happened:
    """The leader `e.new` took over from `e.old`."""
    text = f"broker {e.new} took over {e.topic}-{e.partition} from broker {e.old}, epoch {e.epoch}: {cause}."
    return replace(e, level="notice", cause=cause, sentence=text)


def _unclean(before: Partition, after: Partition, new: int, had: Sequence[int]) -> str:
    """Its cost is what those in sync had, as last seen, beyond the new leader's log."""
    lost = records_lost(before.replicas, had, new)
    many = "how many is not known" if lost is None else f"at least {counted(lost, 'record')}, as last seen"
    return (
        f"broker {new} leads {after.name} in epoch {after.leader_epoch} by an unclean election: it was not in sync, {_ids(had)} "
        f"{'was' if len(had) == 1 else 'were'}. Acknowledged records that it did not have are lost: {many}."
    )


def _reason_of(value: Partition, broker: int | None) -> str | None:
    return next((replica.reason for replica in value.replicas if replica.broker_id == broker), None)


def _isr_events(before: Partition, after: Partition) -> list[Happened]:
    if before.isr == after.isr:
        return []
    left = [b for b in before.isr if b not in after.isr]
    joined = [b for b in after.isr if b not in before.isr]
    led_anew = (after.leader_epoch or 0) > (before.leader_epoch or 0)
    moving = before.reassigning or after.reassigning or Reassigning((), ())
    stays = [b for b in left if b in after.assignment and b not in moving.removing]
    shrinks = [_shrink(after, b, led_anew=led_anew) for b in stays]
    elected = after.leader if led_anew else None
    return shrinks + [_expand(after, b, new=b in moving.adding or b not in before.assignment, elected=b == elected) for b in joined]


def _ids(ids: Sequence[int]) -> str:
    return and_list([str(b) for b in sorted(ids)]) or "nobody"


def _shrink(after: Partition, broker: int, *, led_anew: bool) -> Happened:
    """A new epoch with a smaller ISR is the controller's doing: it takes out who goes, restarts or is gone, and may be back already."""
    reason = _reason_of(after, broker) or "it fell behind"
    if led_anew and reason not in ("broker is down", FOLDER_OFFLINE):
        reason = "the controller saw it go"
    low = after.state in (UNDER_MIN_ISR, OFFLINE)
    effect = f"HW now waits for {_ids(after.isr)}"
    if low:
        refused = f"Acks=all is refused: min.insync.replicas is {after.min_insync_replicas}"
        effect = refused if after.state == UNDER_MIN_ISR else "It has no leader now: no reads, no writes"
    text = f"broker {broker} left the ISR of {after.name}: {reason}. {effect}."
    cause = reason.split(",", maxsplit=1)[0]
    return Happened("isr_shrink", "bad" if low else "warn", text, after.at_ms, broker, after.topic, after.partition, cause=cause)


def _expand(after: Partition, broker: int, *, new: bool, elected: bool) -> Happened:
    """Who is elected unclean is in the ISR without having caught up; whether that was so the store may not have said yet."""
    end = next((replica.log_end_offset for replica in after.replicas if replica.broker_id == broker), None)
    place = after.name if end is None else f"{after.name} at {number(end)}"
    did, cause = ("joined", "its new copy is complete") if new else ("is back in", "")
    why = f"it leads epoch {after.leader_epoch}" if elected else cause or "it reached the HW"
    text = f"broker {broker} {did} the ISR of {place}: {why}. In sync: {_ids(after.isr)}."
    return Happened("isr_expand", "notice" if elected else "ok", text, after.at_ms, broker, after.topic, after.partition, cause=cause)


def _truncations(before: Partition, after: Partition) -> list[Happened]:
    if not any(replica.truncated for replica in after.replicas):
        return []
    old = {replica.broker_id: replica.truncated for replica in before.replicas}
    said = []
    for replica in after.replicas:
        cut, broker = replica.truncated, replica.broker_id
        if cut and cut != old.get(broker):
            text = (
                f"broker {broker} cut {after.name} from {number(cut.from_)} back to {number(cut.to)} "
                f"to follow epoch {after.leader_epoch} of broker {after.leader}: {_range(cut.to, cut.from_ - 1)}."
            )
            said.append(Happened("truncation", "warn", text, after.at_ms, broker, after.topic, after.partition))
    return said


def _range(first: int, last: int) -> str:
    """Records that a replica had and its leader has not."""
    if first == last:
        return f"its record at offset {number(first)} is gone"
    return f"its {counted(last - first + 1, 'record')} at offsets {number(first)} to {number(last)} are gone"


def _moves(before: Partition, after: Partition) -> list[Happened]:
    """A reassignment begins or ends."""
    move = after.reassigning
    if move and not before.reassigning:
        steps = [f"{word} {_ids(ids)}" for word, ids in (("joining", move.adding), ("leaving", move.removing)) if ids]
        text = f"{after.name} is being moved: {', '.join(steps)}."
        return [Happened("reassignment", "notice", text, after.at_ms, None, after.topic, after.partition, cause="begins")]
    if before.reassigning and not move:
        text = f"the move of {after.name} is over: its replicas are {', '.join(map(str, after.assignment))}."
        return [Happened("reassignment", "ok", text, after.at_ms, None, after.topic, after.partition, cause="ends")]
    return []


def broker_events(
    before: Mapping[int, Registration], after: Mapping[int, Registration], at_ms: int, why: str = "its registration in ZooKeeper ended"
) -> list[Happened]:
    """Brokers that came or went, from the registrations before and after; `why` is how it was found out that one is registered no more."""
    told = [_broker_event(b, before.get(b), after.get(b), why) for b in sorted(before.keys() | after.keys())]
    found = [Happened(kind, level, text, at_ms, broker_id=b) for b, kind, level, text in filter(None, told)]
    return sorted(found, key=lambda e: e.kind != "broker_died")


def _broker_event(b: int, old: Registration | None, new: Registration | None, why: str) -> tuple[int, str, Level, str] | None:
    """Who counts as gone is registered still, until its session ends or it registers anew."""
    was_here, is_here = old is not None and not old.gone_by, new is not None and not new.gone_by
    if new is None:
        if was_here:
            return b, "broker_died", "bad", f"broker {b} is gone: {why}. Its leaders move to other replicas."
        return (
            b,
            "broker_unregistered",
            "notice",
            f"broker {b}, which is gone, is registered no more: its session ended, or its next process has begun.",
        )
    is_same = old is not None and old.epoch == new.epoch
    if not is_here:
        text = f"broker {b} is gone: {brokers(new.gone_by)} see its port refuse, before its session in ZooKeeper ends."
        return None if is_same and not was_here else (b, "broker_died", "bad", f"{text} Its leaders move to other replicas.")
    if not was_here and is_same:
        text = f"broker {b} counts as gone no more, in the session it had: most brokers do not say any longer that its port refuses."
        return b, "broker_returned", "warn", text
    if not was_here:
        return b, "broker_returned", "ok", f"broker {b} is registered at {new.host}:{new.port}. Its replicas catch up now."
    text = f"broker {b} registered anew (epoch {new.epoch}): it restarted or lost its session."
    return None if is_same else (b, "broker_returned", "warn", text)


def controller_event(old: int | None, new: int | None, epoch: int | None, alive: Collection[int], at_ms: int) -> Happened | None:
    """None where it is the same one, or the first that was seen."""
    if new is None or old is None or new == old:
        return None
    cause = f"broker {old} is down" if old not in alive else f"broker {old} is registered still"
    text = f"broker {new} is the controller now, epoch {epoch} (was broker {old}): {cause}."
    return Happened("controller_moved", "notice", text, at_ms, broker_id=new)


def asked_controller_event(old: int | None, new: int | None, epoch: int | None, at_ms: int) -> Happened | None:
    """The same of a cluster that is asked: in KRaft mode the controller may be no broker, and why it is another one is not told."""
    if new is None or old is None or new == old:
        return None
    which = "" if epoch is None else f", epoch {epoch}"
    return Happened("controller_moved", "notice", f"node {new} is the controller now{which} (was node {old}).", at_ms, broker_id=new)


def _same_generation(before: Group, after: Group) -> bool:
    if after.generation is not None:
        return before.generation == after.generation
    return {member.member_id for member in before.members} == {member.member_id for member in after.members}


def group_event(before: Group, after: Group) -> Happened | None:
    """A finished rebalance: another generation (where none is told: other members), stable or empty again. One whose state was not known
    meanwhile has had none where its generation is the same."""
    settled = ("Stable", "Empty")
    if after.state not in settled or (_same_generation(before, after) and before.state in (*settled, None)):
        return None
    was, now = len(before.members), len(after.members)
    cause = "a member joined" if now > was else "a member left" if now < was else "its members rejoined"
    to = "" if after.generation is None else f" to generation {after.generation}"
    text = f"group {after.group} rebalanced{to}: {cause}; {now} {'member' if now == 1 else 'members'}."
    return Happened("group_rebalance", "notice", text, after.at_ms, group=after.group)
