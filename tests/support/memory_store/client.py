"""An in-memory ZooKeeper for tests and the simulator, with the faults a real one shows on demand.

`MemoryEnsemble` is the server; each `MemoryStore` is one client. Messages between them travel over a `Link`, in order in
each direction; the default link is the running loop. Faults: `expire`, `lose_reply`, `disconnect` and `reconnect`,
`LoopLink.delay_ms`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Any, cast

from broker_core.coordination.store import (
    ConnectionLoss,
    Create,
    Delete,
    Op,
    OpResult,
    SessionExpired,
    SessionListener,
    SessionState,
    SetData,
    Stat,
    StoreError,
    Watcher,
    WatchEvent,
    check_size,
)
from broker_core.coordination.watches import WatchTable
from broker_core.seams import Clock
from tests.support.memory_store.ensemble import Answer, MemoryEnsemble, Read, ReadMany, Request, Write
from tests.support.memory_store.link import Link, LoopLink

logger = logging.getLogger(__name__)

SESSION_TIMEOUT_MS = 6000.0


class _Call:
    """One request on its way, and where its answer goes."""

    __slots__ = ("answer", "request", "watch")

    def __init__(self, request: Request, watch: Watcher | None, answer: asyncio.Future[Any]) -> None:
        self.request = request
        self.watch = watch
        self.answer = answer


class MemoryStore:
    """One client. `connection` numbers its connections, so that what an older one carried is dropped."""

    def __init__(
        self,
        ensemble: MemoryEnsemble,
        clock: Clock | None = None,
        *,
        session_timeout_ms: float = SESSION_TIMEOUT_MS,
        link: Link | None = None,
    ) -> None:
        self.ensemble = ensemble
        self.link = link or LoopLink(clock)
        self._clock = clock
        self.session_timeout_ms = session_timeout_ms
        self._session_id = 0
        self._opening_id = 0
        self._abandoned = False
        self._connection = 0
        self._reachable = asyncio.Event()
        self._reachable.set()
        self._flowing = False
        self._listeners: list[SessionListener] = []
        self._watches = WatchTable()
        self._in_flight: dict[_Call, None] = {}
        self._parked: list[_Call] = []
        self._lose_reply_of: list[str | None] = []

    @property
    def session_id(self) -> int:
        return self._session_id

    async def connect(self, timeout_ms: float) -> int:
        if self._session_id:
            return self._session_id
        if self._clock is None:
            return await self._connect()
        try:
            return await self._clock.wait_for(self._connect(), timeout_ms)
        except TimeoutError:
            raise ConnectionLoss(f"the store was not reached within {timeout_ms:.0f} ms") from None

    async def _connect(self) -> int:
        await self._reachable.wait()
        opened: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self.link.to_server(self._open, opened)
        return await opened

    def _open(self, opened: asyncio.Future[int]) -> None:
        if self._abandoned:
            return

        def expired() -> None:
            self.link.to_client(self._expired, session_id)

        session_id = self.ensemble.open_session(self.session_timeout_ms, self._deliver, expired)
        self._opening_id = session_id
        self.link.to_client(self._opened, opened, session_id)

    def _opened(self, opened: asyncio.Future[int], session_id: int) -> None:
        self._opening_id = 0
        if opened.cancelled():
            self.ensemble.end_session(session_id)
            return
        self._session_id = session_id
        self._connection += 1
        self._flowing = True
        opened.set_result(session_id)
        self._tell(SessionState.CONNECTED)
        if not self._reachable.is_set():
            self._suspend()

    async def close(self) -> None:
        session_id, self._session_id = self._session_id, 0
        self._connection += 1
        self._fail_all(SessionExpired("the session was closed"))
        self._watches.clear()
        self.ensemble.end_session(session_id)

    def add_listener(self, listener: SessionListener) -> None:
        self._listeners.append(listener)

    async def create(self, path: str, data: bytes, *, ephemeral: bool = False, sequence: bool = False) -> str:
        results = await self._submit(Write("create", (Create(path, data, ephemeral),), sequence))
        return cast(str, results[0])

    async def get(self, path: str, watch: Watcher | None = None) -> tuple[bytes, Stat]:
        return cast(tuple[bytes, Stat], await self._submit(Read("get", path, watch is not None), watch))

    async def get_many(self, paths: Sequence[str]) -> list[tuple[bytes, Stat] | None]:
        return cast(list[tuple[bytes, Stat] | None], await self._submit(ReadMany(tuple(paths))))

    async def exists(self, path: str, watch: Watcher | None = None) -> Stat | None:
        return cast("Stat | None", await self._submit(Read("exists", path, watch is not None), watch))

    async def children(self, path: str, watch: Watcher | None = None) -> list[str]:
        return cast(list[str], await self._submit(Read("children", path, watch is not None), watch))

    async def set(self, path: str, data: bytes, version: int = -1) -> Stat:
        results = await self._submit(Write("set", (SetData(path, data, version),)))
        return cast(Stat, results[0])

    async def delete(self, path: str, version: int = -1) -> None:
        await self._submit(Write("delete", (Delete(path, version),)))

    async def multi(self, ops: Sequence[Op]) -> list[OpResult]:
        return cast(list[OpResult], await self._submit(Write("multi", tuple(ops))))

    async def _submit(self, request: Request, watch: Watcher | None = None) -> Any:
        if not self._session_id:
            raise SessionExpired("there is no session")
        if isinstance(request, Write):
            check_size(request.ops)
        call = _Call(request, watch, asyncio.get_running_loop().create_future())
        if self._flowing:
            self._send(call)
        else:
            self._parked.append(call)
        return await call.answer

    def _send(self, call: _Call) -> None:
        self._in_flight[call] = None
        self.link.to_server(self._serve, self._connection, self._session_id, call)

    def _serve(self, connection: int, session_id: int, call: _Call) -> None:
        if connection != self._connection:
            return
        try:
            answer, error = self.ensemble.handle(session_id, call.request), None
        except StoreError as failure:
            answer, error = None, failure
        if self._lose_reply_of and self._lose_reply_of[0] in (None, call.request.kind):
            self._lose_reply_of.pop(0)
            self.link.to_client(self._bounce, connection)
        else:
            self.link.to_client(self._reply, connection, call, answer, error)

    def _reply(self, connection: int, call: _Call, answer: Answer, error: StoreError | None) -> None:
        if connection != self._connection:
            return
        del self._in_flight[call]
        if call.watch is not None and error is None:
            self._add_watch(call.request, call.watch)
        if call.answer.done():
            return
        if error is None:
            call.answer.set_result(answer)
        else:
            call.answer.set_exception(error)

    def _add_watch(self, request: Request, watch: Watcher) -> None:
        assert isinstance(request, Read)
        if request.kind == "children":
            self._watches.add_child(request.path, watch)
        else:
            self._watches.add_data(request.path, watch)

    def _deliver(self, event: WatchEvent, path: str) -> None:
        self.link.to_client(self._dispatch, self._session_id, event, path)

    def _dispatch(self, session_id: int, event: WatchEvent, path: str) -> None:
        if session_id == self._session_id:
            self._watches.dispatch(event, path)

    def _fail_all(self, error: StoreError) -> None:
        calls = [*self._in_flight, *self._parked]
        self._in_flight.clear()
        self._parked.clear()
        for call in calls:
            if not call.answer.done():
                call.answer.set_exception(error)

    # Session events and faults.

    def _tell(self, state: SessionState) -> None:
        for listener in list(self._listeners):
            listener(state)

    def _expired(self, session_id: int) -> None:
        if session_id != self._session_id:
            return
        self._session_id = 0
        self._connection += 1
        self._watches.clear()
        self._fail_all(SessionExpired(f"session {session_id:#x} has expired"))
        self._tell(SessionState.EXPIRED)

    def expire(self) -> None:
        """The server ends the session at once; the client hears of it over the link, or when it can be reached again."""
        self.ensemble.expire(self._session_id)

    def lose_reply(self, kind: str | None = None) -> None:
        """The next request of that kind (create, get, exists, children, set, delete, multi) takes effect, but the
        connection breaks before its reply: it and all others in flight raise `ConnectionLoss`, and the client reconnects."""
        self._lose_reply_of.append(kind)

    def _bounce(self, connection: int) -> None:
        if connection == self._connection and self._session_id:
            self.disconnect()
            self.reconnect()

    def disconnect(self) -> None:
        """Cuts the client off: requests in flight raise `ConnectionLoss`, new ones wait, the session's timeout runs."""
        if not self._reachable.is_set():
            return
        self._reachable.clear()
        if self._session_id:
            self._suspend()

    def _suspend(self) -> None:
        self._connection += 1
        self._flowing = False
        self.ensemble.lose_contact(self._session_id)
        lost = list(self._in_flight)
        self._in_flight.clear()
        for call in lost:
            if not call.answer.done():
                call.answer.set_exception(ConnectionLoss("the connection broke before the reply came"))
        self._tell(SessionState.SUSPENDED)

    def reconnect(self) -> None:
        """Heals `disconnect`: the session goes on, with the watch events it missed, or proves to have expired."""
        if self._reachable.is_set():
            return
        self._reachable.set()
        if not self._session_id:
            return
        if not self.ensemble.regain_contact(self._session_id):
            self.link.to_client(self._expired, self._session_id)
            return
        self.link.to_client(self._resumed, self._session_id)

    def abandon(self) -> None:
        """The client's process is gone: nobody is told anything more, and its session's timeout runs."""
        session_id, self._session_id = self._session_id or self._opening_id, 0
        self._abandoned = True
        self._connection += 1
        self.ensemble.lose_contact(session_id)

    def _resumed(self, session_id: int) -> None:
        if session_id != self._session_id or not self._reachable.is_set():
            return
        self._flowing = True
        self._tell(SessionState.CONNECTED)
        parked, self._parked = self._parked, []
        for call in parked:
            self._send(call)
