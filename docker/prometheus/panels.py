"""Asks Prometheus what the panels of dashboards ask: `panels.py http://127.0.0.1:9090 DASHBOARD.json…`; fails where one shows nothing."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from urllib.request import urlopen

REQUEST_S_MAX = 30


def questions(board: dict[str, Any]) -> Iterator[tuple[str, list[str]]]:
    """(title of a panel, its PromQL) of all that a dashboard asks; the titles of its rows ask nothing."""
    for panel in board["panels"]:
        if panel["type"] != "row":
            yield panel["title"], [target["expr"] for target in panel["targets"]]


def series(prometheus: str, query: str) -> list[Any]:
    """What the query answers now; `HTTPError` where Prometheus does not understand it."""
    with urlopen(f"{prometheus}/api/v1/query?{urlencode({'query': query})}", timeout=REQUEST_S_MAX) as answer:
        found: list[Any] = json.load(answer)["data"]["result"]
    return found


def main(prometheus: str, *paths: str) -> int:
    """0 where every panel shows something."""
    empty = 0
    for path in paths:
        for title, queries in questions(json.loads(Path(path).read_text())):
            found = [row for query in queries for row in series(prometheus, query)]
            sys.stdout.write(f"{title}: {len(found)} series, e.g. {found[0]['value'][1] if found else 'none'}\n")
            empty += not found
    return min(empty, 1)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
