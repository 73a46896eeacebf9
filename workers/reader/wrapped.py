"""A message in the place of librdkafka's: what stays as it is where its key, value or headers are shown otherwise."""

from __future__ import annotations

from typing import Any

from confluent_kafka import Message


class Wrapped:
    """With librdkafka's interface, as far as searches use it."""

    def __init__(self, message: Message | Wrapped) -> None:
        self._message = message

    def headers(self) -> Any:
        return self._message.headers()

    def partition(self) -> int | None:
        return self._message.partition()

    def offset(self) -> int | None:
        return self._message.offset()

    def timestamp(self) -> tuple[int, int]:
        return self._message.timestamp()

    def leader_epoch(self) -> int | None:
        return self._message.leader_epoch()
