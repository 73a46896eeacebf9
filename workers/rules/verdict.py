"""The sentence a page opens with: the worst thing first, then groups that fall behind.

Rules, in this order; each that applies gives one part, and the level is the worst of them:
1. Nothing is known: the level is `unknown`.
2. Offline partitions: bad.                     3. Partitions under min ISR: bad.
4. Brokers that are down: warn.                 5. Under-replicated partitions: warn.
6. Groups that stall or fall behind: warn; other lag of 10 s or more: notice.
7. Leaders away from their preferred broker: notice.
8. None of 2, 3 and 5: "All n partitions are safe.", always said.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from workers.rules.lag import group_sentence
from workers.rules.partitions import brokers

LEVELS = ("ok", "notice", "warn", "bad", "unknown")
LAG_NOTICE_S = 10.0
GROUPS_NAMED = 2
Part = tuple[str, str, str | None]
"""(level, sentence, what it is about: a path such as `topic/orders`, `brokers`, `group/billing`, or None)."""


def verdict(
    counts: Mapping[str, Any], dead: Sequence[int], groups: Sequence[Mapping[str, Any]], worst: Mapping[str, Any] | None
) -> dict[str, Any]:
    """`counts` are the cluster's; `worst` names one troubled partition {topic, sentence}; groups are those with lag."""
    if not counts.get("brokers_online") and not dead:
        return {"level": "unknown", "text": "No broker has been heard of yet.", "parts": []}
    parts = [*_data_parts(counts, worst), *_broker_parts(dead), *_group_parts(groups), *_balance_parts(counts)]
    if not any(about == "data" for about in (kind for kind, _ in parts)):
        parts.insert(0, ("safe", ("ok", _all_safe(counts.get("partitions") or 0), "topics")))
    shown = [part for _, part in parts]
    level = max((part[0] for part in shown), key=LEVELS.index)
    return {
        "level": level,
        "text": " ".join(part[1] for part in shown),
        "parts": [{"level": part[0], "text": part[1], "about": part[2]} for part in shown],
    }


def _all_safe(partitions: int) -> str:
    if partitions == 0:
        return "There are no topics yet."
    return "The one partition is safe." if partitions == 1 else f"All {partitions} partitions are safe."


def _data_parts(counts: Mapping[str, Any], worst: Mapping[str, Any] | None) -> list[tuple[str, Part]]:
    parts: list[tuple[str, Part]] = []
    about = f"topic/{worst['topic']}" if worst else "topics"
    why = f" {worst['sentence']}" if worst else ""
    if offline := counts.get("offline"):
        parts.append(("data", ("bad", f"{_partitions(offline)} without a leader: no reads, no writes.{why}", about)))
        why = ""
    if below := counts.get("under_min_isr"):
        parts.append(("data", ("bad", f"{_partitions(below)} refuse acks=all writes.{why}", about)))
        why = ""
    if (under := (counts.get("under_replicated") or 0) - (below or 0)) > 0:
        parts.append(("data", ("warn", f"{_partitions(under)} under-replicated.{why}", about)))
    return parts


def _partitions(count: int) -> str:
    return "1 partition" if count == 1 else f"{count} partitions"


def _broker_parts(dead: Sequence[int]) -> list[tuple[str, Part]]:
    if not dead:
        return []
    who = brokers(dead)
    return [("broker", ("warn", f"{who[0].upper()}{who[1:]} {'is' if len(dead) == 1 else 'are'} down.", "brokers"))]


def _group_parts(groups: Sequence[Mapping[str, Any]]) -> list[tuple[str, Part]]:
    bad = [g for g in groups if g["trend"] in ("falling_behind", "stalled") and (g.get("lag_s") or 0) >= LAG_NOTICE_S]
    slow = [g for g in groups if g not in bad and (g.get("lag_s") or 0) >= LAG_NOTICE_S]
    parts: list[tuple[str, Part]] = []
    for level, members in (("warn", bad), ("notice", slow)):
        for group in sorted(members, key=lambda g: -(g.get("lag_s") or 0))[:GROUPS_NAMED]:
            said = group_sentence(group["group"], group["lag"], group["lag_s"], group["trend"], group.get("eta_s"))
            parts.append(("group", (level, said, f"group/{group['group']}")))
        if len(members) > GROUPS_NAMED:
            parts.append(("group", (level, f"{len(members) - GROUPS_NAMED} more groups are behind.", "groups")))
    return parts


def _balance_parts(counts: Mapping[str, Any]) -> list[tuple[str, Part]]:
    away = counts.get("not_preferred") or 0
    if not away:
        return []
    led = "1 partition is" if away == 1 else f"{away} partitions are"
    return [("balance", ("notice", f"{led} not led by the preferred broker.", "brokers"))]
