"""The store's operations as kazoo calls, and kazoo's answers and errors as the store's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from kazoo import exceptions as kazoo_errors

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

_ERRORS: tuple[tuple[type[Exception], type[StoreError]], ...] = (
    (kazoo_errors.NoNodeError, NoNode),
    (kazoo_errors.NodeExistsError, NodeExists),
    (kazoo_errors.BadVersionError, BadVersion),
    (kazoo_errors.NotEmptyError, NotEmpty),
    (kazoo_errors.SessionExpiredError, SessionExpired),
    (kazoo_errors.ConnectionLoss, ConnectionLoss),
    (kazoo_errors.ConnectionClosedError, ConnectionLoss),
    (kazoo_errors.OperationTimeoutError, ConnectionLoss),
)


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
