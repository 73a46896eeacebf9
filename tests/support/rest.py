"""REST and the pages as a client with nothing but HTTP sees them."""

from __future__ import annotations

import http.client
import json
import re
import urllib.parse
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tests.support.cluster import eventually
from tests.support.openapi import check_answer

LOCAL = "/api/v1/clusters/local"
OVER = ("succeeded", "failed", "cancelled")
TIMEOUT_S = 60.0


@dataclass(frozen=True, slots=True)
class Answer:
    """`body` is the parsed JSON where it is some, else the text."""

    status: int
    headers: dict[str, str]
    body: Any

    @property
    def kind(self) -> str:
        return self.headers.get("content-type", "").partition(";")[0]


def ask(port: int, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None) -> Answer:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT_S)
    try:
        connection.request(method, path, body, headers or {})
        response = connection.getresponse()
        text = response.read().decode()
        found = {name.lower(): value for name, value in response.getheaders()}
        is_json = found.get("content-type", "").partition(";")[0] in ("application/json", "application/problem+json")
        return Answer(response.status, found, json.loads(text) if is_json and text else text)
    finally:
        connection.close()


class Rest:
    """One token's view of the API."""

    def __init__(self, port: int, token: str | None) -> None:
        self.port = port
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}

    def ask(self, method: str, path: str, body: Any = None) -> Answer:
        data = None if body is None else json.dumps(body).encode()
        answer = ask(self.port, method, path, data, {**self._headers, "Content-Type": "application/json"})
        check_answer(method, path, answer.status, answer.kind, answer.body)
        return answer

    def get(self, path: str) -> Any:
        answer = self.ask("GET", path)
        assert answer.status == 200, answer
        return answer.body

    def pages(self, path: str, limit: int) -> Iterator[list[Any]]:
        """The pages of a list, one request each."""
        cursor = None
        while True:
            joint = "&" if "?" in path else "?"
            page = self.get(f"{path}{joint}limit={limit}" + (f"&cursor={cursor}" if cursor else ""))
            assert page.keys() - {"as_of"} == {"items", "next"}
            yield page["items"]
            cursor = page["next"]
            if cursor is None:
                return

    def live(self) -> dict[str, Any]:
        return dict(self.get(LOCAL))

    def partitions(self, topic: str) -> list[dict[str, Any]]:
        return [row for page in self.pages(f"{LOCAL}/topics/{topic}/partitions", 500) for row in page]

    def events(self, after: int = 0) -> list[dict[str, Any]]:
        """Those after the event of that id, oldest first."""
        return [e for e in reversed(self.get(f"{LOCAL}/events?limit=500")["items"]) if e["id"] > after]

    def last_event(self) -> int:
        return max((e["id"] for e in self.events()), default=0)

    # --- jobs

    def start(self, kind: str, **params: Any) -> dict[str, Any]:
        answer = self.ask("POST", "/api/v1/jobs", {"cluster": "local", "kind": kind, **params})
        assert answer.status == 202, answer
        return dict(answer.body)

    def job(self, job: dict[str, Any]) -> dict[str, Any]:
        return dict(self.get(f"/api/v1/jobs/{job['id']}"))

    def until(self, job: dict[str, Any], seconds: float = 60.0, *states: str) -> dict[str, Any]:
        """The job once it is over, or in one of the states."""
        wanted = states or OVER
        seen: dict[str, Any] = {}

        def reached() -> bool:
            seen.update(self.job(job))
            assert not states or seen["state"] in states or seen["state"] not in OVER, seen
            return seen["state"] in wanted

        eventually(reached, seconds, f"job {job['id']} {' or '.join(wanted)}")
        return seen


class Visitor:
    """A signed-in browser without scripts: cookies and the CSRF token are all it keeps."""

    def __init__(self, port: int, password: str, name: str = "admin") -> None:
        self.port, self._cookies = port, dict[str, str]()
        self.get("/login")
        assert self.post("/login", username=name, password=password).status in (302, 303)

    def get(self, path: str) -> Answer:
        return self._kept(ask(self.port, "GET", path, None, {"Cookie": self._cookie()}))

    def post(self, path: str, **fields: str) -> Answer:
        form = urllib.parse.urlencode({**fields, "csrfmiddlewaretoken": self._cookies["csrftoken"]}).encode()
        headers = {"Cookie": self._cookie(), "Content-Type": "application/x-www-form-urlencoded"}
        return self._kept(ask(self.port, "POST", path, form, headers))

    def _cookie(self) -> str:
        return "; ".join(f"{name}={value}" for name, value in self._cookies.items())

    def _kept(self, answer: Answer) -> Answer:
        for name, value in re.findall(r"(\w+)=([^;,\s]+); ", answer.headers.get("set-cookie", "")):
            self._cookies[name] = value
        return answer
