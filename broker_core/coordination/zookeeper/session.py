"""One ZooKeeper session: a kazoo client of its own, its operations and its watches.

kazoo runs one thread per client; the store's operations are called on the loop, handed to that thread without waiting,
and their answers come back by `call_soon_threadsafe`, in the order the server sent them: answers and watch events run
inline in kazoo's connection thread (`_InlineHandler`), never in two worker threads that could overtake each other.

Fencing: a `Session` has a kazoo client of its own that is stopped the moment its session is lost, before it could open
another one; `gate` is closed in the same moment, so no operation of an old session can travel in a new one. At most
`max_in_flight` operations are with kazoo, the others wait here in order. While the connection is down they wait too;
when it is back, first the watches are set again (kazoo forgets them): each path is read, and a watch whose znode changed
meanwhile fires at once, as ZooKeeper's own client arranges it.

kazoo is pinned: `_stopped`, `_notify_pending` and `_connection` are its internals, used here and nowhere else.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any

from kazoo import exceptions as kazoo_errors
from kazoo.client import KazooClient
from kazoo.handlers.threading import SequentialThreadingHandler
from kazoo.protocol.states import EventType, KazooState

from broker_core.coordination.store import ConnectionLoss, SessionExpired, SessionState, StoreError, Watcher, WatchEvent
from broker_core.coordination.watches import WatchTable
from broker_core.coordination.zookeeper.operations import begin_children, begin_exists, translated

logger = logging.getLogger(__name__)

MAX_IN_FLIGHT = 100
MAX_WAITING = 100_000
RETRY = {"max_tries": -1, "delay": 0.1, "backoff": 2, "max_delay": 2.0}
DISPOSE_TIMEOUT_S = 15.0

Begin = Callable[[Any], Any]
"""Starts one operation on a kazoo client and returns kazoo's result object."""

_EVENTS = {
    EventType.CREATED: WatchEvent.CREATED,
    EventType.DELETED: WatchEvent.DELETED,
    EventType.CHANGED: WatchEvent.CHANGED,
    EventType.CHILD: WatchEvent.CHILDREN,
}


class _InlineHandler(SequentialThreadingHandler):  # type: ignore[misc]
    """No worker threads: kazoo calls back from its connection thread, and each callback only wakes the loop."""

    def start(self) -> None:
        """Nothing to start."""

    def stop(self) -> None:
        """Nothing to stop."""

    def dispatch_callback(self, callback: Any) -> None:
        callback.func(*callback.args)


class _Call:
    """One operation: how to start it, what it is about, and where its answer goes."""

    __slots__ = ("answer", "begin", "on_reply", "path")

    def __init__(self, path: str, begin: Begin, answer: asyncio.Future[Any], on_reply: Callable[[Any], Any]) -> None:
        self.path = path
        self.begin = begin
        self.answer = answer
        self.on_reply = on_reply


