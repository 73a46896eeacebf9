"""The process's clients of clusters: one per bootstrap list, kept and shared; each runs its I/O on a thread of its own.

They are watched by what they get done: one that has answered nothing for `DEADLINE_S`, though it was asked, is thrown away whatever it
says of itself.
"""

from __future__ import annotations

import logging
import threading
import time
from typing import Any

import kafka.errors
from kafka import KafkaAdminClient

from console.rules.watch import Watch

log = logging.getLogger(__name__)
REQUEST_TIMEOUT_MS = 10_000
BOOTSTRAP_TIMEOUT_MS = 4_000
DEADLINE_S = 60.0
UNREACHABLE_FOR_S = 3.0
"""After a failure to connect, questions fail at once for so long: a page must not wait for a cluster that is known to be away."""

_lock = threading.Lock()
_clients: dict[str, KafkaAdminClient] = {}
_failed_at: dict[str, float] = {}
_watches: dict[str, Watch] = {}


def client(servers: str) -> KafkaAdminClient:
    """The kept one, or a new one; `kafka.errors.KafkaError` where nobody answers."""
    with _lock:
        if time.monotonic() - _failed_at.get(servers, -UNREACHABLE_FOR_S) < UNREACHABLE_FOR_S:
            raise kafka.errors.KafkaConnectionError("the cluster did not answer a moment ago")
        if servers not in _clients:
            try:
                _clients[servers] = _connect(servers)
            except kafka.errors.KafkaError:
                _failed_at[servers] = time.monotonic()
                raise
        return _clients[servers]


def _connect(servers: str) -> KafkaAdminClient:
    return KafkaAdminClient(
        bootstrap_servers=servers.split(","),
        client_id="highwater-console",
        request_timeout_ms=REQUEST_TIMEOUT_MS,
        bootstrap_timeout_ms=BOOTSTRAP_TIMEOUT_MS,
        reconnect_backoff_max_ms=1_000,
        metadata_max_age_ms=30_000,
    )


def throw_away(servers: str) -> None:
    with _lock:
        gone = _clients.pop(servers, None)
    if gone is not None:
        threading.Thread(target=gone.close, name="kafka-close", daemon=True).start()


def asked(servers: str) -> None:
    """Before a question; a client that stands still is replaced first."""
    with _lock:
        watch = _watches.setdefault(servers, Watch(f"admin-{servers}", f"that asks {servers}", DEADLINE_S))
        stands_still = watch.stands_still(time.monotonic())
        if stands_still:
            log.warning("%s", watch.sentence(time.monotonic()))
            watch.replaced(time.monotonic())
        watch.asked(time.monotonic())
    if stands_still:
        throw_away(servers)


def answered(servers: str, error: Exception | None = None) -> None:
    """A refusal is an answer too; not having reached anybody (`error`) is none."""
    with _lock:
        if error is None:
            _watches[servers].done(time.monotonic(), 1, waiting=False)
        else:
            _watches[servers].failed(str(error) or type(error).__name__)


def watched() -> list[dict[str, Any]]:
    """How this process's clients fare."""
    with _lock:
        return [watch.value(time.monotonic()) for watch in _watches.values()]
