"""`python -m broker_core.cli.health WHAT …`: exit status 0 while a part of the system on this machine serves, 1 and why where not.

    broker FOLDER            ready (`FOLDER/.ready`), and its first listener, on loopback too, answers ApiVersions
    zookeeper PORT           it answers `srvr` as one that serves clients
    http URL                 it answers 200
    fresh PATTERN SECONDS    a file of that pattern was written within so many seconds

For health checks of containers: the standard library and little else, for it runs every few seconds.
"""

from __future__ import annotations

import glob
import json
import os
import socket
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from pathlib import Path

from broker_core.local.brokers import READY_FILE
from broker_core.local.services import zookeeper_answers

ANSWER_SECONDS = 5.0
CORRELATION_ID = 1
API_VERSIONS = b"\x00\x00\x00\x0a\x00\x12\x00\x00" + CORRELATION_ID.to_bytes(4, "big") + b"\xff\xff"
"""Size, key 18, version 0, correlation id, no client id."""


def main(arguments: Sequence[str] | None = None) -> int:
    what, *rest = arguments if arguments is not None else sys.argv[1:] or ["--help"]
    check = CHECKS.get(what)
    if check is None:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        wrong = check(*rest)
    except (OSError, ValueError) as error:
        wrong = str(error)
    if wrong:
        print(f"{what}: {wrong}", file=sys.stderr)
    return 1 if wrong else 0


def broker(folder: str) -> str:
    """What is wrong with the broker of a data folder; empty when it serves."""
    try:
        port = int(json.loads((Path(folder) / READY_FILE).read_text(encoding="utf-8"))["port"])
    except FileNotFoundError:
        return "not ready yet"
    with socket.create_connection(("127.0.0.1", port), timeout=ANSWER_SECONDS) as connection:
        connection.sendall(API_VERSIONS)
        answer = connection.recv(8, socket.MSG_WAITALL)
    return "" if answer[4:] == CORRELATION_ID.to_bytes(4, "big") else f"port {port} does not answer as a broker"


def zookeeper(port: str) -> str:
    return "" if zookeeper_answers(int(port)) else f"nobody serves on port {port}"


def http(url: str) -> str:
    try:
        with urllib.request.urlopen(url, timeout=ANSWER_SECONDS) as answer:
            return "" if answer.status == 200 else f"status {answer.status}"
    except urllib.error.HTTPError as error:
        with error:
            return f"status {error.code}"


def fresh(pattern: str, seconds: str) -> str:
    written = [os.stat(path).st_mtime for path in glob.glob(pattern)]
    if not written:
        return f"there is no {pattern}"
    age_s = time.time() - max(written)
    return "" if age_s <= float(seconds) else f"last written {age_s:.0f} s ago"


CHECKS: dict[str, Callable[..., str]] = {"broker": broker, "zookeeper": zookeeper, "http": http, "fresh": fresh}

if __name__ == "__main__":
    raise SystemExit(main())