class Session:
    """One ZooKeeper session: its kazoo client, its calls, its watches. Methods run on the loop unless they say otherwise."""

    def __init__(
        self, hosts: str, timeout_ms: float, tell: Callable[[Session, SessionState], None], *, max_in_flight: int = MAX_IN_FLIGHT
    ) -> None:
        self.session_id = 0
        self._max_in_flight = max_in_flight
        self._tell = tell
        self._loop = asyncio.get_running_loop()
        self.opened: asyncio.Future[None] = self._loop.create_future()
        self.disposed: asyncio.Future[None] = self._loop.create_future()
        self._lock = threading.Lock()
        self._gate = False
        self._over = False
        self._in_flight: dict[_Call, None] = {}
        self._waiting: deque[_Call] = deque()
        self._watches = WatchTable()
        self._seen_data: dict[str, int | None] = {}
        self._seen_child: dict[str, int] = {}
        self._client = KazooClient(hosts, timeout=timeout_ms / 1000.0, handler=_InlineHandler(), connection_retry=RETRY)
        self._client.add_listener(self._on_state)
        self._client.start_async()

    # From kazoo's thread.

    def _on_state(self, state: str) -> None:
        """Runs in kazoo's thread, before kazoo does anything more with the connection."""
        if state == KazooState.CONNECTED:
            self._post(self._connected, self._client.client_id[0])
            return
        with self._lock:
            self._gate = False
        if state == KazooState.SUSPENDED:
            self._client._notify_pending(self._client._state)
            self._post(self._suspended)
        else:
            self._client._stopped.set()
            self._post(self._lost)

    def _on_watch(self, event: Any) -> None:
        """Runs in kazoo's thread; the pseudo events of a lost connection are not events of a znode."""
        kind = _EVENTS.get(event.type)
        if kind is not None:
            self._post(self._watches.dispatch, kind, event.path)

    def _post(self, callback: Callable[..., None], *args: object) -> None:
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(callback, *args)

    # Session changes, on the loop.

    def _connected(self, session_id: int) -> None:
        if self._over:
            return
        self.session_id = session_id
        with self._lock:
            self._gate = not self._client._stopped.is_set()
            if self._gate:
                self._set_watches_again()
        if not self.opened.done():
            self.opened.set_result(None)
        self._tell(self, SessionState.CONNECTED)
        self._pump()

    def _suspended(self) -> None:
        if not self._over:
            self._tell(self, SessionState.SUSPENDED)

    def _lost(self) -> None:
        if self._over:
            return
        self.end()
        if self.session_id:
            self._tell(self, SessionState.EXPIRED)

    def end(self) -> None:
        """The session is over: what is in flight or waits fails, no watch fires any more, the client goes."""
        self._over = True
        expired = SessionExpired(f"session {self.session_id:#x} is over")
        for call in [*self._in_flight, *self._waiting]:
            if not call.answer.done():
                call.answer.set_exception(expired)
        self._in_flight.clear()
        self._waiting.clear()
        self._watches.clear()
        if not self.opened.done():
            self.opened.set_exception(ConnectionLoss("the session was lost before it was used"))
            self.opened.exception()
        threading.Thread(target=self._dispose, name="zookeeper dispose", daemon=True).start()

    def _dispose(self) -> None:
        """Runs in a thread of its own, as it waits for kazoo's."""
        try:
            self._client.stop()
            self._client._connection.stop(DISPOSE_TIMEOUT_S)
            self._client.close()
        except Exception:
            logger.exception("a ZooKeeper client did not stop")
        self._post(self._set_disposed)

    def _set_disposed(self) -> None:
        if not self.disposed.done():
            self.disposed.set_result(None)

    # Operations.

    async def call(self, path: str, begin: Begin, on_reply: Callable[[Any], Any] = lambda value: value) -> Any:
        if self._over:
            raise SessionExpired(f"session {self.session_id:#x} is over")
        if len(self._waiting) >= MAX_WAITING:
            raise ConnectionLoss(f"{MAX_WAITING} operations wait for ZooKeeper")
        call = _Call(path, begin, self._loop.create_future(), on_reply)
        self._waiting.append(call)
        self._pump()
        return await call.answer

    def _pump(self) -> None:
        with self._lock:
            while self._gate and self._waiting and len(self._in_flight) < self._max_in_flight:
                call = self._waiting.popleft()
                if not call.answer.cancelled():
                    self._in_flight[call] = None
                    try:
                        self._begin(call.begin, self._finished, call)
                    except ValueError as error:
                        del self._in_flight[call]
                        call.answer.set_exception(StoreError(f"{call.path}: {error}"))

    def _begin(self, begin: Begin, finished: Callable[..., None], *args: object) -> None:
        begin(self._client).rawlink(lambda result: self._post(finished, *args, result.value, result.exception))

    def _finished(self, call: _Call, value: Any, error: Exception | None) -> None:
        if call not in self._in_flight:
            return
        del self._in_flight[call]
        try:
            if error is not None:
                raise translated(error, call.path)
            answer = call.on_reply(value)
        except StoreError as failure:
            if not call.answer.done():
                call.answer.set_exception(failure)
        else:
            if not call.answer.done():
                call.answer.set_result(answer)
        self._pump()

    # Watches.

    def kazoo_watch(self, watch: Watcher | None) -> Callable[[Any], None] | None:
        return None if watch is None else self._on_watch

    def watch_data(self, path: str, watch: Watcher | None, stat: Any) -> None:
        if watch is not None:
            self._watches.add_data(path, watch)
            self._seen_data[path] = None if stat is None else stat.mzxid

    def watch_children(self, path: str, watch: Watcher | None, stat: Any) -> None:
        if watch is not None:
            self._watches.add_child(path, watch)
            self._seen_child[path] = stat.pzxid

    def _set_watches_again(self) -> None:
        self._seen_data = {path: self._seen_data[path] for path in self._watches.data}
        self._seen_child = {path: self._seen_child[path] for path in self._watches.child}
        for path in self._seen_data:
            self._begin(partial(begin_exists, path=path, watch=self._on_watch), self._data_again, path)
        for path in self._seen_child:
            self._begin(partial(begin_children, path=path, watch=self._on_watch), self._children_again, path)

    def _data_again(self, path: str, stat: Any, error: Exception | None) -> None:
        if error is not None or path not in self._watches.data:
            return
        seen, now = self._seen_data[path], None if stat is None else stat.mzxid
        if seen == now:
            return
        changed = WatchEvent.CREATED if seen is None else WatchEvent.DELETED if now is None else WatchEvent.CHANGED
        self._watches.dispatch(changed, path)

    def _children_again(self, path: str, value: Any, error: Exception | None) -> None:
        if path not in self._watches.child:
            return
        if isinstance(error, kazoo_errors.NoNodeError):
            self._watches.dispatch(WatchEvent.DELETED, path)
        elif error is None and value[1].pzxid != self._seen_child[path]:
            self._watches.dispatch(WatchEvent.CHILDREN, path)
