"""Server-sent events spoken straight to the ASGI application."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from asgiref.testing import ApplicationCommunicator

Header = tuple[bytes, bytes]
Event = tuple[str, int | None, Any]
"""Kind, id, data."""


def parsed(text: str) -> Event | None:
    """One event's lines; None where it is none (a comment, the time to come again)."""
    fields = dict(line.split(": ", 1) for line in text.splitlines() if ": " in line)
    if "data" not in fields:
        return None
    return fields["event"], int(fields["id"]) if "id" in fields else None, json.loads(fields["data"])


class EventStream(ApplicationCommunicator):
    """One GET; `open` first, `close` last."""

    def __init__(self, application: Any, path: str, *headers: Header) -> None:
        path, _, query = path.partition("?")
        scope = {
            "type": "http",
            "method": "GET",
            "path": path,
            "query_string": query.encode(),
            "headers": [(b"host", b"127.0.0.1"), *headers],
            "http_version": "1.1",
            "client": ("127.0.0.1", 1),
        }
        super().__init__(application, scope)
        self._text = ""

    async def open(self) -> tuple[int, dict[str, str]]:
        """Status and headers."""
        await self.send_input({"type": "http.request", "body": b"", "more_body": False})
        start = await self.receive_output(60)
        return start["status"], {name.decode().lower(): value.decode() for name, value in start["headers"]}

    async def next(self) -> Event:
        async with asyncio.timeout(60):
            while True:
                while "\n\n" in self._text:
                    text, _, self._text = self._text.partition("\n\n")
                    if (found := parsed(text)) is not None:
                        return found
                self._text += (await self.receive_output(60)).get("body", b"").decode()

    async def next_of(self, kind: str) -> Event:
        async with asyncio.timeout(60):
            while (found := await self.next())[0] != kind:
                pass
            return found

    async def body(self) -> Any:
        """Of an answer that is no stream."""
        return json.loads((await self.receive_output(60))["body"])

    async def close(self) -> None:
        await self.send_input({"type": "http.disconnect"})
        await self.wait(60)
