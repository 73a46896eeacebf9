"""What older clients know of the codes that transactions have, and what is told of a question to their coordinator that had no answer."""

from __future__ import annotations

from broker_core.errors import ErrorCode

FENCED_SINCE = 2
COORDINATOR_UNHEARD = frozenset(
    {
        ErrorCode.CONCURRENT_TRANSACTIONS,
        ErrorCode.NETWORK_EXCEPTION,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
    }
)
"""It is not known whether a partition is in a transaction; who asks again may be told."""


def known_to(version: int, code: ErrorCode, fenced_since: int = FENCED_SINCE) -> ErrorCode:
    """Before PRODUCER_FENCED came, its clients were told INVALID_PRODUCER_EPOCH."""
    return ErrorCode.INVALID_PRODUCER_EPOCH if code is ErrorCode.PRODUCER_FENCED and version < fenced_since else code


def unverified(code: ErrorCode, *, unheard: ErrorCode, knows_abortable: bool) -> ErrorCode:
    """What a client is told whose write may not begin a transaction here; `unheard` is what it asks again after."""
    if code in COORDINATOR_UNHEARD:
        return unheard
    if code is ErrorCode.PRODUCER_FENCED:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    return ErrorCode.INVALID_TXN_STATE if code is ErrorCode.TRANSACTION_ABORTABLE and not knows_abortable else code
