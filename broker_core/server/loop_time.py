"""How long a coroutine keeps the event loop, apart from how long it waits: a stopwatch that runs while it does (spec N1)."""

from __future__ import annotations

import types
from collections.abc import Callable, Coroutine, Generator
from typing import Any, TypeVar

T = TypeVar("T")


class LoopTime:
    """Takes the coroutine's place in its task and passes everything on: what it waits for, results, errors and cancellation."""

    def __init__(self, monotonic_ms: Callable[[], float]) -> None:
        self.spent_ms = 0.0
        self._monotonic_ms = monotonic_ms
        self._began_ms: float | None = None

    def so_far_ms(self) -> float:
        """The same, with the step that the coroutine is in: for itself to ask."""
        return self.spent_ms if self._began_ms is None else self.spent_ms + self._monotonic_ms() - self._began_ms

    @types.coroutine
    def run(self, coroutine: Coroutine[Any, Any, T]) -> Generator[Any, Any, T]:
        """The coroutine's result; `spent_ms` grows with each of its steps. Costs two looks at the clock a step."""
        step: Callable[[Any], Any] = coroutine.send
        given: Any = None
        while True:
            began_ms = self._began_ms = self._monotonic_ms()
            try:
                awaited = step(given)
            except StopIteration as end:
                return end.value  # type: ignore[no-any-return]
            finally:
                self.spent_ms += self._monotonic_ms() - began_ms
                self._began_ms = None
            try:
                given = yield awaited
                step = coroutine.send
            except BaseException as error:
                step, given = coroutine.throw, error
