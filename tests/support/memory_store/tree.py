"""The znode tree of the in-memory store: ZooKeeper's data model without sessions on the wire.

`ZnodeTree.apply` takes one transaction (a list of operations), gives every change the same zxid, and leaves the tree
untouched when one of them fails. What changed comes back as `(WatchEvent, path)` pairs in order, for the watches.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from msgspec import Struct, field

from broker_core.coordination.store import (
    BadVersion,
    Check,
    Create,
    Delete,
    NodeExists,
    NoNode,
    NotEmpty,
    Op,
    OpResult,
    SetData,
    Stat,
    StoreError,
    WatchEvent,
)

Change = tuple[WatchEvent, str]


class Znode(Struct):
    """`creates` counts the children ever made: the number of the next sequential one."""

    data: bytes
    czxid: int
    mzxid: int
    ctime_ms: int
    mtime_ms: int
    owner: int = 0
    version: int = 0
    creates: int = 0
    children: dict[str, None] = field(default_factory=dict)

    def stat(self) -> Stat:
        return Stat(self.version, self.czxid, self.mzxid, self.owner, self.ctime_ms, self.mtime_ms)


def split(path: str) -> tuple[str, str]:
    """The parent's path and the znode's own name."""
    folder, name = path.rsplit("/", 1)
    return folder or "/", name


def parent_of(path: str) -> str:
    return split(path)[0]


def check_path(path: str) -> None:
    if (
        not path.startswith("/")
        or (len(path) > 1 and path.endswith("/"))
        or any(name in (".", "..") for name in path.split("/"))
        or "//" in path
    ):
        raise StoreError(f"not a znode path: {path!r}")


class ZnodeTree:
    """`zxid` numbers the last transaction that took effect."""

    def __init__(self) -> None:
        self.zxid = 0
        self.nodes = {"/": Znode(b"", 0, 0, 0, 0)}

    def find(self, path: str) -> Znode | None:
        check_path(path)
        return self.nodes.get(path)

    def get(self, path: str) -> Znode:
        node = self.find(path)
        if node is None:
            raise NoNode(f"no znode {path}")
        return node

    def children(self, path: str) -> list[str]:
        return sorted(self.get(path).children)

    def owned_by(self, session_id: int) -> list[str]:
        """Paths of the session's ephemeral znodes, sorted."""
        return sorted(path for path, node in self.nodes.items() if node.owner == session_id)

    def sequenced(self, path: str) -> str:
        """The path with the next number of its parent; the number is used up only if the create succeeds."""
        return f"{path}{self.get(parent_of(path)).creates:010d}"

    def apply(self, ops: Sequence[Op], session_id: int, now_ms: int) -> tuple[list[OpResult], list[Change]]:
        """All or nothing; the error of the first operation that fails carries its position as `index`."""
        transaction = _Transaction(self, session_id, now_ms)
        results: list[OpResult] = []
        for index, op in enumerate(ops):
            try:
                results.append(transaction.apply(op))
            except StoreError as error:
                transaction.roll_back()
                error.index = index
                raise
        self.zxid += 1
        return results, transaction.changes


class _Transaction:
    """Applies operations one by one and remembers how to take each back."""

    def __init__(self, tree: ZnodeTree, session_id: int, now_ms: int) -> None:
        self._tree = tree
        self._session_id = session_id
        self._now_ms = now_ms
        self._zxid = tree.zxid + 1
        self._undo: list[Callable[[], None]] = []
        self.changes: list[Change] = []

    def roll_back(self) -> None:
        for take_back in reversed(self._undo):
            take_back()

    def apply(self, op: Op) -> OpResult:
        match op:
            case Create():
                return self._create(op)
            case SetData():
                return self._set(op)
            case Delete():
                self._delete(op)
                return None
            case Check():
                self._versioned(op.path, op.version)
                return None

    def _create(self, op: Create) -> str:
        if self._tree.find(op.path) is not None:
            raise NodeExists(f"znode {op.path} is there already")
        folder, name = split(op.path)
        parent = self._tree.get(folder)
        if parent.owner:
            raise StoreError(f"ephemeral znode {folder} cannot have children")
        owner = self._session_id if op.ephemeral else 0
        self._link(parent, name, op.path, Znode(op.data, self._zxid, self._zxid, self._now_ms, self._now_ms, owner))
        parent.creates += 1
        self._undo.append(partial(self._take_back_create, parent, name, op.path))
        self.changes += [(WatchEvent.CREATED, op.path), (WatchEvent.CHILDREN, folder)]
        return op.path

    def _take_back_create(self, parent: Znode, name: str, path: str) -> None:
        del parent.children[name], self._tree.nodes[path]
        parent.creates -= 1

    def _set(self, op: SetData) -> Stat:
        node = self._versioned(op.path, op.version)
        self._undo.append(partial(_restore, node, node.data, node.mzxid, node.mtime_ms, node.version))
        _restore(node, op.data, self._zxid, self._now_ms, node.version + 1)
        self.changes.append((WatchEvent.CHANGED, op.path))
        return node.stat()

    def _delete(self, op: Delete) -> None:
        node = self._versioned(op.path, op.version)
        if node.children:
            raise NotEmpty(f"znode {op.path} has children")
        folder, name = split(op.path)
        parent = self._tree.get(folder)
        del parent.children[name], self._tree.nodes[op.path]
        self._undo.append(partial(self._link, parent, name, op.path, node))
        self.changes += [(WatchEvent.DELETED, op.path), (WatchEvent.CHILDREN, folder)]

    def _link(self, parent: Znode, name: str, path: str, node: Znode) -> None:
        parent.children[name] = None
        self._tree.nodes[path] = node

    def _versioned(self, path: str, version: int) -> Znode:
        node = self._tree.get(path)
        if version not in (-1, node.version):
            raise BadVersion(f"znode {path} has version {node.version}, not {version}")
        return node


def _restore(node: Znode, data: bytes, mzxid: int, mtime_ms: int, version: int) -> None:
    node.data, node.mzxid, node.mtime_ms, node.version = data, mzxid, mtime_ms, version
