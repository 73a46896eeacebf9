"""The server's side of the in-memory store: one tree, sessions with expiry, one-shot watches.

A session lives while its client is in contact. Whoever moves the messages says when contact is lost and regained; a
session out of contact for its timeout expires, as ZooKeeper's does when no ping comes: its ephemeral znodes are deleted
and others' watches fire. Watches of a session out of contact stay, and what they would have said waits until contact is
regained, which is what a ZooKeeper client arranges by setting its watches again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from broker_core.coordination.store import Create, Delete, NoNode, Op, OpResult, SessionExpired, Stat, WatchEvent
from broker_core.seams import TimerHandle
from tests.support.memory_store.tree import Change, ZnodeTree

FIRST_SESSION_ID = 0x1000_0000
DATA, CHILD = "data", "child"

CallLater = Callable[[float, Callable[[], None]], TimerHandle]


class Read(Struct, frozen=True):
    """`kind` is get, exists or children."""

    kind: str
    path: str
    watch: bool


class ReadMany(Struct, frozen=True):
    """The data of several znodes at one moment."""

    paths: tuple[str, ...]
    kind: str = "get_many"


class Write(Struct, frozen=True):
    """One transaction; `sequence` makes its single Create a sequential one."""

    kind: str
    ops: tuple[Op, ...]
    sequence: bool = False


Request = Read | ReadMany | Write
Answer = tuple[bytes, Stat] | Stat | list[str] | list[OpResult] | list[tuple[bytes, Stat] | None] | None


class Session(Struct):
    """`deliver` carries a watch's event to the client, `expired` the end of the session."""

    session_id: int
    timeout_ms: float
    deliver: Callable[[WatchEvent, str], None]
    expired: Callable[[], None]
    in_contact: bool = True
    missed: list[Change] = field(default_factory=list)
    expiry: TimerHandle | None = None


class MemoryEnsemble:
    """Shared by all clients. Without `call_later` sessions expire only by `expire`."""

    def __init__(self, now_ms: Callable[[], int] = lambda: 0, call_later: CallLater | None = None) -> None:
        self.tree = ZnodeTree()
        self._now_ms = now_ms
        self._call_later = call_later
        self._sessions: dict[int, Session] = {}
        self._next_session_id = FIRST_SESSION_ID
        self._watches: dict[tuple[str, str], dict[int, None]] = {}
        self.expirations = 0
        self.after_change: Callable[[WatchEvent, str], None] | None = None
        """Called with each change of a znode, once its whole transaction has taken effect."""

    @property
    def session_ids(self) -> list[int]:
        return sorted(self._sessions)

    def open_session(self, timeout_ms: float, deliver: Callable[[WatchEvent, str], None], expired: Callable[[], None]) -> int:
        self._next_session_id += 1
        self._sessions[self._next_session_id] = Session(self._next_session_id, timeout_ms, deliver, expired)
        return self._next_session_id

    def is_open(self, session_id: int) -> bool:
        return session_id in self._sessions

    def lose_contact(self, session_id: int) -> None:
        """From now on the session's timeout runs."""
        session = self._sessions.get(session_id)
        if session is None or not session.in_contact:
            return
        session.in_contact = False
        if self._call_later is not None:
            session.expiry = self._call_later(session.timeout_ms, lambda: self.expire(session_id))

    def regain_contact(self, session_id: int) -> bool:
        """Delivers what the session missed; False when it has expired."""
        session = self._sessions.get(session_id)
        if session is None:
            return False
        session.in_contact = True
        _stop_expiry(session)
        missed, session.missed = session.missed, []
        for event, path in missed:
            session.deliver(event, path)
        return True

    def expire(self, session_id: int) -> None:
        """Ends the session now; its client hears of it when it is, or comes, in contact."""
        session = self._sessions.get(session_id)
        if session is None:
            return
        self.expirations += 1
        self.end_session(session_id)
        if session.in_contact:
            session.expired()

    def end_session(self, session_id: int) -> None:
        """Deletes the session's ephemeral znodes and forgets its watches."""
        session = self._sessions.pop(session_id, None)
        if session is None:
            return
        _stop_expiry(session)
        for watchers in self._watches.values():
            watchers.pop(session_id, None)
        for path in self.tree.owned_by(session_id):
            self._fire(self.tree.apply([Delete(path)], session_id, self._now_ms())[1])

    def handle(self, session_id: int, request: Request) -> Answer:
        """The answer, or the `StoreError` that a client would see."""
        if session_id not in self._sessions:
            raise SessionExpired(f"session {session_id:#x} has expired")
        if isinstance(request, Read):
            return self._read(session_id, request)
        if isinstance(request, ReadMany):
            nodes = [self.tree.find(path) for path in request.paths]
            return [None if node is None else (node.data, node.stat()) for node in nodes]
        ops = self._sequenced(request.ops[0]) if request.sequence else request.ops
        results, changes = self.tree.apply(ops, session_id, self._now_ms())
        self._fire(changes)
        return results

    def _sequenced(self, op: Op) -> Sequence[Op]:
        assert isinstance(op, Create)
        return [replace(op, path=self.tree.sequenced(op.path))]

    def _read(self, session_id: int, request: Read) -> Answer:
        node = self.tree.find(request.path)
        if node is None and request.kind != "exists":
            raise NoNode(f"no znode {request.path}")
        if request.watch:
            kind = CHILD if request.kind == "children" else DATA
            self._watches.setdefault((kind, request.path), {})[session_id] = None
        if node is None:
            return None
        if request.kind == "children":
            return self.tree.children(request.path)
        return (node.data, node.stat()) if request.kind == "get" else node.stat()

    def _fire(self, changes: Sequence[Change]) -> None:
        for event, path in changes:
            if self.after_change is not None:
                self.after_change(event, path)
            told: dict[int, None] = {}
            for kind in _kinds_of(event):
                told |= self._watches.pop((kind, path), {})
            for session_id in told:
                self._tell(self._sessions[session_id], event, path)

    def _tell(self, session: Session, event: WatchEvent, path: str) -> None:
        if session.in_contact:
            session.deliver(event, path)
        else:
            session.missed.append((event, path))


def _kinds_of(event: WatchEvent) -> tuple[str, ...]:
    if event is WatchEvent.CHILDREN:
        return (CHILD,)
    return (DATA, CHILD) if event is WatchEvent.DELETED else (DATA,)


def _stop_expiry(session: Session) -> None:
    if session.expiry is not None:
        session.expiry.cancel()
        session.expiry = None
