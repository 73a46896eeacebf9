"""The rows of the settings' form: what each field has, in which group it stands, whether a search finds it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby

from msgspec import Struct

from console.rules.settings.groups import GROUPS, OTHERS, place_of
from console.rules.settings.model import Setting
from console.rules.settings.units import in_words, told

TITLES = {group.name: group.title for group in (*GROUPS, OTHERS)}
LISTS: dict[tuple[str, ...], tuple[str, ...]] = {("delete", "compact"): ("delete", "compact", "compact,delete")}
"""Lists that are chosen as a whole."""


class Row(Struct):
    """A setting as the form shows it: `value` what its field has, `was` what it is, as Kafka has it."""

    setting: Setting
    value: str
    was: str
    choices: Sequence[str]
    is_editable: bool
    is_reset: bool
    otherwise: str
    default: str
    error: str = ""


class Typed(Struct):
    """What was sent with the form."""

    values: Mapping[str, str] = {}
    was: Mapping[str, str] = {}
    unset: frozenset[str] = frozenset()


def row_of(setting: Setting, typed: Typed, errors: Mapping[str, str], may: bool) -> Row:
    name, kind = setting.name, setting.type
    raw = setting.value or ""
    value = typed.values.get(name, told(name, kind, raw).exact or raw)
    choices = LISTS.get(tuple(setting.choices), tuple(setting.choices) if kind != "list" else ())
    return Row(
        setting=setting,
        value=value,
        was=raw,
        choices=choices if not choices or value in choices else (value, *choices),
        is_editable=may and not setting.read_only and not setting.sensitive,
        is_reset=name in typed.unset,
        otherwise=in_words(name, kind, setting.otherwise),
        default=in_words(name, kind, setting.default),
        error=errors.get(name, ""),
    )


def grouped(rows: Sequence[Row]) -> list[tuple[str, str, list[Row]]]:
    """Name, title and rows: what was refused comes first, then what is set here."""
    wrong, own = [row for row in rows if row.error], [row for row in rows if row.setting.is_own and not row.error]
    rest = sorted(
        (row for row in rows if not row.setting.is_own and not row.error), key=lambda row: (place_of(row.setting.group), row.setting.name)
    )
    first = [("wrong", "Not right yet", wrong), ("own", "Set here", own)]
    groups = [(name, TITLES[name], list(some)) for name, some in groupby(rest, lambda row: row.setting.group)]
    return [group for group in first if group[2]] + groups


def fits(setting: Setting, text: str) -> bool:
    return all(word in f"{setting.name} {setting.doc} {TITLES[setting.group]}".lower() for word in text.lower().split())
