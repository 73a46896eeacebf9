"""The console's REST as the commands ask it: one connection a request, no proxies, no redirects (a token goes nowhere else)."""

from __future__ import annotations

import http.client
import json
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from cli.errors import Problem, Unreachable, Usage

API = "/api/v1"
PAGE, TAIL = 500, 50
ANSWER_BYTES_MAX = 64 * 1024 * 1024
PIECE_BYTES = 256 * 1024
TRIES = 2
"""A change has a key, so that it may be sent again when its answer got lost."""
BUSY, BUSY_TRIES, BUSY_PAUSE_S = "cluster-busy", 15, 2.0
"""A coordinator or leader that is not ready yet is asked again, as Kafka's clients do."""


class Rest:
    """`url` is the console's address, `timeout_s` how long each answer may take."""

    def __init__(self, url: str, token: str, timeout_s: float = 60.0) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise Usage(f"{url!r} is not the address of a console: give one as http://127.0.0.1:8000")
        self.url, self._token, self._timeout_s = url.rstrip("/"), token, timeout_s
        self._kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        self._host, self._port, self._prefix = parts.hostname, parts.port, parts.path.rstrip("/")

    def get(self, path: str, **query: Any) -> Any:
        return self._ask("GET", path, query)

    def items(self, path: str, limit: int | None = None, **query: Any) -> tuple[list[Any], dict[str, Any]]:
        """All items of a list, or so many; and what the first page says beside them."""
        said: dict[str, Any] = {}
        size = PAGE if limit is None else min(limit, PAGE)
        return list(islice(self._items(path, query, said, size), limit)), said

    def each(self, path: str, **query: Any) -> Iterator[Any]:
        """The items one after the other, a page asked for when it is wanted."""
        return self._items(path, query, {}, TAIL)

    def _items(self, path: str, query: Mapping[str, Any], said: dict[str, Any], size: int) -> Iterator[Any]:
        cursor = None
        while True:
            page = self._ask("GET", path, {**query, "limit": size, "cursor": cursor})
            said.update({name: value for name, value in page.items() if name not in ("items", "next")} if not said else {})
            yield from page["items"]
            cursor = page["next"]
            if cursor is None:
                return

    def change(self, method: str, path: str, body: Any = None, *, match: str = "", **query: Any) -> Any:
        """The answer; None where it has no body. `match` is the ETag of what it rests on."""
        key = {"Idempotency-Key": uuid.uuid4().hex} | ({"If-Match": match} if match else {})
        for left in reversed(range(TRIES)):
            try:
                return self._ask(method, path, query, body, key)
            except Unreachable as error:
                if not left or not isinstance(error.__cause__, ConnectionResetError | http.client.BadStatusLine):
                    raise
        raise AssertionError("the last try returns or raises")

    def pieces(self, path: str) -> Iterator[bytes]:
        """A file, as it comes. `Unreachable` where it breaks off."""
        with self._answered("GET", f"{self._prefix}{API}{path}", None, {}) as response:
            if response.status >= 300:
                self._read(response.status, response.read(ANSWER_BYTES_MAX))
            left = int(response.headers["Content-Length"])
            while left > 0:
                piece = response.read(min(PIECE_BYTES, left))
                if not piece:
                    raise ConnectionResetError(f"the file broke off with {left} bytes missing")
                left -= len(piece)
                yield piece

    def _ask(self, method: str, path: str, query: Mapping[str, Any], body: Any = None, more: Mapping[str, str] | None = None) -> Any:
        for left in reversed(range(BUSY_TRIES)):
            try:
                return self._ask_once(method, path, query, body, more)
            except Problem as problem:
                if not left or problem.code != BUSY:
                    raise
                time.sleep(BUSY_PAUSE_S)
        raise AssertionError("the last try returns or raises")

    def _ask_once(self, method: str, path: str, query: Mapping[str, Any], body: Any, more: Mapping[str, str] | None) -> Any:
        asked = {name: value for name, value in query.items() if value not in (None, "")}
        where = f"{self._prefix}{API}{path}" + (f"?{urlencode(asked)}" if asked else "")
        with self._answered(method, where, body, more or {}) as response:
            return self._read(response.status, response.read(ANSWER_BYTES_MAX))

    @contextmanager
    def _answered(self, method: str, where: str, body: Any, more: Mapping[str, str]) -> Iterator[http.client.HTTPResponse]:
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json", **more}
        connection = self._kind(self._host, self._port, timeout=self._timeout_s)
        try:
            connection.request(method, where, None if body is None else json.dumps(body).encode(), headers)
            yield connection.getresponse()
        except (OSError, http.client.HTTPException) as error:
            raise Unreachable(f"The console at {self.url} does not answer: {error or type(error).__name__}.") from error
        finally:
            connection.close()

    def _read(self, status: int, text: bytes) -> Any:
        try:
            found = json.loads(text) if text else None
        except ValueError:
            raise Unreachable(f"{self.url} answers {status} and no JSON: is it a Highwater console?") from None
        if status < 300:
            return found
        raise Problem(found if isinstance(found, dict) else {"title": f"Status {status}", "detail": str(found)[:500]})


def named(*words: str | int) -> str:
    """A path of names as they are, slashes and all."""
    return "".join(f"/{quote(str(word), safe='')}" for word in words)
