"""A message as those see it for whom rules hide some of it: with the interface of librdkafka's, as far as searches use it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from confluent_kafka import Message

from console.rules.records.masking import Stored, Veil
from console.rules.records.progress import Search
from workers.reader.bounds import in_time
from workers.reader.opened import Decoded, Opened, Schemas
from workers.reader.wrapped import Wrapped


class Veiled(Wrapped):
    """`masked` has those of `key`, `value` and the headers' places that are not as they were written."""

    def __init__(self, message: Message | Decoded, veil: Veil) -> None:
        super().__init__(message)
        self._raw = message
        headers: list[Any] = list(message.headers() or ())
        stored = (_stored(message, "key"), _stored(message, "value"))
        self._key, self._value, self._headers = veil.cover(message.key(), message.value(), headers, stored)
        self.masked: set[str | int] = {n for n, (_, raw) in enumerate(headers) if raw != self._headers[n][1]}
        self.masked |= {"key"} if message.key() != self._key else set()
        self.masked |= {"value"} if message.value() != self._value else set()

    def key(self) -> bytes | None:
        return self._key

    def value(self) -> bytes | None:
        return self._value

    def headers(self) -> Any:
        return self._headers

    def stored(self, part: str) -> bytes | None:
        """As it was written: for who has made sure that nothing of it is hidden."""
        if isinstance(self._raw, Decoded):
            return self._raw.stored(part)
        return self._raw.key() if part == "key" else self._raw.value()  # type: ignore[return-value, unused-ignore]

    def opened(self, part: str) -> Opened | None:
        return self._message.opened(part) if isinstance(self._message, Decoded) else None


Seen = Message | Decoded | Veiled


def _stored(message: Message | Decoded, part: str) -> Stored | None:
    found = message.opened(part) if isinstance(message, Decoded) else None
    return None if found is None else found.stored


def sight(search: Search, schemas: Schemas | None) -> Callable[[Message], Seen] | None:
    """How messages are seen: decoded first, where that is asked for or a rule has to know what is in them, then under the search's
    rules; without `schemas` nothing is decoded. None where nothing is to be done."""
    forms = {"key": search.query.key, "value": search.query.value}
    open_part = _opener(search, schemas, forms)
    if not search.rules:
        return None if open_part is None else lambda message: Decoded(message, open_part)
    veil = Veil(search.rules, in_time, key_form=search.query.key, value_form=search.query.value)
    return lambda message: Veiled(message if open_part is None else Decoded(message, open_part), veil)


def _opener(search: Search, schemas: Schemas | None, forms: dict[str, str]) -> Callable[[str, bytes], Opened | None] | None:
    if schemas is None:
        return None
    wanted = {part for part, form in forms.items() if form == "registry" or (schemas.are_there and (form == "auto" or search.rules))}
    if not wanted:
        return None
    return lambda part, raw: schemas.open(raw, part, forms[part]) if part in wanted else None
