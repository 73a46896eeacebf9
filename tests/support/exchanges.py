"""Exchanges of handlers that tests make: answered at once, or when the test says so."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from broker_core.seams import Part


class Answered:
    """With `waits_for` the answer is made once that is done."""

    def __init__(
        self,
        answer: Callable[[], list[Part] | None],
        *,
        waits_for: asyncio.Future[Any] | None = None,
        sent: Callable[[float, float], None] = lambda waited_ms, sending_ms: None,
        throttled_ms: int = 0,
    ) -> None:
        self.waits_for = waits_for
        self.answer = answer
        self.sent = sent
        self.throttled_ms = throttled_ms


def answered(parts: list[Part] | None) -> Answered:
    return Answered(lambda: parts)
