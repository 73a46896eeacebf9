"""The part of a schema registry's REST, as Confluent's has it, that serializers and readers use; with TLS and a user too."""

from __future__ import annotations

import base64
import json
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from unittest import mock
from urllib.parse import unquote

from console.gateway import schema_registry

PATIENCE_S = 60.0


class Registry(ThreadingHTTPServer):
    """`user` is who may ask, as `name:password`; anybody where it is empty. `texts` is what serialized schemas
    of Protobuf say, which a registry translates."""

    daemon_threads = True

    def __init__(self, tls: ssl.SSLContext | None = None, user: str = "") -> None:
        super().__init__(("127.0.0.1", 0), Asked)
        self.schemas: list[dict[str, Any]] = []
        self.texts: dict[str, str] = {}
        self.wanted = f"Basic {base64.b64encode(user.encode()).decode()}" if user else None
        if tls:
            self.socket = tls.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{self.server_address[1]}"

    def add(self, subject: str, schema: dict[str, Any]) -> int:
        self.schemas.append({"subject": subject, "version": 1, **schema})
        return len(self.schemas)

    def handle_error(self, *_: Any) -> None:
        """A client that does not trust the certificate leaves in the middle of the handshake."""


class Asked(BaseHTTPRequestHandler):
    server: Registry

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        subject = self.path.split("/")[2].partition("?")[0]
        body["schema"] = self.server.texts.get(body["schema"], body["schema"])
        number = self.server.add(subject, body)
        self._tell(200, {"id": number, "version": 1, "subject": subject, **body})

    def do_GET(self) -> None:
        parts = self.path.partition("?")[0].strip("/").split("/")
        if self.server.wanted not in (None, self.headers["Authorization"]):
            self._tell(401, {"error_code": 401, "message": "Unauthorized"})
        elif parts == ["subjects"]:
            self._tell(200, [schema["subject"] for schema in self.server.schemas])
        elif parts[0] == "subjects":
            found = [schema for schema in self.server.schemas if schema["subject"] == unquote(parts[1])]
            self._tell(*(200, _told(found[0])) if found else (404, {"error_code": 40401, "message": "Subject not found"}))
        else:
            self._of_id(parts)

    def _of_id(self, parts: list[str]) -> None:
        number = int(parts[2]) if parts[:2] == ["schemas", "ids"] else 0
        if not 0 < number <= len(self.server.schemas):
            self._tell(404, {"error_code": 40403, "message": "Schema not found"})
        elif parts[3:] == ["versions"]:
            self._tell(200, [{"subject": self.server.schemas[number - 1]["subject"], "version": 1}])
        else:
            self._tell(200, _told(self.server.schemas[number - 1]))

    def _tell(self, status: int, found: Any) -> None:
        raw = json.dumps(found).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, *_: Any) -> None:
        """Nothing."""


def _told(schema: dict[str, Any]) -> dict[str, Any]:
    return {name: schema[name] for name in ("schema", "schemaType", "references") if name in schema}


@contextmanager
def running_registry(tls: ssl.SSLContext | None = None, user: str = "") -> Iterator[Registry]:
    """Waited for as long as a stalled machine may need: what the limit of a person's wait does is looked at without a registry."""
    server = Registry(tls, user)
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        with mock.patch.object(schema_registry, "ASK_S", PATIENCE_S):
            yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
