"""What a search asks for, as it stands in an address: every part has a limit, and nothing else says what is searched."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Literal, get_args

import msgspec
from msgspec import Struct, to_builtins

from console.rules.records.decoding import CHOICES
from console.rules.records.matching import compile_path, compile_pattern

Start = Literal["newest", "oldest", "offset", "time", "live"]
Where = Literal["any", "key", "value"]
Order = Literal["found", "time", "offset"]
Isolation = Literal["uncommitted", "committed"]
COUNT, COUNT_MAX = 50, 500
TEXT_CHARS_MAX = 1000
OFFSET_MAX = 2**63 - 1
Positions = dict[int, tuple[int, int]]


class WrongQuery(Exception):
    """A part that nothing can be searched with; `field` names it."""

    def __init__(self, field: str, detail: str) -> None:
        super().__init__(detail)
        self.field = field


class Query(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Defaults are left out of an address. `text` is looked for in `where`, as it is written, or as RE2's pattern with `regex`; `header`
    is `name` or `name=value`; `path` is a JSONPath (RFC 9535) into the value that must lead to something, with `equals` to that;
    `time` and `until` are ISO, UTC; `committed` as an isolation leaves aborted transactions out and ends where open ones begin; `origin`
    asks who wrote each record, and for control records too; `at` is a cursor that says from where another search goes on."""

    start: Start = "newest"
    offset: int | None = None
    time: str = ""
    until: str = ""
    partition: int | None = None
    count: int = COUNT
    text: str = ""
    regex: bool = False
    case: bool = True
    where: Where = "any"
    header: str = ""
    path: str = ""
    equals: str = ""
    key: str = "auto"
    value: str = "auto"
    order: Order = "found"
    isolation: Isolation = "uncommitted"
    origin: bool = False
    at: str = ""

    @property
    def is_filtered(self) -> bool:
        return bool(self.text or self.header or self.path or self.time or self.until)

    @property
    def since_ms(self) -> int | None:
        return milliseconds("time", self.time)

    @property
    def until_ms(self) -> int | None:
        return milliseconds("until", self.until)

    def address(self) -> dict[str, str]:
        """The parameters of an address that asks for the same."""
        plain: dict[str, Any] = to_builtins(self)
        return {name: ("1" if value is True else "0" if value is False else str(value)) for name, value in plain.items()}


NAMES = tuple(Query.__struct_fields__)
_CHOICES: dict[str, tuple[str, ...]] = {
    "start": get_args(Start),
    "where": get_args(Where),
    "order": get_args(Order),
    "isolation": get_args(Isolation),
    "key": tuple(CHOICES),
    "value": tuple(CHOICES),
}
_NUMBERS = {"offset": OFFSET_MAX, "partition": 2**31 - 1, "count": COUNT_MAX}


def read_query(given: Mapping[str, str]) -> Query:
    """From an address or a form; empty parts are as good as none. `WrongQuery` names the first that cannot be."""
    found: dict[str, Any] = {}
    for name in NAMES:
        text = given.get(name, "").strip() if name != "text" else given.get(name, "")
        if text:
            found[name] = _part(name, text)
    return check(Query(**found))


def _part(name: str, text: str) -> Any:
    if name in _NUMBERS:
        return _number(name, text, _NUMBERS[name])
    if name in ("regex", "case", "origin"):
        return _one_of(name, text, ("0", "1")) == "1"
    return text


def _number(name: str, text: str, most: int) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 19 or int(text) > most:
        raise WrongQuery(name, f"{name}={text[:60]!r} is not a whole number from 0 to {most}.")
    return int(text)


def _one_of(name: str, text: str, choices: tuple[str, ...]) -> str:
    if text not in choices:
        raise WrongQuery(name, f"{name}={text[:60]!r} is not one of {', '.join(choices)}.")
    return text


def check(query: Query) -> Query:
    """The query, once all of it can be meant."""
    for name, choices in _CHOICES.items():
        _one_of(name, getattr(query, name), choices)
    for name, most in _NUMBERS.items():
        number = getattr(query, name)
        if number is not None and not 0 <= number <= most:
            raise WrongQuery(name, f"{name} is {number}: give a whole number from 0 to {most}.")
    for name in ("text", "header", "path", "equals", "time", "until"):
        if len(getattr(query, name)) > TEXT_CHARS_MAX:
            raise WrongQuery(name, f"{name} has more than {TEXT_CHARS_MAX} characters.")
    if query.count == 0:
        raise WrongQuery("count", "Give at least 1 record to be found.")
    _check_together(query)
    return query


def _check_together(query: Query) -> None:
    if query.start == "offset" and query.offset is None:
        raise WrongQuery("offset", "Give the offset to start from.")
    if query.start == "time" and not query.time:
        raise WrongQuery("time", "Give the time to start from, as 2026-01-31T12:00 (UTC).")
    if query.equals and not query.path:
        raise WrongQuery("path", "Give the JSON path of what shall be equal.")
    since, until = query.since_ms, query.until_ms
    if since is not None and until is not None and until < since:
        raise WrongQuery("until", "The end of the time range lies before its beginning.")
    if query.regex and query.text:
        _tried("text", compile_pattern, query.text)
    if query.path:
        _tried("path", compile_path, query.path)
    read_positions(query.at)


def _tried(name: str, compiled: Any, text: str) -> None:
    try:
        compiled(text)
    except ValueError as error:
        raise WrongQuery(name, str(error)) from error


def milliseconds(name: str, text: str) -> int | None:
    """Since 1970; a time without a zone is UTC."""
    if not text:
        return None
    try:
        moment = datetime.fromisoformat(text)
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return round(moment.timestamp() * 1000)
    except (ValueError, OverflowError):
        raise WrongQuery(name, f"{text[:60]!r} is no time: give it as 2026-01-31T12:00 (UTC).") from None


def cursor_of(positions: Positions) -> str:
    """`{partition: (next, end)}` as a cursor: the ends stay as they were when the search began."""
    return base64.urlsafe_b64encode(msgspec.msgpack.encode(positions)).decode().rstrip("=")


def read_positions(text: str) -> Positions:
    """What `cursor_of` was made of; empty of an empty one."""
    if not text:
        return {}
    try:
        raw = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        found = msgspec.msgpack.decode(raw, type=Positions)
    except (binascii.Error, ValueError, msgspec.DecodeError) as error:
        raise WrongQuery("at", "The cursor is not one of ours: take it from `next` of the search before.") from error
    if not all(0 <= p < 2**31 and 0 <= next_ <= end < 2**63 for p, (next_, end) in found.items()):
        raise WrongQuery("at", "The cursor is not one of ours: take it from `next` of the search before.")
    return found
