"""The test of a registration: every bootstrap server is asked at once, in threads of their own, and the answers are put into words.

Bounded: whoever has not answered after `TRIAL_S` has not answered.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, wait
from typing import TypeVar

from console.errors import Conflict
from console.gateway.connection import Connection
from console.gateway.introduction import Introduction, Unmet, introduce
from console.rules.trial import Trial, judged

TRIAL_S = 9.0
ASKING_S = 4.0
REACHING_S = 2.0
AT_ONCE = 4
REACHED_LIMIT = 20
"""Brokers whose advertised address is tried."""
_running = threading.BoundedSemaphore(AT_ONCE)
Key = TypeVar("Key")
Found = TypeVar("Found")


def try_out(connection: Connection, known_id: str = "") -> Trial:
    """`known_id` is what the cluster called itself before."""
    if not _running.acquire(blocking=False):
        raise Conflict(f"{AT_ONCE} tests are under way: try again in some seconds.")
    try:
        return _tried(connection, known_id)
    finally:
        _running.release()


def _tried(connection: Connection, known_id: str) -> Trial:
    deadline = time.monotonic() + TRIAL_S
    servers = list(dict.fromkeys(connection.servers))
    met = _each(servers, lambda server: _asked(connection, server), deadline - REACHING_S)
    found = {server: answer for server, answer in met.items() if isinstance(answer, Introduction)}
    brokers = {broker: where for answer in found.values() for broker, where in answer.brokers.items()}
    tried = dict(sorted(brokers.items())[:REACHED_LIMIT])
    reached = _each(list(tried), lambda broker: _reaches(*tried[broker]), min(deadline, time.monotonic() + REACHING_S))
    away = [broker for broker in tried if reached.get(broker) is not True]
    failed = {server: _words(met.get(server)) for server in servers if server not in found}
    return judged(servers, {server: _facts(answer) for server, answer in found.items()}, failed, away, known_id)


def _facts(answer: Introduction) -> tuple[str, str | None, int | None, dict[int, str]]:
    addresses = {broker: f"{host}:{port}" for broker, (host, port) in sorted(answer.brokers.items())}
    return answer.version, answer.kafka_id, answer.controller_id, addresses


def _words(answer: object) -> str:
    return str(answer) if isinstance(answer, Unmet) else "does not answer in time"


def _asked(connection: Connection, server: str) -> Introduction | Unmet:
    host, _, port = server.rpartition(":")
    try:
        return introduce(connection, host.strip("[]"), int(port), time.monotonic() + ASKING_S)
    except Unmet as error:
        return error


def _reaches(host: str, port: int) -> bool:
    try:
        socket.create_connection((host, port), timeout=REACHING_S).close()
    except (OSError, OverflowError, UnicodeError):
        return False
    return True


def _each(keys: Sequence[Key], ask: Callable[[Key], Found], deadline: float) -> Mapping[Key, Found]:
    """Of those that were done in time. A name that DNS does not answer for holds up its own thread, which nobody waits for."""
    futures: dict[Key, Future[Found]] = {key: Future() for key in keys}
    for key, future in futures.items():
        threading.Thread(target=_fill, args=(future, ask, key), name="cluster-test", daemon=True).start()
    wait(futures.values(), timeout=max(deadline - time.monotonic(), 0))
    return {key: future.result() for key, future in futures.items() if future.done()}


def _fill(future: Future[Found], ask: Callable[[Key], Found], key: Key) -> None:
    try:
        future.set_result(ask(key))
    except Exception as error:
        future.set_exception(error)
