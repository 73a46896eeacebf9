"""The console's own settings: what each is, and what it may be. Pure.

Those that are read when they are used can be set on a page; the others are read from the environment when their process starts.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from console.rules.settings.model import Setting
from console.rules.settings.units import in_words, unit_of
from console.rules.words import whole

NAME = "console"
REPLICAS_WARN, ANALYTICS_MINUTES, RECORDS_RATE = "replicas.warn", "analytics.minutes", "records.bytes.per.second"
ANALYTICS_MODE = "analytics.mode"
INTERVAL, CONTINUOUS = "interval", "continuous"


class Known(Struct, frozen=True):
    """`least` and `most` are of a number that can be set while the console runs, `choices` of a word; neither: read at a start only."""

    doc: str
    variable: str
    default: str
    least: int | None = None
    most: int = 0
    choices: tuple[str, ...] = ()

    @property
    def at_start_only(self) -> bool:
        return self.least is None and not self.choices


KNOWN: dict[str, Known] = {
    REPLICAS_WARN: Known(
        "A change that would give a broker more replicas wants a confirmation; 0: never.", "HIGHWATER_REPLICAS_WARN", "4000", 0, 1_000_000
    ),
    ANALYTICS_MINUTES: Known(
        "How often Spark looks at new samples; 0: only when asked to.", "HIGHWATER_ANALYTICS_MINUTES", "15", 0, 7 * 24 * 60
    ),
    ANALYTICS_MODE: Known(
        "interval: a Spark driver is started when analytics.minutes have passed or somebody asks; continuous: one stays, takes samples as "
        "they come and answers again and again, for about 1 GB of memory and a fifth of a core.",
        "HIGHWATER_ANALYTICS_MODE",
        INTERVAL,
        choices=(INTERVAL, CONTINUOUS),
    ),
    RECORDS_RATE: Known(
        "How fast one search reads records; those that run go on as they began.",
        "HIGHWATER_RECORDS_MB_PER_S",
        "200000000",
        1_000_000,
        1_000_000_000_000,
    ),
    "records.at.once": Known("Searches of records that are read at a time.", "HIGHWATER_RECORDS_AT_ONCE", "4"),
    "history.hours": Known("How long the live state is kept.", "HIGHWATER_HISTORY_HOURS", "24"),
    "history.max.bytes": Known("Of disk for the past of each cluster.", "HIGHWATER_HISTORY_MB", "500000000"),
    "ask.seconds": Known("How often registered clusters are asked; the rest in proportion.", "HIGHWATER_ASK_SECONDS", "5"),
    "report.hour": Known(
        "When the daily health report of a new cluster comes, in UTC, or never; then its schedule says.", "HIGHWATER_REPORT_HOUR", "6"
    ),
}


def settings_of(started: Mapping[str, str], kept: Mapping[str, str]) -> list[Setting]:
    """By name; `started` is what the processes began with, `kept` what was set on the page since."""
    return [_setting(name, known, started[name], kept.get(name)) for name, known in KNOWN.items()]


def _setting(name: str, known: Known, started: str, own: str | None) -> Setting:
    value, kind = started if own is None else own, "string" if name == "report.hour" or known.choices else "long"
    return Setting(
        name=name,
        value=value,
        set_for="",
        own=own,
        otherwise=started,
        otherwise_for="",
        default=known.default,
        read_only=known.at_start_only,
        sensitive=False,
        doc=f"{known.doc} ({known.variable})",
        type=kind,
        choices=list(known.choices),
        group="others",
        told=in_words(name, kind, value),
    )


def wrong_with(name: str, value: str) -> str:
    """Why it cannot be so; empty where it can."""
    known = KNOWN.get(name)
    if known is None:
        return f"There is no setting {name[:100]!r}."
    if known.choices:
        return "" if value in known.choices else f"Give one of {', '.join(known.choices)}."
    if known.least is None:
        return f"It is read from {known.variable} at a start only."
    if value.isascii() and value.isdigit() and len(value) < 16 and known.least <= int(value) <= known.most:
        return ""
    return f"Give a whole number from {whole(known.least)} to {whole(known.most)} {unit_of(name)}".strip() + "."
