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
from typing import Any

from broker_core.contract.live import LogDir
from console.rules.lag import behind_of, group_sentence
from console.rules.partitions import OFFLINE, brokers
from console.rules.words import counted, duration, whole

LEVELS = ("ok", "notice", "warn", "bad", "unknown")
GROUPS_NAMED = 2
TOPICS_NAMED = 2
FOLDERS_NAMED = 3
Part = tuple[str, str, str | None]
"""(level, sentence, what it is about: a path such as `topic/orders`, `brokers`, `group/billing`, or None)."""
STORE_AWAY: Part = ("warn", "ZooKeeper does not answer: until it does no leader can move and no ISR can change.", None)


def verdict(
    counts: Mapping[str, Any],
    dead: Sequence[int],
    groups: Sequence[Mapping[str, Any]],
    worst: Mapping[str, Any] | None,
    deletions: Sequence[Mapping[str, Any]] = (),
    *,
    store_is_away: bool = False,
    folders: Sequence[LogDir] = (),
    silent: Sequence[Mapping[str, Any]] = (),
) -> dict[str, Any]:
    """`counts` are the cluster's; `worst` names one troubled partition {topic, state, sentence}; groups are those with lag;
    deletions are {topic, waits_for, moving, sentence}; `folders` are the data folders of the brokers that run (disk.py);
    silent are {broker_id, silent_s, leads, hosts}."""
    if not counts.get("brokers_online") and not dead:
        return {"level": "unknown", "text": "No broker has been heard of yet.", "parts": []}
    parts = [
        *_silent_parts(silent),
        *_starting_parts(counts),
        *_cluster_parts(counts, dead, worst, silent),
        *((STORE_AWAY,) if store_is_away else ()),
        *_folder_parts(folders),
        *_group_parts(groups),
        *_deletion_parts(deletions),
        *(() if dead else _balance_parts(counts)),
    ]
    level = max((part[0] for part in parts), key=LEVELS.index)
    return {
        "level": level,
        "text": " ".join(part[1] for part in parts),
        "parts": [{"level": part[0], "text": part[1], "about": part[2]} for part in parts],
    }


def _silent_parts(silent: Sequence[Mapping[str, Any]]) -> list[Part]:
    return [("warn" if one["hosts"] else "notice", _silence(one), "brokers") for one in silent]


def _silence(one: Mapping[str, Any]) -> str:
    who, silent_s, leads, hosts = f"Broker {one['broker_id']}", one["silent_s"], one["leads"], one["hosts"]
    said = f"{who} has not reported yet" if silent_s is None else f"{who} has been silent for {duration(max(silent_s, 1), 1)}"
    if leads:
        return f"{said}: the state of its {counted(leads, 'partition')} is unknown."
    if hosts:
        return f"{said}: of its copies of {counted(hosts, 'partition')} only their leaders tell."
    return f"{said}."


def _starting_parts(counts: Mapping[str, Any]) -> list[Part]:
    starting = counts.get("starting") or 0
    if not starting:
        return []
    who = "its leader has" if starting == 1 else "their leaders have"
    return [("notice", f"{counted(starting, 'partition')} {'is' if starting == 1 else 'are'} starting: {who} not reported yet.", "topics")]


def _all_safe(partitions: int, *, others: bool, unheard: bool) -> str:
    """`unheard`: a broker with copies is silent. Leaders take those for in sync for a while yet, so nothing is called safe."""
    if partitions == 0 and not others:
        return "There are no topics yet."
    if unheard:
        of = "partition" if partitions == 1 else f"{whole(partitions)} partitions"
        return f"By their leaders' word all copies of the {'other ' if others else ''}{of} are in sync."
    if others:
        return "The other one is safe." if partitions == 1 else f"The other {whole(partitions)} are safe."
    return "The one partition is safe." if partitions == 1 else f"All {whole(partitions)} partitions are safe."


