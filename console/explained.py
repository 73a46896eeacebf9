"""What went wrong, told: one place that knows which kind of problem each of the console's errors is."""

from __future__ import annotations

from typing import NamedTuple

from django.core.exceptions import RequestDataTooBig
from django.db import InterfaceError, OperationalError

from console.errors import Conflict, Invalid, Outdated, Unconfirmed
from console.gateway.errors import GatewayError
from console.gateway.refusals import kind_of, sentence
from console.queries import BadQuery, NotFound
from console.roles import Refused
from console.rules import problems
from console.rules.problems import Kind
from console.snapshot.moments import HistoryUnavailable, NotRecorded
from console.snapshot.read import SnapshotUnavailable


class Problem(NamedTuple):
    """`field` names what of the request is wrong; `kafka` has Kafka's code and its name, where the cluster gave one."""

    kind: Kind
    detail: str
    field: str | None = None
    kafka: tuple[int, str] | None = None


_SAID_BY_ITSELF: dict[type[Exception], Kind] = {
    Refused: problems.FORBIDDEN,
    NotFound: problems.NOT_FOUND,
    Conflict: problems.CONFLICT,
    Outdated: problems.OUTDATED,
    SnapshotUnavailable: problems.SNAPSHOT_AWAY,
    HistoryUnavailable: problems.HISTORY_AWAY,
    NotRecorded: problems.NOT_FOUND,
}
"""Errors whose message says all."""
_SAID_BY_KIND: dict[type[Exception], Kind] = {
    RequestDataTooBig: problems.TOO_LARGE,
    OperationalError: problems.DATABASE_AWAY,
    InterfaceError: problems.DATABASE_AWAY,
}
"""Errors of whose message nothing is told."""
EXPLAINED = (*_SAID_BY_ITSELF, *_SAID_BY_KIND, Invalid, BadQuery, GatewayError)


def explain(error: Exception) -> Problem:
    """Of one of `EXPLAINED`; all else is an error of ours."""
    match error:
        case Unconfirmed():
            return Problem(problems.UNCONFIRMED, error.detail, error.field)
        case Invalid():
            return Problem(problems.INVALID, error.detail, error.field)
        case BadQuery():
            return Problem(problems.BAD_QUERY, str(error), error.field)
        case GatewayError():
            kafka = None if error.code is None else (error.code, error.name)
            return Problem(kind_of(error), sentence(error), kafka=kafka)
    for known, kind in _SAID_BY_ITSELF.items():
        if isinstance(error, known):
            return Problem(kind, str(error))
    kind = next((kind for known, kind in _SAID_BY_KIND.items() if isinstance(error, known)), problems.INTERNAL_ERROR)
    return Problem(kind, kind.advice)
