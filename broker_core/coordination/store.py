"""The coordination store's contract: ZooKeeper's data model, sessions and one-shot watches.

Two implementations pass the same contract tests: `zookeeper/` (kazoo) and the in-memory twin of the tests.

Order: operations of one session take effect in the order they were called; a watch's callback runs before any reply
that shows the change it announces. Every operation belongs to the session it was called in: once that session has
expired it raises `SessionExpired` and is never carried over into the next one. An operation whose reply was lost raises
`ConnectionLoss`; it may or may not have taken effect.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from typing import Protocol

from msgspec import Struct


class StoreError(Exception):
    """A store operation failed; the message names the path. `index` is the failed operation's position in a multi."""

    index: int = 0


class Malformed(StoreError):
    """What a znode holds cannot be read as what it should be."""


class NoNode(StoreError):
    """The znode, or the parent of the one to create, is not there."""


class NodeExists(StoreError):
    """The znode to create is there already."""


class BadVersion(StoreError):
    """The znode's version is not the expected one."""


class NotEmpty(StoreError):
    """The znode to delete has children."""


class TooLarge(StoreError):
    """More than one operation may carry; nothing was sent."""


class ConnectionLoss(StoreError):
    """The connection broke before the reply came; the operation may have taken effect."""


class SessionExpired(StoreError):
    """The session that the operation belongs to is over; it did not take effect."""


class SessionState(enum.Enum):
    """What session listeners are told."""

    CONNECTED = "connected"
    SUSPENDED = "suspended"
    EXPIRED = "expired"


class WatchEvent(enum.Enum):
    """What a one-shot watch reports."""

    CREATED = "created"
    DELETED = "deleted"
    CHANGED = "changed"
    CHILDREN = "children"


class Stat(Struct, frozen=True):
    """A znode's version (-1 never occurs here), creation zxid, owner session (0 = persistent) and times in ms."""

    version: int
    czxid: int
    mzxid: int
    ephemeral_owner: int
    ctime_ms: int
    mtime_ms: int


class Create(Struct, frozen=True):
    path: str
    data: bytes
    ephemeral: bool = False


class SetData(Struct, frozen=True):
    path: str
    data: bytes
    version: int = -1


class Delete(Struct, frozen=True):
    path: str
    version: int = -1


class Check(Struct, frozen=True):
    """The znode is there in this version; -1: in any."""

    path: str
    version: int


Op = Create | SetData | Delete | Check
OpResult = str | Stat | None
"""The created path, the new `Stat`, or None for Delete and Check."""

MOST_BYTES = 1_000_000
"""Of the paths and data of one operation or multi. ZooKeeper closes the connection on a request above 1 MiB (jute.maxbuffer)."""


def check_size(ops: Sequence[Op]) -> None:
    """Raises `TooLarge`: once sent it would break the connection at each try, for everybody."""
    size = sum(len(op.path) + len(op.data) for op in ops if isinstance(op, Create | SetData))
    if size > MOST_BYTES:
        raise TooLarge(f"{ops[0].path}: {size} bytes are more than the {MOST_BYTES} that can be written at once")


Watcher = Callable[[WatchEvent, str], None]
SessionListener = Callable[[SessionState], None]


class Store(Protocol):
    """One client of the store with one session at a time."""

    @property
    def session_id(self) -> int:
        """The present session's id; 0 before `connect` and after an expiry until `connect` is called again."""
        ...

    async def connect(self, timeout_ms: float) -> int:
        """Opens a (new) session and returns its id; `ConnectionLoss` when the store is not reached in time."""
        ...

    async def close(self) -> None:
        """Ends the session: its ephemeral znodes go at once."""
        ...

    def add_listener(self, listener: SessionListener) -> None:
        """Tells of session changes from now on; after EXPIRED all watches are gone."""
        ...

    async def create(self, path: str, data: bytes, *, ephemeral: bool = False, sequence: bool = False) -> str: ...

    async def get(self, path: str, watch: Watcher | None = None) -> tuple[bytes, Stat]:
        """Data and stat; on `NoNode` no watch is left behind (use `exists` for that)."""
        ...

    async def get_many(self, paths: Sequence[str]) -> list[tuple[bytes, Stat] | None]:
        """Data and stat of each as they were at one moment, None of those that are not there; a hundred or so in one call."""
        ...

    async def exists(self, path: str, watch: Watcher | None = None) -> Stat | None: ...

    async def children(self, path: str, watch: Watcher | None = None) -> list[str]:
        """Names of the children, sorted."""
        ...

    async def set(self, path: str, data: bytes, version: int = -1) -> Stat: ...

    async def delete(self, path: str, version: int = -1) -> None: ...

    async def multi(self, ops: Sequence[Op]) -> list[OpResult]:
        """All or nothing; raises the first failing operation's error, which has its position as `index`."""
        ...
