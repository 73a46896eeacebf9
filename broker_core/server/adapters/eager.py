"""Begins a coroutine at once and makes a task only of what is left where it first waits.

Most requests wait for nothing: a heartbeat, a produce with acks=1, a fetch of records that are there. They are handled within the
callback that read them, without a task and a turn of the loop. Until it first waits such a coroutine is in no task:
`asyncio.timeout` and what is built on it (`wait_for` of Python 3.12) come after `in_a_task`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any


class Rest(Coroutine[Any, Any, None]):
    """A coroutine that has been begun: gives the task what it waits for, then all else as it comes, a cancellation before the first
    step too."""

    def __init__(self, begun: Coroutine[Any, Any, None], awaited: object) -> None:
        self._begun = begun
        self._awaited: list[object] = [awaited]

    def send(self, value: Any) -> Any:
        return self._awaited.pop() if self._awaited else self._begun.send(value)

    def throw(self, *failure: Any) -> Any:
        self._awaited.clear()
        return self._begun.throw(*failure)

    def close(self) -> None:
        self._begun.close()

    def __await__(self) -> Any:
        raise NotImplementedError("a task steps it")


def begin(loop: asyncio.AbstractEventLoop, coroutine: Coroutine[Any, Any, None], *, name: str) -> asyncio.Task[None] | None:
    """The task of what is left; None when nothing is. What the coroutine raises before it waits is raised here."""
    try:
        awaited = coroutine.send(None)
    except StopIteration:
        return None
    return loop.create_task(Rest(coroutine, awaited), name=name)


async def in_a_task() -> None:
    """Goes on in a task, if that is not so already."""
    if asyncio.current_task() is None:
        await asyncio.sleep(0)
