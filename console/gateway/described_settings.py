"""DescribeConfigs' answers as settings: what is in force, what is set here, and what would be in force otherwise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from broker_core.config import BROKER_KEYS, TOPIC_KEYS
from console.rules.settings.groups import group_of
from console.rules.settings.model import Owner, SetFor, Setting
from console.rules.settings.units import in_words

SET_FOR: dict[str, SetFor] = {
    "DYNAMIC_TOPIC_CONFIG": "topic",
    "DYNAMIC_BROKER_CONFIG": "this broker",
    "DYNAMIC_DEFAULT_BROKER_CONFIG": "all brokers",
    "STATIC_BROKER_CONFIG": "in its file",
}
_BELOW: dict[str, tuple[SetFor, ...]] = {
    "topic": ("topic",),
    "broker": ("this broker",),
    "brokers": ("this broker", "all brokers"),
}
"""What an owner's default is not made of."""
_UNITS_MS = {".hours": 3_600_000, ".minutes": 60_000}


def settings_of(entries: Mapping[str, Any], owner: Owner, defaults: Mapping[str, str | None]) -> list[Setting]:
    """By name. Of all brokers `entries` are one broker's, and `defaults` what is set for all of them."""
    return [_setting(name, entry, owner, defaults) for name, entry in sorted(entries.items())]


def _setting(name: str, entry: Mapping[str, Any], owner: Owner, defaults: Mapping[str, str | None]) -> Setting:
    places = [(SET_FOR.get(str(one.get("source")), ""), one.get("value")) for one in entry.get("synonyms") or ()]
    value, set_for = entry.get("value"), SET_FOR.get(str(entry.get("config_source")), "")
    otherwise_for: SetFor
    otherwise_for, otherwise = next(
        ((where, text) for where, text in places if where not in _BELOW[owner.kind]), ("", None if places else _known_default(name, owner))
    )
    own = value if set_for == owner.set_for else None
    if owner.kind == "brokers":
        own = defaults.get(name)
        value, set_for = (own, "all brokers") if own is not None else (otherwise, otherwise_for)
    elif own is None:
        otherwise, otherwise_for = value, set_for
    kind, choices = _kind(name, entry, owner)
    return Setting(
        name=name,
        value=value,
        set_for=set_for,
        own=own,
        otherwise=otherwise,
        otherwise_for=otherwise_for,
        default=next((text for where, text in places if where == ""), _known_default(name, owner)),
        read_only=bool(entry.get("read_only")),
        sensitive=bool(entry.get("is_sensitive")),
        doc=_doc(name, entry, owner),
        type=kind,
        choices=choices,
        group=group_of(name).name,
        told="hidden" if entry.get("is_sensitive") else in_words(name, kind, value),
    )


def fill_inherited(settings: Sequence[Setting], broker: Mapping[str, str | None]) -> list[Setting]:
    """Of a topic's own settings for which its brokers tell no other place (retention is theirs in hours, too): what `broker`, all settings
    of one, gives topics without their own."""
    return [_filled(one, broker) if one.is_own and one.otherwise is None else one for one in settings]


def _filled(setting: Setting, broker: Mapping[str, str | None]) -> Setting:
    key = TOPIC_KEYS.get(setting.name)
    names = key.synonyms if key is not None else ()
    found = next(((name, text) for name in names if (text := broker.get(name)) is not None), None)
    if found is None:
        return setting
    name, text = found
    factor = next((factor for ending, factor in _UNITS_MS.items() if name.endswith(ending)), 1)
    value = str(int(text) * factor) if factor > 1 and text.isascii() and text.isdigit() else text
    return replace(setting, otherwise=value)


def _keys(owner: Owner) -> Mapping[str, Any]:
    return TOPIC_KEYS if owner.kind == "topic" else BROKER_KEYS


def _known_default(name: str, owner: Owner) -> str | None:
    key = _keys(owner).get(name)
    return None if key is None else key.show(key.default)


def _kind(name: str, entry: Mapping[str, Any], owner: Owner) -> tuple[str, list[str]]:
    """Type and choices; brokers tell no choices."""
    key = _keys(owner).get(name)
    told = str(entry.get("config_type") or "").lower()
    kind = key.type.name.lower() if key is not None else "" if told == "unknown" else told
    return kind, list(key.choices) if key is not None else ["true", "false"] if kind == "boolean" else []


def _doc(name: str, entry: Mapping[str, Any], owner: Owner) -> str:
    key = _keys(owner).get(name)
    return str(entry.get("documentation") or "") or ("" if key is None else key.doc)
