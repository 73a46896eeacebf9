"""What went wrong, told: one place that knows which kind of problem each error is, those of the web framework included."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from django.core.exceptions import RequestDataTooBig
from django.db import InterfaceError, OperationalError
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from ninja.errors import HttpError, ValidationError

from console.errors import Conflict, Invalid, Outdated, ReadOnly, TooManyStreams, Unconfirmed
from console.gateway.errors import GatewayError, WrongSettings
from console.gateway.refusals import kind_of, sentence
from console.queries import BadQuery, NotFound, NotKnown
from console.roles import Refused
from console.rules import problems
from console.rules.problems import Kind, kind_of_status
from console.rules.records.query import WrongQuery
from console.searches.store import TooMany
from console.snapshot.moments import HistoryUnavailable, NotRecorded
from console.snapshot.read import SnapshotUnavailable
from console.wanted.reading import Unreadable

ERRORS_TOLD = 20
"""Of one request's wrong fields."""


class Problem(NamedTuple):
    """`field` names what of the request is wrong, `errors` each of several as `{field, detail}`; `kafka` has Kafka's code and its name,
    where the cluster gave one."""

    kind: Kind
    detail: str
    field: str | None = None
    kafka: tuple[int, str] | None = None
    errors: Sequence[dict[str, str]] | None = None


_SAID_BY_ITSELF: dict[type[Exception], Kind] = {
    Refused: problems.FORBIDDEN,
    NotFound: problems.NOT_FOUND,
    NotKnown: problems.NOT_KNOWN,
    ReadOnly: problems.CLUSTER_READ_ONLY,
    Conflict: problems.CONFLICT,
    Outdated: problems.OUTDATED,
    SnapshotUnavailable: problems.SNAPSHOT_AWAY,
    HistoryUnavailable: problems.HISTORY_AWAY,
    NotRecorded: problems.NOT_FOUND,
    TooMany: problems.READERS_BUSY,
    TooManyStreams: problems.TOO_MANY_REQUESTS,
}
"""Errors whose message says all; of two that fit, the first is taken."""
_SAID_BY_KIND: dict[type[Exception], Kind] = {
    RequestDataTooBig: problems.TOO_LARGE,
    OperationalError: problems.DATABASE_AWAY,
    InterfaceError: problems.DATABASE_AWAY,
}
"""Errors of whose message nothing is told."""
EXPLAINED = (*_SAID_BY_ITSELF, *_SAID_BY_KIND, Invalid, Unreadable, BadQuery, WrongQuery, GatewayError, ValidationError, HttpError)


def explain(error: Exception) -> Problem:
    """Of one of `EXPLAINED`; all else is an error of ours."""
    match error:
        case Invalid():
            return Problem(problems.UNCONFIRMED if isinstance(error, Unconfirmed) else problems.INVALID, error.detail, error.field)
        case BadQuery() | WrongQuery():
            return Problem(problems.BAD_QUERY, str(error), error.field)
        case GatewayError():
            kafka = None if error.code is None else (error.code, error.name)
            return Problem(kind_of(error), sentence(error), kafka=kafka, **_wrong_settings(error))
        case Unreadable() | ValidationError() | HttpError():
            return _unread_file(error) if isinstance(error, Unreadable) else _unread_body(error)
    for known, kind in _SAID_BY_ITSELF.items():
        if isinstance(error, known):
            return Problem(kind, str(error))
    kind = next((kind for known, kind in _SAID_BY_KIND.items() if isinstance(error, known)), problems.INTERNAL_ERROR)
    return Problem(kind, kind.advice)


def _wrong_settings(error: GatewayError) -> dict[str, Any]:
    """At which settings, where that is known."""
    if not isinstance(error, WrongSettings):
        return {}
    errors = [{"field": f"configs.{name}", "detail": sentence(one)} for name, one in error.errors.items()][:ERRORS_TOLD]
    return {"field": errors[0]["field"], "errors": errors}


def _unread(error: HttpError) -> Problem:
    """The request never came to a route: its body is no JSON."""
    kind = kind_of_status(error.status_code)
    return Problem(kind, f"{str(error).rstrip('.')}. {kind.advice}".strip())


def _unread_file(error: Unreadable) -> Problem:
    errors = [{"field": str(fault.place), "detail": fault.words} for fault in error.faults]
    return Problem(problems.INVALID, str(error.faults[0]), errors[0]["field"], errors=errors)


def _unread_body(error: ValidationError | HttpError) -> Problem:
    return _malformed(error) if isinstance(error, ValidationError) else _unread(error)


def _malformed(error: ValidationError) -> Problem:
    """The first wrong field is named; all of them are listed. 400 for a value of the query, 422 for a field of the body."""
    found = [{"field": _field(one["loc"]), "detail": str(one["msg"])} for one in error.errors[:ERRORS_TOLD]]
    kind = problems.BAD_QUERY if error.errors[0]["loc"][0] == "query" else problems.INVALID
    return Problem(kind, f"{found[0]['field']}: {found[0]['detail']}", found[0]["field"], errors=found)


def _field(location: Sequence[object]) -> str:
    words = [str(word) for word in location if word not in ("body", "query", "path", "payload")]
    return ".".join(words) or "body"


def explain_answer(request: HttpRequest, answer: HttpResponseBase) -> Problem:
    """Of an error that Django answered by itself: an address that is none, a method that it does not take."""
    kind, allowed = kind_of_status(answer.status_code), sorted(answer.headers.get("Allow", "").split(", "))
    said = f"this address takes {', '.join(allowed)}." if any(allowed) else f"{answer.reason_phrase}. {kind.advice}"
    return Problem(kind, f"{request.method} {request.path}: {said}")
