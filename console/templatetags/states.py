"""States: the word, the level that colours it, and the shape that goes with a level (`static/js/format.js` has the same table)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import template

from console.rules.partitions import worst_state
from console.templatetags.figures import shown

register = template.Library()

STATES = {
    "safe": ("ok", "safe"),
    "under_replicated": ("warn", "under-replicated"),
    "under_min_isr": ("bad", "under min ISR"),
    "offline": ("bad", "offline"),
    "deleting": ("notice", "being deleted"),
    "online": ("ok", "online"),
    "running": ("ok", "running"),
    "starting": ("notice", "starting"),
    "paused": ("paused", "paused"),
    "stopped": ("off", "stopped"),
    "folder_serves": ("ok", "serves"),
    "folder_filling": ("warn", "filling up"),
    "folder_low": ("warn", "nearly full"),
    "folder_offline": ("bad", "offline"),
    "Stable": ("ok", "Stable"),
    "Empty": ("off", "Empty"),
    "PreparingRebalance": ("notice", "PreparingRebalance"),
    "CompletingRebalance": ("notice", "CompletingRebalance"),
    "Dead": ("bad", "Dead"),
    "caught_up": ("ok", "caught up"),
    "catching_up": ("notice", "catching up"),
    "steady": ("notice", "steady"),
    "falling_behind": ("warn", "falling behind"),
    "stalled": ("bad", "stalled"),
    "in_rhythm": ("ok", "in its rhythm"),
    "waiting": ("off", "waiting"),
    "moving": ("notice", "moving"),
    "done": ("ok", "done"),
    "queued": ("off", "queued"),
    "cancelling": ("notice", "cancelling"),
    "succeeded": ("ok", "succeeded"),
    "failed": ("bad", "failed"),
    "cancelled": ("off", "cancelled"),
    "ok": ("ok", "ok"),
    "notice": ("notice", "notice"),
    "warn": ("warn", "warning"),
    "bad": ("bad", "bad"),
    "stall": ("bad", "stalled"),
    "stop": ("bad", "stopped"),
    "rewind": ("warn", "rewound"),
    "between": ("ok", "between batches"),
    "unknown": ("off", "unknown"),
}
SIGNS = {"ok": "●", "notice": "◆", "warn": "▲", "bad": "■"}


@register.filter
def level(value: Any) -> str:
    """The level of a state's word: ok, notice, warn, bad, paused, off."""
    return STATES.get(str(value), ("off", ""))[0]


@register.filter
def words(value: Any) -> str:
    """How a state is called on the page."""
    return STATES.get(str(value), ("off", shown(value)))[1]


@register.filter
def worst(topic: Mapping[str, Any]) -> str:
    """The state of a topic's worst partition."""
    return worst_state(topic)


@register.filter
def sign(value: Any) -> str:
    """The shape that goes with a level."""
    return SIGNS.get(str(value), "○")
