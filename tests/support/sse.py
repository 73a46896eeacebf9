"""Server-sent events spoken straight to the ASGI application."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import IO, Any

from asgiref.testing import ApplicationCommunicator

from tests.support.openapi import document, wrong_with

Header = tuple[bytes, bytes]
Event = tuple[str, int | None, Any]
"""Kind, id, data."""
STREAM = "/api/v1/clusters/{cluster_id}/stream"
SHAPES = {
    "broker": "Broker",
    "topic": "Topic",
    "partition": "Partition",
    "group": "Group",
    "lag": "Lag",
    "job": "Job",
    "event": "KeptEvent",
}
"""The described shape of each kind of value that has one of its own."""


def parsed(text: str) -> Event | None:
    """One event's lines; None where it is none (a comment, the time to come again)."""
    fields = dict(line.split(": ", 1) for line in text.splitlines() if ": " in line)
    if "data" not in fields:
        return None
    return fields["event"], int(fields["id"]) if "id" in fields else None, json.loads(fields["data"])


def check_event(event: Event) -> Event:
    """Fails where it is not as REST's description has it."""
    kind, _, data = event
    known = document()["paths"][STREAM]["get"]["responses"][200]["content"]["text/event-stream"]["x-events"]
    assert wrong_with(known[kind], data) == []
    for key, value in data.get("values", {}).items():
        assert value is None or wrong_with(_shape(key.partition("/")[0], value), value) == [], key
    return event


def heard(answer: IO[bytes]) -> Iterator[Event]:
    """The events of an answer that is read as it comes."""
    lines: list[str] = []
    while line := answer.readline().decode():
        if line.strip():
            lines.append(line)
        else:
            found, lines = parsed("".join(lines)), []
            if found is not None:
                yield check_event(found)


def _shape(kind: str, value: dict[str, Any]) -> dict[str, Any]:
    if kind in SHAPES:
        return {"$ref": f"#/components/schemas/{SHAPES[kind]}"}
    assert kind == "cluster"
    known = document()["components"]["schemas"]["Cluster"]["properties"]
    return {"type": "object", "properties": {name: known[name] for name in value if name in known}}


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
                        return check_event(found)
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
