"""Control requests that are being carried out: one that comes again meanwhile joins the one under way.

The controller gives an answer up after `controller.socket.timeout.ms` and sends the same request on a new connection, while a
slow disk is still at work on the first. Carried out anew, the second would overtake the first, partition by partition, and a
third the second, for ever.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

Payload = dict[str, Any]


class ControlWork:
    """The requests under way, each with those who wait for its answer. Decoded requests are equal when their bytes are."""

    def __init__(self) -> None:
        self._under_way: list[tuple[Any, asyncio.Future[Payload]]] = []
        self.joined = 0

    async def once(self, request: Any, carry_out: Callable[[], Awaitable[Payload]]) -> Payload:
        """The answer of `carry_out`, or that of the same request if it is under way; its failure goes to all who wait."""
        for other, answer in self._under_way:
            if type(other) is type(request) and other == request:
                self.joined += 1
                return await asyncio.shield(answer)
        answer = asyncio.get_running_loop().create_future()
        entry = (request, answer)
        self._under_way.append(entry)
        try:
            payload = await carry_out()
        except BaseException as error:
            answer.set_exception(error) if isinstance(error, Exception) else answer.cancel()
            answer.exception() if not answer.cancelled() else None
            raise
        finally:
            self._under_way.remove(entry)
        answer.set_result(payload)
        return payload
