"""A websocket spoken straight to the ASGI application."""

from __future__ import annotations

import json
from typing import Any

from asgiref.testing import ApplicationCommunicator

Header = tuple[bytes, bytes]


class WebSocket(ApplicationCommunicator):
    """One connection; `connect` first, `disconnect` last."""

    def __init__(self, application: Any, path: str, headers: list[Header]) -> None:
        path, _, query = path.partition("?")
        scope = {"type": "websocket", "path": path, "query_string": query.encode(), "headers": headers, "subprotocols": []}
        super().__init__(application, scope)

    async def connect(self, timeout_s: float) -> tuple[bool, int | None]:
        """(accepted, close code)."""
        await self.send_input({"type": "websocket.connect"})
        answer = await self.receive_output(timeout_s)
        return answer["type"] == "websocket.accept", answer.get("code")

    async def send_to(self, text: str) -> None:
        await self.send_input({"type": "websocket.receive", "text": text})

    async def send_json_to(self, value: Any) -> None:
        await self.send_to(json.dumps(value))

    async def receive_json_from(self, timeout_s: float) -> Any:
        message = await self.receive_output(timeout_s)
        assert message["type"] == "websocket.send", message
        return json.loads(message["text"])

    async def disconnect(self) -> None:
        await self.send_input({"type": "websocket.disconnect", "code": 1000})
        await self.wait(60)
