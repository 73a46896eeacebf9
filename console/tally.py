"""What this process counts of the requests that it answers, from its start on. Each process that serves counts for itself."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from console.rules.metrics.text import Histogram

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")


class Requests:
    """Counts by route, method and class of status; times by route and method. Both are as bounded as the list of routes."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        """Requests are served by many threads."""
        self._counts: Counter[tuple[str, str, str]] = Counter()
        self._times: dict[tuple[str, str], Histogram] = {}

    def note(self, route: str, method: str, status: int, seconds: float) -> None:
        with self._lock:
            self._counts[route, method, f"{status // 100}xx"] += 1
            self._times.setdefault((route, method), Histogram()).observe(seconds)

    def counts(self) -> dict[tuple[str, str, str], int]:
        with self._lock:
            return dict(self._counts)

    def times(self) -> dict[tuple[str, str], Histogram]:
        with self._lock:
            return {key: Histogram(found.counts, found.total_s) for key, found in self._times.items()}


REQUESTS = Requests()


def counted(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """The middleware: the first, so that nothing that the others do is left out."""

    def middleware(request: HttpRequest) -> HttpResponse:
        begun = time.perf_counter()
        response = get_response(request)
        REQUESTS.note(route_of(request), method_of(request), response.status_code, time.perf_counter() - begun)
        return response

    return middleware


def route_of(request: HttpRequest) -> str:
    """The route's name, never the address: whoever asks for addresses that are not there makes no new rows."""
    found = request.resolver_match
    if found is not None:
        return found.view_name
    return "static" if request.path_info.startswith(settings.STATIC_URL) else "none"


def method_of(request: HttpRequest) -> str:
    return request.method if request.method in METHODS else "other"
