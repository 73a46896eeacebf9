"""The store as an active controller may use it: each write is fenced by `/controller_epoch`, each operation retried.

A write is `multi[check(/controller_epoch, version at the election), operations]`; when the check fails another controller
has been elected and `ControllerMoved` ends the term. A lost reply is retried within the session, so a write may meet its
own effect: callers read again on `BadVersion` and `NodeExists`, and what is there as they wanted it counts as written. An expired
session ends the term as well.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any, TypeVar

from broker_core.coordination.layout import CONTROLLER_EPOCH
from broker_core.coordination.store import (
    BadVersion,
    Check,
    ConnectionLoss,
    Delete,
    NodeExists,
    NoNode,
    NotEmpty,
    Op,
    OpResult,
    SessionExpired,
    Stat,
    Store,
    Watcher,
)
from broker_core.seams import Clock, Spawn

T = TypeVar("T")

RETRY_MS = 100
IN_FLIGHT_LIMIT = 64
OPS_PER_MULTI_LIMIT = 100
READS_AT_ONCE = 100

OPERATION_FAILED = (BadVersion, NoNode, NodeExists, NotEmpty)
"""What a `write` raises when one of its operations cannot be done; its `index` says which."""
CHANGED_MEANWHILE = (BadVersion, NoNode)
"""Somebody else, or an earlier try of ours whose reply was lost, changed the znode first."""


class ControllerMoved(Exception):
    """Another controller was elected: the write did not happen and this term is over."""


class GuardedStore:
    """One term's view of the store: bound to one session and one version of `/controller_epoch`."""

    def __init__(self, store: Store, clock: Clock, spawn: Spawn, epoch_version: int) -> None:
        self._store = store
        self._clock = clock
        self._spawn = spawn
        self._session_id = store.session_id
        self._epoch_version = epoch_version

    async def get(self, path: str, watch: Watcher | None = None) -> tuple[bytes, Stat] | None:
        """Data and stat, or None (and no watch) where there is no znode."""
        try:
            return await self._retried(lambda: self._store.get(path, watch))
        except NoNode:
            return None

    async def get_many(self, paths: Sequence[str]) -> list[tuple[bytes, Stat] | None]:
        """The same of each, without watches; read `READS_AT_ONCE` at a time, and several times so at once."""
        chunks = [paths[start : start + READS_AT_ONCE] for start in range(0, len(paths), READS_AT_ONCE)]
        found = await self.each([lambda chunk=chunk: self._retried(lambda: self._store.get_many(chunk)) for chunk in chunks])  # type: ignore[misc]
        return [value for values in found for value in values]

    async def exists(self, path: str, watch: Watcher | None = None) -> Stat | None:
        return await self._retried(lambda: self._store.exists(path, watch))

    async def children(self, path: str, watch: Watcher | None = None) -> list[str]:
        """Names of the children; none where there is no znode."""
        try:
            return await self._retried(lambda: self._store.children(path, watch))
        except NoNode:
            return []

    async def write(self, ops: Sequence[Op]) -> list[OpResult]:
        """All or nothing; a failing operation's error has its position in `ops` as `index`."""
        fence = Check(CONTROLLER_EPOCH, self._epoch_version)
        try:
            results = await self._retried(lambda: self._store.multi([fence, *ops]))
        except OPERATION_FAILED as error:
            if error.index == 0:
                raise ControllerMoved(f"{CONTROLLER_EPOCH} is no longer at version {self._epoch_version}") from error
            error.index -= 1
            raise
        return results[1:]

    async def delete_all(self, paths: Sequence[str]) -> None:
        """Deletes the znodes in this order; those already gone are fine."""
        remaining = list(paths)
        while remaining:
            chunk = remaining[:OPS_PER_MULTI_LIMIT]
            try:
                await self.write([Delete(path) for path in chunk])
                remaining = remaining[len(chunk) :]
            except NoNode as error:
                del remaining[error.index]

    async def subtree(self, *paths: str) -> list[str]:
        """The znodes and all below them, children before parents; the znodes themselves even if they are gone. A level is read at once."""
        level, found = [*paths], [*paths]
        while level:
            below = await self.each([lambda parent=parent: self.children(parent) for parent in level])  # type: ignore[misc]
            level = [f"{parent}/{name}" for parent, names in zip(level, below, strict=True) for name in names]
            found += level
        return found[::-1]

    async def each(self, operations: Sequence[Callable[[], Coroutine[Any, Any, T]]]) -> list[T]:
        """Results in order, with at most `IN_FLIGHT_LIMIT` operations on their way at once."""
        results: list[T] = []
        for start in range(0, len(operations), IN_FLIGHT_LIMIT):
            chunk = operations[start : start + IN_FLIGHT_LIMIT]
            tasks = [self._spawn(_outcome(operation), name="controller store operation") for operation in chunk]
            for task in tasks:
                results.append(_value(await task))
        return results

    async def _retried(self, operation: Callable[[], Awaitable[T]]) -> T:
        while True:
            if self._store.session_id != self._session_id:
                raise SessionExpired("the session of this controller's term is over")
            try:
                return await operation()
            except ConnectionLoss:
                await self._clock.sleep(RETRY_MS)


async def _outcome(operation: Callable[[], Coroutine[Any, Any, T]]) -> T | Exception:
    try:
        return await operation()
    except Exception as error:
        return error


def _value(outcome: T | Exception) -> T:
    if isinstance(outcome, Exception):
        raise outcome
    return outcome
