"""What may be entered as a destination of alerts: each wrong value is refused at its field, in words. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from console.errors import Invalid
from console.rules.registration import HOST, PASSWORD_LIMIT, USER_LIMIT

KINDS = {"webhook": "Webhook (JSON)", "slack": "Slack, incoming webhook", "mail": "E-mail, by SMTP"}
SECURITY = {"starttls": "STARTTLS", "tls": "TLS from the beginning", "none": "none: everything is readable on the way"}
REPORTS = {"": "alerts only", "news": "health reports too, where something is new, worse or gone", "all": "each health report too"}
"""What else a mail is sent for."""
NAME_MAX, URL_MAX, TO_MAX = 60, 1_000, 20
ADDRESS = re.compile(r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9.-]{0,250}[A-Za-z0-9])?")


class Destination(NamedTuple):
    """`settings` may be shown, `secrets` never."""

    name: str
    kind: str
    settings: dict[str, Any]
    secrets: dict[str, str]


def checked(given: Mapping[str, str]) -> Destination:
    name = " ".join(given.get("name", "").split())
    if not 1 <= len(name) <= NAME_MAX or not name.isprintable():
        raise Invalid("name", f"Give it a name of 1 to {NAME_MAX} characters.")
    kind = given.get("kind", "")
    if kind not in KINDS:
        raise Invalid("kind", f"{kind[:60]!r} is none of {', '.join(KINDS)}.")
    if kind == "mail":
        return Destination(name, kind, _mail(given), {"password": _secret(given, "password")})
    url = _url(given.get("url", "").strip())
    secrets = {"url": url} | ({"secret": _secret(given, "secret")} if kind == "webhook" else {})
    return Destination(name, kind, {"host": urlsplit(url).hostname or ""}, secrets)


def _url(text: str) -> str:
    try:
        parts = urlsplit(text)
        fits = parts.scheme in ("https", "http") and bool(HOST.fullmatch(parts.netloc.rpartition("@")[2].split(":")[0] or "-"))
        fits = (fits or parts.netloc.startswith("[")) and (parts.port is None or parts.port > 0)
    except ValueError:
        fits = False
    if not fits or len(text) > URL_MAX or not text.isascii() or not text.isprintable() or " " in text:
        raise Invalid("url", "Give an address that begins with https:// or http://, as https://hooks.example.org/alerts.")
    if parts.username is not None or parts.fragment:
        raise Invalid("url", "Neither a user before the host nor a # is sent to a server: leave it away.")
    return text


def _mail(given: Mapping[str, str]) -> dict[str, Any]:
    host, port, security = given.get("host", "").strip(), given.get("port", "").strip(), given.get("security", "")
    if not HOST.fullmatch(host):
        raise Invalid("host", "Give the name or address of the mail server, as smtp.example.org.")
    if not (port.isascii() and port.isdigit() and len(port) <= 5 and 0 < int(port) < 65_536):
        raise Invalid("port", "A port is a number from 1 to 65535: 587 with STARTTLS, 465 with TLS, as a rule.")
    if security not in SECURITY:
        raise Invalid("security", f"{security[:60]!r} is none of {', '.join(SECURITY)}.")
    user = given.get("user", "").strip()
    if len(user) > USER_LIMIT or (user and not user.isprintable()):
        raise Invalid("user", f"A user has at most {USER_LIMIT} characters, without line ends.")
    if user and security == "none":
        raise Invalid("security", "A password is not sent where everybody on the way can read it: choose STARTTLS or TLS.")
    to = list(dict.fromkeys(given.get("to", "").replace(",", " ").split()))
    if not 1 <= len(to) <= TO_MAX:
        raise Invalid("to", f"Give 1 to {TO_MAX} addresses, with commas.")
    sender = given.get("sender", "").strip()
    for field, address in (("sender", sender), *(("to", one) for one in to)):
        if not ADDRESS.fullmatch(address):
            raise Invalid(field, f"{address[:80]!r} is no address of mail, as ann@example.org.")
    reports = given.get("reports", "")
    if reports not in REPORTS:
        raise Invalid("reports", f"{reports[:60]!r} is none of news, all, or nothing.")
    return {"host": host, "port": int(port), "security": security, "user": user, "sender": sender, "to": to, "reports": reports}


def _secret(given: Mapping[str, str], field: str) -> str:
    text = given.get(field, "")
    if len(text) > PASSWORD_LIMIT or (text and not text.isprintable()):
        raise Invalid(field, f"It has at most {PASSWORD_LIMIT} characters, without line ends.")
    return text
