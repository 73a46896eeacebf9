"""A cookie that proves that this browser has signed in to an account before; it opens nothing by itself."""

from __future__ import annotations

import secrets
from typing import TypeVar

from django.conf import settings
from django.core import signing
from django.http import HttpRequest, HttpResponse

COOKIE = "highwater_device"
DAYS = 90
Answer = TypeVar("Answer", bound=HttpResponse)


def device_of(request: HttpRequest, name: str) -> str:
    """The device's own name where its cookie is ours and of this account, else empty."""
    try:
        device, account = signing.loads(request.COOKIES.get(COOKIE, ""), salt=COOKIE, max_age=DAYS * 86_400)
    except (signing.BadSignature, ValueError, TypeError):
        return ""
    return str(device) if account == name else ""


def remember_device(answer: Answer, request: HttpRequest, name: str) -> Answer:
    device = device_of(request, name) or secrets.token_urlsafe(12)
    value = signing.dumps((device, name), salt=COOKIE)
    answer.set_cookie(COOKIE, value, max_age=DAYS * 86_400, httponly=True, samesite="Lax", secure=settings.SESSION_COOKIE_SECURE)
    return answer
