"""What was chosen in the form that moves a group's offsets: which partitions, and where to."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

from console.actions.groups import What
from console.actions.offset_texts import TEXT_CHARS_MAX, back_ms, read_csv, write_csv
from console.actions.offsets import AtTime, Lines, Shift, Where, parse_partitions
from console.clock import now_ms
from console.errors import Invalid
from console.rules.words import whole

HOWS = {
    "earliest": "the beginning of the log",
    "latest": "the end of the log",
    "offset": "an offset",
    "time": "a time",
    "back": "so long before now",
    "shift": "so many records on or back",
    "current": "where they are (end where nothing is committed)",
    "csv": "what a file says",
}
ZONE = re.compile(r"([+-])([01]\d|2[0-3]):([0-5]\d)")
SHIFT = re.compile(r"[+−-]?\d{1,18}")
TOPICS_MAX = 100


def asked_of(request: Any, group: str) -> tuple[What, Where]:
    """`how` says which field is looked at; without it `to` is taken as it is."""
    form, how = request.POST, request.POST.get("how", "")
    if how == "csv":
        return None, Lines(read_csv(_csv(request), group))
    what = _what(form)
    if how in ("earliest", "latest", "current"):
        return what, how
    if how == "time":
        return what, AtTime(_moment(form.get("time", "").strip(), form.get("zone", "").strip()))
    if how == "back":
        return what, AtTime(max(now_ms() - back_ms(form.get("back", "")), 0))
    if how == "shift":
        return what, Shift(_shift(form.get("shift", "").strip()))
    if how not in ("", "offset"):
        raise Invalid("how", "Say where the offsets are to go.")
    return what, form.get("to", "").strip()


def _what(form: Any) -> What:
    """No topic: all that the group has committed."""
    topics = list(dict.fromkeys(form.get("topic", "").replace(",", " ").split()))
    spans = parse_partitions(form.get("partition", ""))
    if not topics:
        if spans is not None:
            raise Invalid("topic", "Name the topic that the partitions are of.")
        return None
    if len(topics) > TOPICS_MAX:
        raise Invalid("topic", f"Name at most {TOPICS_MAX} topics, or none: that is all the group has committed.")
    if spans is not None and len(topics) > 1:
        raise Invalid("partition", "Partitions can be named of one topic only: leave them out for all, or give a file.")
    return [(topic, spans) for topic in topics]


def _csv(request: Any) -> str:
    """The file that was sent, or what was typed."""
    file = request.FILES.get("file")
    if file is None:
        return str(request.POST.get("csv", ""))
    raw = file.read(TEXT_CHARS_MAX + 1)
    if len(raw) > TEXT_CHARS_MAX:
        raise Invalid("csv", f"{file.name[:100]} has more than {whole(TEXT_CHARS_MAX)} bytes: split it.")
    try:
        return str(raw.decode())
    except UnicodeDecodeError:
        raise Invalid("csv", f"{file.name[:100]} is no text in UTF-8.") from None


def _moment(text: str, zone: str) -> int:
    """In ms since 1970; `zone` is how far the time is from UTC, as the browser says of that day; empty: UTC. A zone in the text itself is
    taken before that."""
    if not text:
        raise Invalid("time", "Give the time: offsets go to the first record that is not older.")
    try:
        found = datetime.fromisoformat(text)
        found = found if found.tzinfo else found.replace(tzinfo=_zone(zone))
        moment = round(found.timestamp() * 1000)
    except (ValueError, OverflowError):
        raise Invalid("time", f"{text[:60]!r} is no time: give it as 2026-01-31T12:00.") from None
    if moment < 0:
        raise Invalid("time", "Give a time after 1970.")
    return moment


def _zone(text: str) -> timezone:
    match = ZONE.fullmatch(text)
    if match is None:
        if text:
            raise Invalid("time", f"{text[:20]!r} is no time zone: give it as +01:00.")
        return UTC
    ahead = timedelta(hours=int(match[2]), minutes=int(match[3]))
    return timezone(-ahead if match[1] == "-" else ahead)


def _shift(text: str) -> int:
    if not SHIFT.fullmatch(text):
        raise Invalid("shift", f"{text[:40]!r} is no number of records: give one as 100, or −100 to go back." if text else "Give a number.")
    return int(text.replace("−", "-"))


def local_words(request: Any) -> str:
    """The time as it was typed, in the zone of who typed it; empty where that was UTC, or no time was asked for."""
    time, zone, name = (request.POST.get(field, "")[:60] for field in ("time", "zone", "zone_name"))
    if request.POST.get("how") != "time" or not zone:
        return ""
    return f"{time.replace('T', ' ')} in {name or 'local time'} ({zone})"


def sure_of(request: Any, to: Where, at: str | None) -> list[tuple[str, str]]:
    """The form's fields that do what was shown: a length of time has become a time, a file its rows."""
    form = request.POST
    fields = {name: form.get(name, "") for name in ("topic", "partition", "to", "how", "shift") if form.get(name)}
    if at is not None:
        fields |= {"how": "time", "time": at}
    if isinstance(to, Lines):
        fields |= {"how": "csv", "csv": write_csv((*place, offset) for place, offset in to.offsets.items())}
    return list(fields.items())