def _cluster_parts(
    counts: Mapping[str, Any], dead: Sequence[int], worst: Mapping[str, Any] | None, silent: Sequence[Mapping[str, Any]]
) -> list[Part]:
    effects, level = _effects(counts)
    unknown = max(counts.get("unknown") or 0, sum(one["leads"] for one in silent)) + (counts.get("starting") or 0)
    known = max(_kept(counts) - unknown, 0)
    others, unheard = bool(unknown), any(one["hosts"] for one in silent)
    if dead:
        who = brokers(dead)
        cause = f"{who[0].upper()}{who[1:]} {'is' if len(dead) == 1 else 'are'} down"
        kept = f"{'the other' if others else 'all'} {whole(known)} partitions have all the copies they want"
        what = "; ".join(effects) if effects else "" if others and not known else f": {kept}"
        said: list[Part] = [(level if effects else "warn", f"{cause}{': ' if effects else ''}{what}.", "brokers")]
        offline = worst is not None and worst.get("state") == OFFLINE
        return [*said, (level, worst["sentence"], f"topic/{worst['topic']}")] if worst and offline else said
    if effects:
        first = "; ".join(effects)
        why = f" {worst['sentence']}" if worst else ""
        return [(level, f"{first[0].upper()}{first[1:]}.{why}", f"topic/{worst['topic']}" if worst else "topics")]
    return [] if others and not known else [("ok", _all_safe(known, others=others, unheard=unheard), "topics")]


def _kept(counts: Mapping[str, Any]) -> int:
    """Partitions of topics that are not being deleted."""
    return (counts.get("partitions") or 0) - (counts.get("deleting") or 0)


def _effects(counts: Mapping[str, Any]) -> tuple[list[str], str]:
    """What is wrong with partitions, the worst first, and how bad that is; each partition is counted once."""
    offline, below = counts.get("offline") or 0, counts.get("under_min_isr") or 0
    under = (counts.get("under_replicated") or 0) - (below - (counts.get("under_min_isr_moving") or 0))
    said = []
    if offline:
        said.append(f"{counted(offline, 'partition')} {_have(offline)} no leader, so no reads and no writes")
    if below:
        said.append(f"{counted(below, 'partition')} refuse{'s' if below == 1 else ''} acks=all writes")
    if under > 0:
        said.append(f"{counted(under, 'partition')} {_have(under)} fewer copies than wanted")
        if not offline and not below:
            said.append("all accept reads and writes" if under > 1 else "it accepts reads and writes")
    return said, "bad" if offline or below else "warn"


def _have(count: int) -> str:
    return "has" if count == 1 else "have"


def _group_parts(groups: Sequence[Mapping[str, Any]]) -> list[Part]:
    bad = [g for g in groups if g.get("attention") == "warn"]
    slow = [g for g in groups if g.get("attention") == "notice"]
    parts: list[Part] = []
    for level, members in (("warn", bad), ("notice", slow)):
        for group in sorted(members, key=lambda g: -(g.get("lag_s") or 0))[:GROUPS_NAMED]:
            said = group_sentence(group["group"], group["lag"], behind_of(group), group["trend"], group.get("eta_s"))
            parts.append((level, said, f"group/{group['group']}"))
        if more := len(members[GROUPS_NAMED:]):
            parts.append((level, "1 more group is behind." if more == 1 else f"{whole(more)} more groups are behind.", "groups"))
    return parts


def _folder_parts(folders: Sequence[LogDir]) -> list[Part]:
    found = sorted((folder for folder in folders if folder.level != "ok"), key=lambda folder: -LEVELS.index(folder.level))
    parts: list[Part] = [(folder.level, folder.sentence, "brokers") for folder in found[:FOLDERS_NAMED]]
    if more := found[FOLDERS_NAMED:]:
        parts.append((more[0].level, f"So it is with {counted(len(more), 'more data folder')}.", "brokers"))
    return parts


def _deletion_parts(deletions: Sequence[Mapping[str, Any]]) -> list[Part]:
    def level(deletion: Mapping[str, Any]) -> str:
        return "notice" if deletion["waits_for"] or deletion["moving"] else "ok"

    waiting_first = sorted(deletions, key=lambda d: (level(d) == "ok", d["topic"]))
    parts: list[Part] = [(level(d), f"Topic {d['sentence']}", f"topic/{d['topic']}") for d in waiting_first[:TOPICS_NAMED]]
    if rest := waiting_first[TOPICS_NAMED:]:
        more = f"{whole(len(rest))} more {'topic is' if len(rest) == 1 else 'topics are'} being deleted."
        parts.append((level(rest[0]), more, "topics"))
    return parts


def _balance_parts(counts: Mapping[str, Any]) -> list[Part]:
    away = counts.get("not_preferred") or 0
    if not away:
        return []
    led = f"{counted(away, 'partition')} {'is' if away == 1 else 'are'}"
    return [("notice", f"{led} not led by the preferred broker.", "brokers")]
