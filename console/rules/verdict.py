"""The sentence a page opens with: what is wrong and what that does, the cause first; then groups that fall behind.

Rules, in this order; each that applies gives one part, and the level is the worst of them:
1. Nothing is known: the level is `unknown`.
2. Brokers that are down (warn), and in the same sentence what that does to partitions: without a leader (bad), refusing acks=all
   (bad), with fewer copies than wanted (warn). Without a dead broker the same, and the worst partition's own sentence; with one that
   only where it has no leader, since which of the dead can lead is what somebody has to know.
3. Brokers that are registered and silent (warn), and of how many partitions nobody knows the state for that; partitions that nobody who
   leads them has reported on yet (notice).
4. Nothing of the kind: "All n partitions are safe."; "the other n" where 3 has said something. While a broker with copies is silent
   none is called safe: their leaders take it for in sync until it has lagged for long enough.
5. Groups that stall or fall behind out of their own rhythm: warn; other lag out of it, or before it is known: notice (`rhythm`).
6. Topics that are being deleted: ok; notice where that waits for something. Their partitions count as neither safe nor in danger.
7. ZooKeeper does not answer: warn. What is said of brokers, leaders and ISRs is then what it said last.
8. Data folders that are offline, filling up or nearly full, by the rules and thresholds of disk.py.
9. Leaders away from their preferred broker: notice; not while a broker is down, which is why they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from broker_core.contract.groups import Group
from broker_core.contract.live import LogDir
from broker_core.contract.partitions import Deletion, Partition
from broker_core.contract.sentences import Level, Part, Piece, Verdict
from console.rules.brief import brief
from console.rules.lag import behind_of, group_words
from console.rules.partitions import OFFLINE, brokers, partition_words
from console.rules.pieces import link, part, said
from console.rules.words import counted, duration, whole

LEVELS: tuple[Level, ...] = ("ok", "notice", "warn", "bad", "unknown")
ATTENTION: tuple[Level, Level] = ("warn", "notice")
GROUPS_NAMED = 2
TOPICS_NAMED = 2
FOLDERS_NAMED = 3
STORE_AWAY = part("warn", None, said("ZooKeeper does not answer: until it does no leader can move and no ISR can change."))


class Silence(NamedTuple):
    """A broker that is registered and not heard: for how long (None: it never was), and how many partitions it leads and hosts."""

    broker_id: int
    silent_s: float | None
    leads: int
    hosts: int
    is_asked: bool = False
    """It has no state feed: it does not answer."""


def verdict(
    counts: Mapping[str, int],
    dead: Sequence[int],
    groups: Sequence[Group],
    worst: Partition | None,
    deletions: Mapping[str, Deletion] | None = None,
    *,
    store_is_away: bool = False,
    folders: Sequence[LogDir] = (),
    silent: Sequence[Silence] = (),
) -> Verdict:
    """`counts` are the cluster's; `worst` is one troubled partition; groups are those with lag; `folders` are the data folders of the
    brokers that run (disk.py)."""
    if not counts.get("brokers_online") and not dead:
        return Verdict("unknown", "No broker has been heard of yet.", brief="No broker heard of yet")
    parts = [
        *_silent_parts(silent),
        *_starting_parts(counts),
        *_cluster_parts(counts, dead, worst, silent),
        *((STORE_AWAY,) if store_is_away else ()),
        *_folder_parts(folders),
        *_group_parts(groups),
        *_deletion_parts(deletions or {}),
        *(() if dead else _balance_parts(counts)),
    ]
    words = brief(
        counts,
        dead,
        [one.broker_id for one in silent],
        groups,
        store_is_away=store_is_away,
        folders=sum(folder.level in ("warn", "bad") for folder in folders),
    )
    return Verdict(max((one.level for one in parts), key=LEVELS.index), " ".join(one.text for one in parts), tuple(parts), brief=words)


def unanswered(found: Verdict, why: str | None, at_ms: int | None) -> Verdict:
    """Of a cluster that is asked and does not answer: what was last known is told as that."""
    reason = f" ({why})" if why else ""
    if at_ms is None:
        words = f"The cluster does not answer{reason}: nothing is known of it." if why else "The cluster has not answered yet."
        return Verdict("unknown", words, brief="The cluster does not answer" if why else "The cluster has not answered yet")
    at = datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%H:%M:%S")
    words = f"The cluster does not answer{reason}: its state is unknown. Last known at {at}:"
    return Verdict(
        "unknown", f"{words} {found.text}", (part("unknown", None, said(words)), *found.parts), at_ms, "The cluster does not answer"
    )


def _silent_parts(silent: Sequence[Silence]) -> list[Part]:
    def pieces(one: Silence) -> tuple[Piece, Piece]:
        return link(f"Broker {one.broker_id}", "brokers"), said(_silence(one))

    return [part("warn" if one.hosts else "notice", "brokers", *pieces(one)) for one in silent]


def _silence(one: Silence) -> str:
    words = f" has not {'answered' if one.is_asked else 'reported'} yet"
    if one.silent_s is not None:
        did = "has not answered for" if one.is_asked else "has been silent for"
        words = f" {did} {duration(max(one.silent_s, 1), 1)}"
    if one.leads:
        return f"{words}: the state of its {counted(one.leads, 'partition')} is unknown."
    if one.hosts:
        return f"{words}: of its copies of {counted(one.hosts, 'partition')} only their leaders tell."
    return f"{words}."


def _starting_parts(counts: Mapping[str, int]) -> list[Part]:
    starting = counts.get("starting", 0)
    if not starting:
        return []
    who = "is starting: its leader has" if starting == 1 else "are starting: their leaders have"
    return [part("notice", "topics", link(counted(starting, "partition"), "topics"), said(f" {who} not reported yet."))]


def _all_safe(partitions: int, *, others: bool, unheard: bool) -> Part:
    """`unheard`: a broker with copies is silent. Leaders take those for in sync for a while yet, so nothing is called safe."""
    many = f"{whole(partitions)} partitions"
    if partitions == 0 and not others:
        before, words, after = "There are no ", "topics", " yet."
    elif unheard:
        before = f"By their leaders' word all copies of the {'other ' if others else ''}"
        words, after = "partition" if partitions == 1 else many, " are in sync."
    elif others:
        before, words, after = "", "The other one is safe." if partitions == 1 else f"The other {whole(partitions)} are safe.", ""
    else:
        before, words, after = ("The one ", "partition", " is safe.") if partitions == 1 else ("All ", many, " are safe.")
    return part("ok", "topics", said(before), link(words, "topics"), said(after))


def _cluster_parts(counts: Mapping[str, int], dead: Sequence[int], worst: Partition | None, silent: Sequence[Silence]) -> list[Part]:
    wrong, level = effects(counts)
    unknown = max(counts.get("unknown", 0), sum(one.leads for one in silent)) + counts.get("starting", 0)
    known = max(_kept(counts) - unknown, 0)
    others, unheard = bool(unknown), any(one.hosts for one in silent)
    if dead:
        kept = _kept_copies(known, others=others)
        what = "; ".join(wrong) if wrong else "" if others and not known else kept
        words = said(f" {'is' if len(dead) == 1 else 'are'} down{': ' if what else ''}{what}.")
        down = part(level if wrong else "warn", "brokers", link(capital(brokers(dead)), "brokers"), words)
        return [down, part(level, *_worst(worst))] if worst and worst.state == OFFLINE else [down]
    if wrong:
        first = f"{capital('; '.join(wrong))}."
        if worst:
            about, *pieces = _worst(worst)
            return [part(level, about, said(f"{first} "), *pieces)]
        return [part(level, "topics", link(first, "topics"))]
    return [] if others and not known else [_all_safe(known, others=others, unheard=unheard)]


def _kept_copies(known: int, *, others: bool) -> str:
    if known == 1:
        return f"the {'other' if others else 'one'} partition has all the copies it wants"
    return f"{'the other' if others else 'all'} {whole(known)} partitions have all the copies they want"


def _worst(partition: Partition) -> tuple[str, Piece, Piece]:
    """What it is about, and its sentence."""
    about = f"topic/{partition.topic}"
    return about, link(partition.name, about), said(f" {partition_words(partition)}")


def capital(words: str) -> str:
    return words[0].upper() + words[1:]


def _kept(counts: Mapping[str, int]) -> int:
    """Partitions of topics that are not being deleted."""
    return counts.get("partitions", 0) - counts.get("deleting", 0)


def effects(counts: Mapping[str, int]) -> tuple[list[str], Level]:
    """What is wrong with partitions, the worst first, and how bad that is; each partition is counted once."""
    offline, below = counts.get("offline", 0), counts.get("under_min_isr", 0)
    under = counts.get("under_replicated", 0) - (below - counts.get("under_min_isr_moving", 0))
    found = []
    if offline:
        found.append(f"{counted(offline, 'partition')} {_have(offline)} no leader, so no reads and no writes")
    if below:
        found.append(f"{counted(below, 'partition')} refuse{'s' if below == 1 else ''} acks=all writes")
    if under > 0:
        found.append(f"{counted(under, 'partition')} {_have(under)} fewer copies than wanted")
        if not offline and not below:
            found.append("all accept reads and writes" if under > 1 else "it accepts reads and writes")
    return found, "bad" if offline or below else "warn"


def _have(count: int) -> str:
    return "has" if count == 1 else "have"


def _group_parts(groups: Sequence[Group]) -> list[Part]:
    parts: list[Part] = []
    for level in ATTENTION:
        members = sorted((g for g in groups if g.attention == level), key=lambda g: -(g.lag_s or 0))
        for group in members[:GROUPS_NAMED]:
            about, words = f"group/{group.group}", group_words(group.lag, behind_of(group), group.trend, group.eta_s, slowest=group.slowest)
            parts.append(part(level, about, said("Group "), link(group.group, about), said(f" {words}")))
        if more := len(members[GROUPS_NAMED:]):
            words = "1 more group is behind." if more == 1 else f"{whole(more)} more groups are behind."
            parts.append(part(level, "groups", link(words, "groups")))
    return parts


def _folder_parts(folders: Sequence[LogDir]) -> list[Part]:
    found = sorted((folder for folder in folders if folder.level != "ok"), key=lambda folder: -LEVELS.index(folder.level))
    parts = [part(folder.level, "brokers", *folder.pieces) for folder in found[:FOLDERS_NAMED]]
    if more := found[FOLDERS_NAMED:]:
        parts.append(part(more[0].level, "brokers", link(f"So it is with {counted(len(more), 'more data folder')}.", "brokers")))
    return parts


def _deletion_parts(deletions: Mapping[str, Deletion]) -> list[Part]:
    def level(name: str) -> Level:
        return "notice" if deletions[name].waits_for or deletions[name].moving else "ok"

    waiting_first = sorted(deletions, key=lambda name: (level(name) == "ok", name))
    parts = [
        part(level(name), f"topic/{name}", said("Topic "), link(name, f"topic/{name}"), said(deletions[name].sentence.removeprefix(name)))
        for name in waiting_first[:TOPICS_NAMED]
    ]
    if rest := waiting_first[TOPICS_NAMED:]:
        words = f" {'is' if len(rest) == 1 else 'are'} being deleted."
        parts.append(part(level(rest[0]), "topics", link(counted(len(rest), "more topic"), "topics"), said(words)))
    return parts


def _balance_parts(counts: Mapping[str, int]) -> list[Part]:
    away = counts.get("not_preferred", 0)
    if not away:
        return []
    led = f"{counted(away, 'partition')} {'is' if away == 1 else 'are'} not led by the "
    return [part("notice", "brokers", said(led), link("preferred broker", "brokers"), said("."))]
