"""One client of a ZooKeeper ensemble: the store's operations in its present session."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from functools import partial
from typing import Any

from broker_core.coordination.store import (
    ConnectionLoss,
    Create,
    NodeExists,
    NoNode,
    Op,
    OpResult,
    SessionExpired,
    SessionListener,
    SessionState,
    SetData,
    Stat,
    Watcher,
    check_size,
)
from broker_core.coordination.zookeeper.operations import (
    UnknownRequest,
    begin_children,
    begin_create,
    begin_exists,
    begin_get_many,
    begin_multi,
    multi_results,
    to_stat,
)
from broker_core.coordination.zookeeper.session import MAX_IN_FLIGHT, Session


class ZooKeeperStore:
    """One client of a ZooKeeper ensemble; `hosts` is a connection string `host:port,host:port[/chroot]`."""

    def __init__(self, hosts: str, session_timeout_ms: float, *, max_in_flight: int = MAX_IN_FLIGHT) -> None:
        self._hosts = hosts
        self._max_in_flight = max_in_flight
        self.session_timeout_ms = session_timeout_ms
        self._chroot_made = False
        self._session: Session | None = None
        self._listeners: list[SessionListener] = []

    @property
    def session_id(self) -> int:
        return self._session.session_id if self._session is not None else 0

    async def connect(self, timeout_ms: float) -> int:
        if self.session_id:
            return self.session_id
        if not self._chroot_made:
            await self._make_chroot(timeout_ms)
        session = Session(self._hosts, self.session_timeout_ms, self._on_state, max_in_flight=self._max_in_flight)
        try:
            await _opened(session, self._hosts, timeout_ms)
        except (ConnectionLoss, asyncio.CancelledError):
            self._forget(session)
            raise
        return session.session_id

    def _forget(self, session: Session) -> None:
        """It has been ended; it may have opened in that very moment."""
        if self._session is session:
            self._session = None

    async def _make_chroot(self, timeout_ms: float) -> None:
        """The folder at the connection string's end is made if it is missing, as Kafka's brokers do."""
        servers, _, chroot = self._hosts.partition("/")
        if chroot:
            session = await _opened(Session(servers, self.session_timeout_ms, _tell_nobody), servers, timeout_ms)
            path = ""
            try:
                for name in chroot.strip("/").split("/"):
                    path = f"{path}/{name}"
                    with contextlib.suppress(NodeExists):
                        await session.call(path, partial(begin_create, path=path, data=b""))
            finally:
                session.end()
            await session.disposed
        self._chroot_made = True

    def _on_state(self, session: Session, state: SessionState) -> None:
        self._session = None if state is SessionState.EXPIRED else session
        for listener in list(self._listeners):
            listener(state)

    async def close(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            session.end()
            await session.disposed

    def add_listener(self, listener: SessionListener) -> None:
        self._listeners.append(listener)

    def _current(self) -> Session:
        if self._session is None:
            raise SessionExpired("there is no session")
        return self._session

    async def create(self, path: str, data: bytes, *, ephemeral: bool = False, sequence: bool = False) -> str:
        check_size([Create(path, data)])
        begin = partial(begin_create, path=path, data=data, ephemeral=ephemeral, sequence=sequence)
        return str(await self._current().call(path, begin))

    async def get(self, path: str, watch: Watcher | None = None) -> tuple[bytes, Stat]:
        session = self._current()

        def on_reply(value: Any) -> tuple[bytes, Stat]:
            session.watch_data(path, watch, value[1])
            return bytes(value[0] or b""), to_stat(value[1])  # Java clients make znodes that have no data at all

        answer: tuple[bytes, Stat] = await session.call(path, lambda client: client.get_async(path, session.kazoo_watch(watch)), on_reply)
        return answer

    async def get_many(self, paths: Sequence[str]) -> list[tuple[bytes, Stat] | None]:
        def on_reply(values: Any) -> list[tuple[bytes, Stat] | None]:
            return [None if value is None else (bytes(value[0] or b""), to_stat(value[1])) for value in values]

        if not paths:
            return []
        try:
            answer: list[tuple[bytes, Stat] | None] = await self._current().call(
                paths[0], lambda client: begin_get_many(client, paths), on_reply
            )
        except UnknownRequest:
            return [await self._get_or_none(path) for path in paths]
        return answer

    async def _get_or_none(self, path: str) -> tuple[bytes, Stat] | None:
        try:
            return await self.get(path)
        except NoNode:
            return None

    async def exists(self, path: str, watch: Watcher | None = None) -> Stat | None:
        session = self._current()

        def on_reply(value: Any) -> Stat | None:
            session.watch_data(path, watch, value)
            return None if value is None else to_stat(value)

        begin = partial(begin_exists, path=path, watch=session.kazoo_watch(watch))
        answer: Stat | None = await session.call(path, begin, on_reply)
        return answer

    async def children(self, path: str, watch: Watcher | None = None) -> list[str]:
        session = self._current()

        def on_reply(value: Any) -> list[str]:
            session.watch_children(path, watch, value[1])
            return sorted(value[0])

        begin = partial(begin_children, path=path, watch=session.kazoo_watch(watch))
        answer: list[str] = await session.call(path, begin, on_reply)
        return answer

    async def set(self, path: str, data: bytes, version: int = -1) -> Stat:
        check_size([SetData(path, data)])
        return to_stat(await self._current().call(path, lambda client: client.set_async(path, data, version)))

    async def delete(self, path: str, version: int = -1) -> None:
        await self._current().call(path, lambda client: client.delete_async(path, version))

    async def multi(self, ops: Sequence[Op]) -> list[OpResult]:
        if not ops:
            return []
        check_size(ops)
        results: list[OpResult] = await self._current().call(
            ops[0].path, lambda client: begin_multi(client, ops), lambda values: multi_results(ops, values)
        )
        return results


async def _opened(session: Session, hosts: str, timeout_ms: float) -> Session:
    try:
        await asyncio.wait_for(asyncio.shield(session.opened), timeout_ms / 1000.0)
    except asyncio.CancelledError:
        session.end()
        raise
    except TimeoutError:
        session.end()
        raise ConnectionLoss(f"ZooKeeper at {hosts} was not reached within {timeout_ms:.0f} ms") from None
    return session


def _tell_nobody(session: Session, state: SessionState) -> None:
    """The state of a session that only makes the chroot."""
