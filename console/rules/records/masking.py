"""What a role may not see of records. A rule changes the bytes before anything else is done with them: what is hidden can then neither be
shown nor searched for. Where a rule cannot be applied, all that it is about is hidden. Pure."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Sequence
from typing import Any, Literal, get_args

import msgspec
from msgspec import Struct

from console.rules.records.decoding import DECODERS
from console.rules.records.matching import JSON_TESTED_BYTES_MAX, Headers, compile_path, compile_pattern
from console.rules.records.readings import json_with, msgpack_with, readings

Part = Literal["value", "key", "field", "header", "pattern"]
PARTS: tuple[Part, ...] = get_args(Part)
HIDDEN = "•••"
RAW = HIDDEN.encode()
ESCAPED = b"\\u"


class Rule(Struct, frozen=True):
    """`expression`: of a `field` a JSONPath, of a `header` its name (`*` and `?` stand for any characters), of a `pattern` RE2, which is
    looked for in key, value and headers; of `value` and `key`, which are hidden whole, nothing."""

    part: Part
    expression: str = ""


class WrongRule(ValueError):
    """`field` names what of the rule cannot be."""

    def __init__(self, field: str, detail: str) -> None:
        super().__init__(detail)
        self.field = field


def check_rule(rule: Rule) -> Rule:
    if rule.part in ("value", "key"):
        if rule.expression:
            raise WrongRule("expression", f"A {rule.part} is hidden whole: leave the expression out.")
        return rule
    if not rule.expression:
        raise WrongRule("expression", "Give a JSON path of a field, the name of a header, or a pattern.")
    try:
        if rule.part == "field":
            compile_path(rule.expression)
        elif rule.part == "pattern" and compile_pattern(rule.expression).search(b""):
            raise WrongRule("expression", "The pattern fits an empty text: it would hide nothing.")
    except WrongRule:
        raise
    except ValueError as error:
        raise WrongRule("expression", str(error)) from error
    return rule


def covers(topics: str, topic: str) -> bool:
    """Whether a rule for these topics (`*` and `?` stand for any characters) is about this one."""
    return fnmatch.fnmatchcase(topic, topics)


class Stored(Struct, frozen=True):
    """What a value that is seen decoded was: `encoded` where some of its bytes are shown otherwise than they are, `unread` where it could
    not be decoded, so that nobody knows what it holds."""

    raw: bytes
    encoded: bool = False
    unread: bool = False


Masked = tuple[bytes | None, bytes | None, Headers]
Bounded = Callable[[Callable[[bytes], bytes]], Callable[[bytes], bytes]]


class Veil:
    """Rules made ready; `bounded` cuts off what takes too long, by raising. `key_form` and `value_form` are the formats that the reader
    chose. A pattern holds for all that bytes can be read as: where they cannot be told to be a text alone, and another reading has what
    it looks for, they are hidden whole."""

    def __init__(
        self, rules: Sequence[Rule], bounded: Bounded = lambda call: call, *, key_form: str = "auto", value_form: str = "auto"
    ) -> None:
        self._key_form, self._value_form = key_form, value_form
        self._whole = {rule.part for rule in rules}
        self._headers = [rule.expression for rule in rules if rule.part == "header"]
        self._patterns = [compile_pattern(rule.expression) for rule in rules if rule.part == "pattern"]
        paths = [compile_path(rule.expression) for rule in rules if rule.part == "field"]
        self._fields = bounded(lambda raw: without_fields(raw, paths)) if paths else None

    def cover(
        self, key: bytes | None, value: bytes | None, headers: Headers, stored: tuple[Stored | None, Stored | None] = (None, None)
    ) -> Masked:
        """`stored` is of key and value, where they were to be decoded before."""
        of_key, of_value = stored
        return self._key(key, of_key), self._value(value, of_value), [(name, self._header(name, raw)) for name, raw in headers]

    def _key(self, raw: bytes | None, stored: Stored | None) -> bytes | None:
        return RAW if "key" in self._whole and raw is not None else self._text(raw, self._key_form, stored)

    def _value(self, raw: bytes | None, stored: Stored | None) -> bytes | None:
        if raw is None or "value" in self._whole:
            return None if raw is None else RAW
        if self._fields is not None:
            try:
                raw = self._fields(raw)
            except Exception:  # whatever it is: a value that a rule could not be applied to is not shown
                return RAW
        return self._text(raw, self._value_form, stored)

    def _header(self, name: str, raw: bytes | None) -> bytes | None:
        hidden = any(fnmatch.fnmatchcase(name, wanted) for wanted in self._headers)
        return RAW if hidden and raw is not None else self._text(raw)

    def _text(self, raw: bytes | None, form: str = "auto", stored: Stored | None = None) -> bytes | None:
        if not raw or not self._patterns:
            return raw
        if stored is not None:
            return self._decoded(raw, stored)
        packed = msgpack_with(raw, self._substituted)
        if packed is not None:
            return RAW if self._finds(DECODERS["msgpack"](packed).encode()) else packed
        raw = self._substituted(plain(raw))
        return RAW if any(self._finds(reading) for reading in readings(raw, form)) else raw

    def _decoded(self, shown: bytes, stored: Stored) -> bytes:
        """JSON stays JSON, with what is hidden in its place; bytes that are shown encoded are looked for as they were written."""
        if stored.unread or (stored.encoded and self._finds(stored.raw)):
            return RAW
        changed = json_with(shown, self._substituted)
        return RAW if changed is None or self._finds(changed) or self._finds(DECODERS["json"](changed).encode()) else changed

    def _substituted(self, raw: bytes) -> bytes:
        for pattern in self._patterns:
            raw = pattern.sub(RAW, raw)
        return raw

    def _finds(self, raw: bytes) -> bool:
        return any(pattern.search(raw) is not None for pattern in self._patterns)


def plain(raw: bytes) -> bytes:
    """JSON without the escapes that would hide a text from a pattern; what has such escapes and is no JSON is hidden."""
    if b"\\" not in raw:
        return raw
    try:
        return msgspec.json.encode(msgspec.json.decode(raw))
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return RAW if ESCAPED in raw else raw


def without_fields(raw: bytes, paths: Sequence[Any]) -> bytes:
    """The JSON with `HIDDEN` wherever one of the paths leads. Raises where it is none or too large."""
    if len(raw) > JSON_TESTED_BYTES_MAX:
        raise ValueError("too large")
    value = msgspec.json.decode(raw)
    for path in paths:
        for place in [node.parts for node in path.finditer(value)]:
            value = _with_hidden(value, place)
    return msgspec.json.encode(value)


def _with_hidden(value: Any, place: Sequence[Any]) -> Any:
    if not place:
        return HIDDEN
    inner = value
    for name in place[:-1]:
        if inner == HIDDEN:
            return value
        inner = inner[name]
    if inner != HIDDEN:
        inner[place[-1]] = HIDDEN
    return value
