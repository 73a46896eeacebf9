"""A message as those see it for whom rules hide some of it: with the interface of librdkafka's, as far as searches use it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from confluent_kafka import Message

from console.rules.records.masking import Veil
from console.rules.records.progress import Search
from workers.reader.bounds import in_time


class Veiled:
    """`masked` has those of `key`, `value` and the headers' places that are not as they were written."""

    def __init__(self, message: Message, veil: Veil) -> None:
        headers: list[Any] = list(message.headers() or ())
        self._message = message
        self._key, self._value, self._headers = veil.cover(message.key(), message.value(), headers)
        self.masked: set[str | int] = {n for n, (_, raw) in enumerate(headers) if raw != self._headers[n][1]}
        self.masked |= {"key"} if message.key() != self._key else set()
        self.masked |= {"value"} if message.value() != self._value else set()

    def key(self) -> bytes | None:
        return self._key

    def value(self) -> bytes | None:
        return self._value

    def headers(self) -> Any:
        return self._headers

    def partition(self) -> int | None:
        return self._message.partition()

    def offset(self) -> int | None:
        return self._message.offset()

    def timestamp(self) -> tuple[int, int]:
        return self._message.timestamp()

    def leader_epoch(self) -> int | None:
        return self._message.leader_epoch()


Seen = Message | Veiled


def sight(search: Search) -> Callable[[Message], Seen] | None:
    """How messages are seen under the search's rules; None where there are none."""
    if not search.rules:
        return None
    veil = Veil(search.rules, in_time, key_form=search.query.key, value_form=search.query.value)
    return lambda message: Veiled(message, veil)
