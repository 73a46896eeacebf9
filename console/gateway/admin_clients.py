"""The process's clients of clusters: one per `Connection`, kept and shared; each runs its I/O on a thread of its own.

They are watched by what they get done: one that has answered nothing for `DEADLINE_S`, though it was asked, is thrown away whatever it
says of itself. Each has a lock of its own, so that nobody waits for another cluster that does not answer.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict
from typing import Any

import kafka.errors
from kafka import KafkaAdminClient

from console.gateway.connection import Connection, client_options
from console.rules.watch import Watch

log = logging.getLogger(__name__)
REQUEST_TIMEOUT_MS = 10_000
BOOTSTRAP_TIMEOUT_MS = 4_000
DEADLINE_S = 60.0
UNREACHABLE_FOR_S = 3.0
"""After a failure to connect, questions fail at once for so long: a page must not wait for a cluster that is known to be away. A
change is tried."""
CLIENTS_LIMIT = 64
"""Beyond these the one that was asked longest ago goes: a connection that was changed leaves its old client behind."""


class _Kept:
    """The client of one connection, while there is one."""

    def __init__(self, connection: Connection) -> None:
        servers = connection.bootstrap_servers
        self.connection = connection
        self.lock = threading.Lock()
        self.client: Any = None
        self.failed_at = -UNREACHABLE_FOR_S
        self.watch = Watch(f"admin-{servers}", f"that asks {servers}", DEADLINE_S)

    def opened(self, *, for_change: bool) -> Any:
        """`kafka.errors.KafkaError` where nobody answers."""
        if self.client is None:
            if not for_change and time.monotonic() - self.failed_at < UNREACHABLE_FOR_S:
                raise kafka.errors.KafkaConnectionError("the cluster did not answer a moment ago")
            try:
                self.client = connect(self.connection)
            except kafka.errors.KafkaError:
                self.failed_at = time.monotonic()
                raise
        return self.client

    def drop(self) -> None:
        gone, self.client = self.client, None
        if gone is not None:
            threading.Thread(target=gone.close, name="kafka-close", daemon=True).start()

    def asked(self) -> None:
        now = time.monotonic()
        if self.watch.stands_still(now):
            log.warning("%s", self.watch.sentence(now))
            self.watch.replaced(now)
            self.drop()
        self.watch.asked(now)


_lock = threading.Lock()
_kept: OrderedDict[Connection, _Kept] = OrderedDict()


def _of(connection: Connection) -> _Kept:
    with _lock:
        found = _kept.setdefault(connection, _Kept(connection))
        _kept.move_to_end(connection)
        forgotten = [_kept.popitem(last=False)[1] for _ in range(len(_kept) - CLIENTS_LIMIT)]
    for one in forgotten:
        with one.lock:
            one.drop()
    return found


def client(connection: Connection, *, for_change: bool = False) -> Any:
    """The kept one, or a new one; `kafka.errors.KafkaError` where nobody answers. Who changes something has often just started a broker
    for it, so that what was true a moment ago is true no more."""
    found = _of(connection)
    with found.lock:
        return found.opened(for_change=for_change)


def connect(connection: Connection, metadata_max_age_ms: int = 30_000) -> KafkaAdminClient:
    """A new one that nobody else has."""
    return KafkaAdminClient(
        **client_options(connection),
        client_id="highwater-console",
        request_timeout_ms=REQUEST_TIMEOUT_MS,
        bootstrap_timeout_ms=BOOTSTRAP_TIMEOUT_MS,
        reconnect_backoff_max_ms=1_000,
        metadata_max_age_ms=metadata_max_age_ms,
    )


def throw_away(connection: Connection) -> None:
    found = _of(connection)
    with found.lock:
        found.drop()


def asked(connection: Connection) -> None:
    """Before a question; a client that stands still is replaced first."""
    found = _of(connection)
    with found.lock:
        found.asked()


def answered(connection: Connection, error: Exception | None = None) -> None:
    """A refusal is an answer too; not having reached anybody (`error`) is none."""
    found = _of(connection)
    with found.lock:
        if error is None:
            found.watch.done(time.monotonic(), 1, waiting=False)
        else:
            found.watch.failed(str(error) or type(error).__name__)


def watched() -> list[dict[str, Any]]:
    """How this process's clients fare."""
    with _lock:
        kept = list(_kept.values())
    return [one.watch.value(time.monotonic()) for one in kept]
