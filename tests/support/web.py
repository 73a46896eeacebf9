"""The console as a signed-in person or a program with a token sees it: plain HTTP, no browser."""

from __future__ import annotations

import http.client
import http.cookiejar
import json
import re
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass
from typing import Any

TIMEOUT_S = 60.0


@dataclass(frozen=True)
class Answer:
    status: int
    text: str
    content_type: str

    def json(self) -> Any:
        return json.loads(self.text)


class Web:
    """Keeps cookies; an answer of any status is an `Answer`, only a missing one raises `OSError`."""

    def __init__(self, url: str, token: str = "") -> None:
        self._url = url.rstrip("/")
        self._token = token
        self._cookies = http.cookiejar.CookieJar()
        self._opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(self._cookies))

    def get(self, path: str) -> Answer:
        return self.send("GET", path)

    def send(self, method: str, path: str, data: bytes | None = None, content_type: str = "application/json") -> Answer:
        headers = {"Content-Type": content_type} if data is not None else {}
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        request = urllib.request.Request(self._url + path, data, headers, method=method)
        try:
            with self._opener.open(request, timeout=TIMEOUT_S) as answer:
                return _answer(answer)
        except urllib.error.HTTPError as error:
            with error:
                return _answer(error)
        except http.client.HTTPException as error:
            raise OSError(f"{method} {path}: {error!r}") from error

    def post_form(self, path: str, **fields: str) -> Answer:
        fields["csrfmiddlewaretoken"] = next((cookie.value or "" for cookie in self._cookies if cookie.name == "csrftoken"), "")
        return self.send("POST", path, urllib.parse.urlencode(fields).encode(), "application/x-www-form-urlencoded")

    def sign_in(self, password: str, name: str = "admin") -> None:
        page = self.get("/login")
        assert re.search("csrfmiddlewaretoken", page.text), page
        answer = self.post_form("/login", username=name, password=password)
        assert answer.status == 200 and "Sign out" in answer.text, answer.text[:500]

    def cookie_header(self) -> str:
        return "; ".join(f"{cookie.name}={cookie.value}" for cookie in self._cookies)


def _answer(answer: Any) -> Answer:
    return Answer(answer.status, answer.read().decode("utf-8", "replace"), answer.headers.get("Content-Type", ""))
