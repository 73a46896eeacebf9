"""States: the word, the level that colours it, and the shape that goes with a level, in pages and for their scripts."""

from __future__ import annotations

from typing import Any

from django import template
from django.utils.html import json_script
from django.utils.safestring import SafeString

from broker_core.contract.live import Kind
from console.rules.states import SIGNS, STATES, SURE
from console.rules.transactions.words import KINDS
from console.snapshot.freshness import STALE_MS
from console.templatetags.figures import shown

register = template.Library()


@register.filter
def level(value: Any) -> str:
    """The level of a state's word: ok, notice, warn, bad, paused, off."""
    found = STATES.get(str(value))
    return found.level if found else "off"


@register.filter
def words(value: Any) -> str:
    """How a state is called on the page."""
    found = STATES.get(str(value))
    return found.words if found else shown(value)


QUESTIONS: dict[Kind, str] = {
    "metadata": "Brokers, leaders, ISRs, moves",
    "offsets": "Ends of logs",
    "groups": "Groups and their offsets",
    "log_dirs": "Sizes and disks",
    "configs": "Settings of topics",
}


@register.filter
def asked_words(value: Kind) -> str:
    """What a cluster without a state feed is asked."""
    return QUESTIONS[value]


@register.filter
def sign(value: Any) -> str:
    """The shape that goes with a level."""
    return SIGNS.get(str(value), SIGNS["unknown"])


@register.filter
def kind_level(value: str) -> str:
    """Of what a producer's open transaction is found to be (`KINDS`)."""
    return KINDS[value][0]  # type: ignore[index]


@register.filter
def kind_words(value: str) -> str:
    return KINDS[value][1]  # type: ignore[index]


@register.simple_tag
def vocabulary() -> SafeString:
    """The same for the page's scripts (`static/js/format.js`)."""
    return json_script({"states": STATES, "signs": SIGNS, "sure": SURE, "stale_ms": STALE_MS}, "vocabulary")
