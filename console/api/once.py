"""`Idempotency-Key`: what was done for a key is not done again for it, but answered as it was; and the headers that answers carry.

A key is its token's own. Only what was done is kept: what was refused or failed did nothing that could be done twice, and may be asked
again. Two requests with one key at the same time: the second is refused while the first is under way.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.crypto import salted_hmac

from console.errors import Conflict, Invalid
from console.models import ApiToken, KeptAnswer, trim

HEADER = "Idempotency-Key"
KEY = re.compile(r"[\x21-\x7e]{1,200}")
KEPT = timedelta(hours=24)
ABANDONED = timedelta(minutes=10)
"""After so long a request without an answer is taken for one whose process died."""
BODY_BYTES_MAX = 256 * 1024
CLEAN_EVERY = 100


class Answered(Exception):
    """The key's request was done before."""

    def __init__(self, row: KeptAnswer) -> None:
        self.row = row


def begin(request: HttpRequest) -> None:
    """Takes the request's key, if it has one, before the change is made; `Answered` where it was made already."""
    key = request.headers.get(HEADER)
    if key is None or request.method in ("GET", "HEAD"):
        return
    if not KEY.fullmatch(key):
        raise Invalid(HEADER, "A key has 1 to 200 visible ASCII characters and no spaces: take a random one for each change.")
    holder, asked = ApiToken.digest_of(request.headers.get("Authorization", "")), _asked(request)
    KeptAnswer.objects.filter(_over(), holder=holder, key=key).delete()
    row, is_new = KeptAnswer.objects.get_or_create(holder=holder, key=key, defaults={"asked": asked})
    if is_new:
        request.kept_answer = row  # type: ignore[attr-defined]
        return
    if row.asked != asked:
        raise Invalid(HEADER, "This key was used for another request: take a new one for each change.")
    if row.status == 0:
        raise Conflict("The request with this key is under way.")
    raise Answered(row)


def _asked(request: HttpRequest) -> str:
    said = b"\0".join(((request.method or "").encode(), request.get_full_path().encode(), request.body))
    return salted_hmac(HEADER, said, algorithm="sha256").hexdigest()  # a body may hold a password, which a mere hash would let be guessed


def _over() -> Q:
    now = timezone.now()
    return Q(at__lt=now - KEPT) | Q(at__lt=now - ABANDONED, status=0)


def replayed(request: HttpRequest, error: Any) -> HttpResponse:
    """The answer of an `Answered`."""
    response = HttpResponse(error.row.body, status=error.row.status)
    if error.row.body:
        response.headers["Content-Type"] = "application/json; charset=utf-8"
    else:
        del response.headers["Content-Type"]
    response.headers["Idempotency-Replayed"] = "true"
    return response


def finish_answers(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Keeps what was answered for a key, and gives the answer its ETag."""

    def middleware(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        if (tag := getattr(request, "etag", None)) is not None and response.status_code < 300:
            response.headers["ETag"] = tag
        if (row := getattr(request, "kept_answer", None)) is not None:
            _keep(row, response)
        return response

    return middleware


def _keep(row: KeptAnswer, response: HttpResponse) -> None:
    if not 200 <= response.status_code < 300 or len(response.content) > BODY_BYTES_MAX:
        row.delete()
        return
    row.status, row.body = response.status_code, response.content.decode()
    row.save()
    if row.pk % CLEAN_EVERY == 0:
        KeptAnswer.objects.filter(_over()).delete()
        trim(KeptAnswer.objects.all(), KeptAnswer.KEEP)
