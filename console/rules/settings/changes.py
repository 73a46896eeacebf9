"""From what was typed into the form to what would change, and what that means. Pure.

1. A field that says what it said when the page was made is no change, whatever the setting is by now.
2. An emptied field, and one marked to be reset, takes away what is set here.
3. What is the same to Kafka (letters' case of true and false, leading zeros, blanks) is no change.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Annotated

from msgspec import Meta, Struct

from console.rules.risks import MIN_ISR, UNCLEAN, config_risks, setting_risks
from console.rules.settings.model import Owner, Setting
from console.rules.settings.units import WrongUnit, in_words, read

ALL_TOPICS = "all topics without a setting of their own"
NEW_ONES = "Holds for what is written from now on; what is stored stays as it is."
_NOTES: dict[str, str] = {
    "compression.type": NEW_ONES,
    "message.timestamp.type": NEW_ONES,
    "segment.bytes": "The present segment is closed at the new size; closed ones stay as they are.",
    "segment.ms": "The present segment is closed at the new age; closed ones stay as they are.",
    "retention.ms": "Whole segments go, at the next look of each broker.",
    "retention.bytes": "Per partition, not for the topic as a whole. Whole segments go, at the next look of each broker.",
    "max.message.bytes": "Producers that send larger batches are refused; what is stored can still be read.",
    "min.insync.replicas": "Writes with acks=all are refused while fewer replicas are in sync.",
}


class Change(Struct, frozen=True):
    """Of one setting; None: nothing is set there, or secret."""

    label: str
    before: str | None
    after: str | None
    told_before: Annotated[str, Meta(description="in units")]
    told_after: Annotated[str, Meta(description="in units; of what is taken away: what is in force then")]
    reset: Annotated[bool, Meta(description="what is set here is taken away")]
    note: str


def same(one: str, other: str) -> bool:
    """Whether Kafka takes both for the same value."""
    return canonical(one) == canonical(other)


def canonical(text: str) -> str:
    """One text for all that mean the same value."""
    text = ",".join(part.strip() for part in text.split(","))
    if text.lower() in ("true", "false"):
        return text.lower()
    digits = text.removeprefix("-")
    return str(int(text)) if digits.isascii() and digits.isdigit() and len(digits) < 20 else text


def typed_changes(
    settings: Iterable[Setting], values: Mapping[str, str], was: Mapping[str, str], unset: Collection[str]
) -> tuple[dict[str, str | None], dict[str, str]]:
    """What is asked for (None: take away), and what is wrong with a field, by setting. `was` is what the page showed, as Kafka has it."""
    changes: dict[str, str | None] = {}
    wrong: dict[str, str] = {}
    for setting in settings:
        name = setting.name
        try:
            value = read(name, setting.type, values[name]) if name in values else None
        except WrongUnit as error:
            wrong[name] = str(error)
            continue
        shown = was.get(name, setting.value or "")
        if name in unset or (value == "" and shown != ""):
            if setting.is_own:
                changes[name] = None
            elif name not in unset:
                wrong[name] = "Nothing is set here that could be taken away: give a value, or leave what was there."
        elif value is not None and not same(value, shown):
            changes[name] = value
    return changes, wrong


def rows_of(settings: Sequence[Setting], changes: Mapping[str, str | None]) -> list[Change]:
    """In the order of the changes; of a setting that nobody knows what is asked for alone."""
    known = {one.name: one for one in settings}
    return [_row(name, known.get(name), value) for name, value in changes.items()]


def _row(name: str, setting: Setting | None, value: str | None) -> Change:
    kind = setting.type if setting else ""
    before = setting.value if setting else None
    if setting and setting.sensitive:
        return Change(name, None, None, "hidden", "taken away" if value is None else "hidden", value is None, "")
    then = value if value is not None or setting is None else setting.otherwise
    note = _NOTES.get(name.removeprefix("log."), "") if name != "log.flush.interval.ms" else ""
    return Change(name, before, value, in_words(name, kind, before), in_words(name, kind, then), value is None, note)


def risks_of(owner: Owner, settings: Sequence[Setting], changes: Mapping[str, str | None], copies: int | None) -> tuple[list[str], bool]:
    """What the changes put at risk, and whether records can be lost by them."""
    known = {one.name: one for one in settings}
    then = {name: value if value is not None or name not in known else known[name].otherwise for name, value in changes.items()}
    now = {name: known[name].value for name in changes if name in known}
    if owner.kind != "topic":
        then, now = _of_topics(then), _of_topics(now)
    name = owner.name if owner.kind == "topic" else ALL_TOPICS
    losses = config_risks(name, then, now)
    is_unclean_new = UNCLEAN in then and canonical(then[UNCLEAN] or "") == "true"
    return [*losses, *setting_risks(name, {key: then[key] for key in (UNCLEAN, MIN_ISR) if key in then}, copies)], bool(
        losses or is_unclean_new
    )


def _of_topics(values: Mapping[str, str | None]) -> dict[str, str | None]:
    """Brokers call the topics' defaults by other names."""
    return {name.removeprefix("log."): value for name, value in values.items()}


def moved_meanwhile(settings: Iterable[Setting], was: Mapping[str, str]) -> list[str]:
    """What was changed since the page was made, in sentences."""
    return [
        f"{one.name} was {in_words(one.name, one.type, was[one.name])} when this was opened; it is {one.told} now."
        for one in settings
        if one.name in was and not one.sensitive and not same(was[one.name], one.value or "")
    ]
