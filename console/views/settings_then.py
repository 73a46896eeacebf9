"""What was set for a topic or a broker at a moment of the past, as pages show it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from console.gateway.topic_keys import known
from console.rules.settings.model import HIDDEN, SetFor
from console.rules.settings.units import in_words

NOT_KEPT = "What was set then is not kept."


class ThenSetting(NamedTuple):
    name: str
    told: str
    doc: str
    set_for: SetFor
    sensitive: bool


def settings_then(own: Mapping[str, str] | None, set_for: SetFor) -> tuple[Sequence[ThenSetting], str]:
    """By name; or why there are none."""
    if own is None:
        return [], NOT_KEPT
    return [_one(name, value, set_for) for name, value in own.items()], ""


def _one(name: str, value: str, set_for: SetFor) -> ThenSetting:
    about = known(name)
    kind = "long" if about["type"] == "string" else about["type"]
    return ThenSetting(name, in_words(name, kind, value) or "empty", about["doc"], set_for, value == HIDDEN)
