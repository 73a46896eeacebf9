"""The store's operations as kazoo calls, and kazoo's answers and errors as the store's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from kazoo import exceptions as kazoo_errors
from kazoo.protocol.serialization import GetData, MultiHeader, ZnodeStat, int_struct, multiheader_struct, read_buffer, stat_struct

from broker_core.coordination.store import (
    BadVersion,
    Check,
    ConnectionLoss,
    Create,
    Delete,
    NodeExists,
    NoNode,
    NotEmpty,
    Op,
    OpResult,
    SessionExpired,
    SetData,
    Stat,
    StoreError,
)

_NO_TYPE = -1
"""Of an operation that failed, and of the end."""


class UnknownRequest(StoreError):
    """The server is too old to have the request."""


_ERRORS: tuple[tuple[type[Exception], type[StoreError]], ...] = (
    (kazoo_errors.NoNodeError, NoNode),
    (kazoo_errors.NodeExistsError, NodeExists),
    (kazoo_errors.BadVersionError, BadVersion),
    (kazoo_errors.NotEmptyError, NotEmpty),
    (kazoo_errors.UnimplementedError, UnknownRequest),
    (kazoo_errors.SessionExpiredError, SessionExpired),
    (kazoo_errors.ConnectionLoss, ConnectionLoss),
    (kazoo_errors.ConnectionClosedError, ConnectionLoss),
    (kazoo_errors.OperationTimeoutError, ConnectionLoss),
)


class MultiRead:
    """ZooKeeper's request for the data of several znodes (since 3.6), which kazoo does not have.

    Its answer is a list of (data, stat), with None for a znode that is not there.
    """

    type = 22

    def __init__(self, paths: Sequence[str]) -> None:
        self._operations = [GetData(path, None) for path in paths]

    def serialize(self) -> bytearray:
        out = bytearray()
        for operation in self._operations:
            out += MultiHeader(operation.type, False, -1).serialize() + operation.serialize()
        out += multiheader_struct.pack(_NO_TYPE, True, -1)
        return out

    @staticmethod
    def deserialize(data: bytes, offset: int) -> list[tuple[bytes, Any] | None]:
        found: list[tuple[bytes, Any] | None] = []
        header, offset = MultiHeader.deserialize(data, offset)
        while not header.done:
            if header.type == _NO_TYPE:
                found.append(None)
                offset += int_struct.size
            else:
                value, offset = read_buffer(data, offset)
                found.append((value, ZnodeStat._make(stat_struct.unpack_from(data, offset))))
                offset += stat_struct.size
            header, offset = MultiHeader.deserialize(data, offset)
        return found


def begin_get_many(client: Any, paths: Sequence[str]) -> Any:
    answer = client.handler.async_result()
    client._call(MultiRead([client.chroot + path for path in paths]), answer)
    return answer


def begin_create(client: Any, path: str, data: bytes, ephemeral: bool = False, sequence: bool = False) -> Any:
    return client.create_async(path, data, ephemeral=ephemeral, sequence=sequence)


def begin_exists(client: Any, path: str, watch: Callable[[Any], None] | None) -> Any:
    return client.exists_async(path, watch)


def begin_children(client: Any, path: str, watch: Callable[[Any], None] | None) -> Any:
    return client.get_children_async(path, watch, include_data=True)


def begin_multi(client: Any, ops: Sequence[Op]) -> Any:
    transaction = client.transaction()
    for op in ops:
        match op:
            case Create():
                transaction.create(op.path, op.data, ephemeral=op.ephemeral)
            case SetData():
                transaction.set_data(op.path, op.data, op.version)
            case Delete():
                transaction.delete(op.path, op.version)
            case Check():
                transaction.check(op.path, op.version)
    return transaction.commit_async()


def multi_results(ops: Sequence[Op], values: Sequence[Any]) -> list[OpResult]:
    """Of a failed multi every result is an error; the ones that only share the fate of another are passed over."""
    for index, value in enumerate(values):
        if isinstance(value, Exception) and not isinstance(value, kazoo_errors.RolledBackError | kazoo_errors.RuntimeInconsistency):
            error = translated(value, ops[index].path)
            error.index = index
            raise error
    return [_multi_result(op, value) for op, value in zip(ops, values, strict=True)]


def _multi_result(op: Op, value: Any) -> OpResult:
    match op:
        case Create():
            return str(value)
        case SetData():
            return to_stat(value)
        case _:
            return None


def to_stat(stat: Any) -> Stat:
    return Stat(stat.version, stat.czxid, stat.mzxid, stat.ephemeralOwner, stat.ctime, stat.mtime)


def translated(error: Exception, path: str) -> StoreError:
    for kazoo_error, store_error in _ERRORS:
        if isinstance(error, kazoo_error):
            return store_error(f"{path}: {type(error).__name__}")
    return StoreError(f"{path}: {error!r}")
