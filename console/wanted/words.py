"""What the page of a wanted state opens with. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from broker_core.contract.sentences import Level
from console.rules.words import counted
from console.wanted.model import DriftState

STATES: dict[DriftState, tuple[Level, str]] = {
    "missing": ("warn", "not there"),
    "differs": ("warn", "differs"),
    "impossible": ("warn", "cannot be mended"),
    "unmanaged": ("notice", "wanted by nobody"),
}


def verdict(counts: Mapping[str, int], topics: int) -> tuple[Level, str]:
    """Of what was seen at the last look; `topics` are those that are wanted."""
    drifting = sum(counts.get(state, 0) for state in ("missing", "differs", "impossible"))
    others = counts.get("unmanaged", 0)
    said = f" Beside them {counted(others, 'object is', 'objects are')} there that no file wants." if others else ""
    if not drifting:
        return "ok", f"The cluster is as it is wanted: {counted(topics, 'topic')}.{said}"
    stuck = counts.get("impossible", 0)
    cannot = f", {stuck} of them in what cannot be mended" if stuck else ""
    return "warn", f"{counted(drifting, 'object differs', 'objects differ')} from what is wanted{cannot}.{said}"
