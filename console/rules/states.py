"""How states are shown: the word, the level that colours it, and the shape that goes with a level. Pages and their scripts have it from
here."""

from __future__ import annotations

from typing import Literal, NamedTuple

from broker_core.contract.groups import LagBasis
from console.rules.words import THIN


class Shown(NamedTuple):
    level: Literal["ok", "notice", "warn", "bad", "paused", "off"]
    words: str


STATES: dict[str, Shown] = {
    "safe": Shown("ok", "safe"),
    "under_replicated": Shown("warn", "under-replicated"),
    "under_min_isr": Shown("bad", "under min ISR"),
    "offline": Shown("bad", "offline"),
    "deleting": Shown("notice", "being deleted"),
    "online": Shown("ok", "online"),
    "running": Shown("ok", "running"),
    "starting": Shown("notice", "starting"),
    "paused": Shown("paused", "paused"),
    "stopped": Shown("off", "stopped"),
    "folder_serves": Shown("ok", "serves"),
    "folder_filling": Shown("warn", "filling up"),
    "folder_low": Shown("warn", "nearly full"),
    "folder_offline": Shown("bad", "offline"),
    "Stable": Shown("ok", "Stable"),
    "Empty": Shown("off", "Empty"),
    "PreparingRebalance": Shown("notice", "PreparingRebalance"),
    "CompletingRebalance": Shown("notice", "CompletingRebalance"),
    "Dead": Shown("bad", "Dead"),
    "caught_up": Shown("ok", "caught up"),
    "catching_up": Shown("notice", "catching up"),
    "steady": Shown("notice", "steady"),
    "falling_behind": Shown("warn", "falling behind"),
    "stalled": Shown("bad", "stalled"),
    "in_rhythm": Shown("ok", "in its rhythm"),
    "waiting": Shown("off", "waiting"),
    "moving": Shown("notice", "moving"),
    "done": Shown("ok", "done"),
    "queued": Shown("off", "queued"),
    "cancelling": Shown("notice", "cancelling"),
    "succeeded": Shown("ok", "succeeded"),
    "failed": Shown("bad", "failed"),
    "cancelled": Shown("off", "cancelled"),
    "nothing_to_do": Shown("ok", "nothing to do"),
    "skipped": Shown("notice", "skipped"),
    "missed": Shown("warn", "missed"),
    "refused": Shown("bad", "not begun"),
    "ok": Shown("ok", "ok"),
    "notice": Shown("notice", "notice"),
    "warn": Shown("warn", "warning"),
    "bad": Shown("bad", "bad"),
    "stall": Shown("bad", "stalled"),
    "stop": Shown("bad", "stopped"),
    "rewind": Shown("warn", "rewound"),
    "between": Shown("ok", "between batches"),
    "unknown": Shown("off", "unknown"),
    "Assigning": Shown("notice", "Assigning"),
    "Reconciling": Shown("notice", "Reconciling"),
    "unclean": Shown("bad", "led out of sync"),
    "refuses": Shown("warn", "refuses acks=all"),
    "moves": Shown("notice", "another leads"),
    "shrinks": Shown("ok", "one less in sync"),
    "unchanged": Shown("ok", "unchanged"),
    "right": Shown("ok", "as foretold"),
    "wrong": Shown("bad", "not as foretold"),
    "changed": Shown("off", "changed in between"),
    "live": Shown("ok", "fresh"),
    "stale": Shown("warn", "old"),
    "lost": Shown("bad", "not answered"),
}
CLUSTER_WORDS = {"ok": "safe", "notice": "safe, with a notice", "warn": "wants attention", "bad": "in danger", "unknown": "not known now"}
"""A whole cluster by the level of its verdict."""
SIGNS = {"ok": "●", "notice": "◆", "warn": "▲", "bad": "■", "unknown": "○"}
"""The shape that goes with a level."""
SURE: dict[LagBasis, str] = {"record": "", "estimate": "about ", "at_least": f"≥{THIN}"}
"""What stands before a lag in time, by what it rests on."""
