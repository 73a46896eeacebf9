"""The console's own settings that can be set while it runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from django.conf import settings
from django.db import transaction
from django.utils import timezone
from msgspec import Struct

from console.actions.audit import audited
from console.errors import Invalid, Outdated
from console.models import ConsoleSetting
from console.roles import ADMIN, Actor
from console.rules.settings.changes import Change, rows_of
from console.rules.settings.model import Setting, etag
from console.rules.settings.of_console import (
    ANALYTICS_MINUTES,
    ANALYTICS_MODE,
    NAME,
    RECORDS_RATE,
    REPLICAS_WARN,
    settings_of,
    wrong_with,
)

MB = 1_000_000


class OwnPreview(Struct):
    """What a save would change; `seen` stands for what is set now."""

    changes: list[Change]
    seen: str
    risks: Sequence[str] = ()
    effects: Sequence[str] = ()
    loses: bool = False


def own_settings() -> list[Setting]:
    return settings_of(_started(), dict(ConsoleSetting.objects.values_list("name", "value")))


def _started() -> dict[str, str]:
    """What this process began with."""
    hour = settings.REPORT_HOUR
    return {
        REPLICAS_WARN: str(settings.REPLICAS_WARN),
        ANALYTICS_MINUTES: str(max(int(settings.ANALYTICS_EVERY.total_seconds() // 60), 0)),
        ANALYTICS_MODE: settings.ANALYTICS_MODE,
        RECORDS_RATE: str(settings.RECORDS_BYTES_PER_S),
        "records.at.once": str(settings.RECORDS_AT_ONCE),
        "history.hours": str(settings.HISTORY_HOURS),
        "history.max.bytes": str(settings.HISTORY_MB * MB),
        "ask.seconds": str(settings.ASK_EVERY_S),
        "report.hour": "never" if hour is None else str(hour),
    }


def preview_own_settings(changes: Mapping[str, str | None]) -> OwnPreview:
    """`Invalid` names the first that cannot be so."""
    _check(changes)
    known = own_settings()
    return OwnPreview(rows_of(known, changes), etag(known))


def wrong_values(changes: Mapping[str, str | None]) -> dict[str, str]:
    """By setting, what cannot be so; one that is taken away (None) is only looked for."""
    found = {name: wrong_with(name, value if value is not None else "1000000") for name, value in changes.items()}
    return {name: words for name, words in found.items() if words and (changes[name] is not None or "no setting" in words)}


def _check(changes: Mapping[str, str | None]) -> None:
    for name, words in wrong_values(changes).items():
        raise Invalid(f"configs.{name}", words)


def change_own_settings(actor: Actor, changes: Mapping[str, str | None], *, seen: str = "") -> None:
    """None takes a value away: what the console started with holds again. `Outdated` where something else is set than was seen."""
    with audited(actor, ADMIN, "change console settings", NAME, cluster=None, after=dict(changes)) as entry, transaction.atomic():
        _check(changes)
        if not changes:
            raise Invalid("", "Nothing differs from what is set: change something first.")
        known = own_settings()
        if seen and seen != etag(known):
            raise Outdated("Somebody changed these settings meanwhile: nothing was saved.")
        entry.before = {one.name: one.value for one in known if one.name in changes}
        for name, value in changes.items():
            if value is None:
                ConsoleSetting.objects.filter(pk=name).delete()
            else:
                said = {"value": value, "set_by": actor.name[:150], "set_at": timezone.now()}
                ConsoleSetting.objects.update_or_create(pk=name, defaults=said)
