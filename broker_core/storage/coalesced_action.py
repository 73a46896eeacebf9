"""One action for many callers that are at it together: a topic's thousand logs are deleted with one checkpoint, not with a thousand."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager


class _Round:
    """Callers inside, and the action that comes after the last of them has left."""

    def __init__(self) -> None:
        self.inside = 0
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()


class CoalescedAction:
    """Runs `action` once after the last of overlapping callers; each of them returns when that is done, or gets its error."""

    def __init__(self, action: Callable[[], Awaitable[None]]) -> None:
        self._action = action
        self._round: _Round | None = None

    @asynccontextmanager
    async def before_action(self) -> AsyncIterator[None]:
        """The body runs first; whoever's body ends last runs the action for all, also where a body failed."""
        current = self._round = self._round or _Round()
        current.inside += 1
        try:
            yield
        finally:
            current.inside -= 1
            if current.inside:
                await asyncio.shield(current.over)
            else:
                self._round = None
                await self._act(current.over)

    async def _act(self, over: asyncio.Future[None]) -> None:
        try:
            await self._action()
        except BaseException as error:
            over.set_exception(error) if isinstance(error, Exception) else over.cancel()
            over.exception() if not over.cancelled() else None
            raise
        over.set_result(None)
