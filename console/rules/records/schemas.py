"""What is known of a schema in a registry, the bytes that name one, and what may be entered as a registry's address. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal, get_args
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from console.errors import Invalid
from console.rules.registration import HOST, PASSWORD_LIMIT, PEM_LIMIT, USER_LIMIT

MAGIC = 0
HEAD_BYTES = 5
"""Confluent's wire format: a zero, the schema's id in four bytes, big-endian; what follows is the schema's."""
URL_LIMIT = 500
PATH = re.compile(r"(?:/[A-Za-z0-9._~%-]{1,100}){0,8}")
Kind = Literal["AVRO", "PROTOBUF", "JSON"]
KINDS: tuple[Kind, ...] = get_args(Kind)
SECRET = "password"
FIELDS = ("url", "username", SECRET, "ca_pem")
Values = dict[str, str]


class SchemaName(Struct, frozen=True, kw_only=True):
    """The schema that something was decoded by: `type` as the registry calls it, one of the subjects that it is registered under (empty
    where that was not told) with its version there, and of Protobuf the message."""

    id: int
    type: Kind
    subject: str = ""
    version: int | None = None
    subjects: int = 0
    message: str = ""


def unframed(raw: bytes) -> tuple[int, bytes] | None:
    """The schema's id and what it is the schema of; None where it is no such format."""
    if len(raw) < HEAD_BYTES or raw[0] != MAGIC:
        return None
    return int.from_bytes(raw[1:HEAD_BYTES], "big"), raw[HEAD_BYTES:]


def likeliest(found: list[tuple[str, int]], topic: str, part: str) -> tuple[str, int | None]:
    """Of the subjects that have the schema, with its version there, the one that serializers name after topic and part, else the first."""
    named = dict(sorted(found))
    subject = f"{topic}-{part}" if f"{topic}-{part}" in named else next(iter(named), "")
    return subject, named.get(subject)


def shown_text(kind: Kind, text: str) -> str:
    """As people read it: JSON on lines of its own, what is no JSON as it is."""
    if kind == "PROTOBUF":
        return text
    try:
        return msgspec.json.format(text, indent=2)
    except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError):
        return text


def checked(now: Mapping[str, str], given: Mapping[str, Any]) -> Values:
    """All values, what is given in the place of what was. The password must come along where it would be given to another server."""
    values = {name: str(given.get(name, now[name])) for name in FIELDS}
    values["url"] = _url(values["url"])
    _check_texts(values)
    if values["password"] and not given.get("password") and _server(values["url"]) != _server(now["url"]):
        raise Invalid("password", "Enter the password again: with this change it would be given to another server.")
    if values["password"] and not values["username"]:
        raise Invalid("username", "Give the user that the password is of.")
    if values["ca_pem"] and not values["url"].startswith("https:"):
        raise Invalid("ca_pem", "Without https nobody shows a certificate: leave this empty.")
    return values


def _url(text: str) -> str:
    text = text.strip().rstrip("/")
    if len(text) > URL_LIMIT:
        raise Invalid("url", f"This is too long: {URL_LIMIT} characters are the most.")
    try:
        parts = urlsplit(text)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        raise Invalid("url", "This is no address: give it as https://registry.example.org:8081.") from None
    if parts.scheme not in ("http", "https") or not HOST.fullmatch(f"[{host}]" if ":" in host else host) or port == 0:
        raise Invalid("url", "Give the address as https://registry.example.org:8081.")
    if parts.username is not None or parts.password is not None:
        raise Invalid("url", "Give user and password in their own fields: addresses are shown.")
    if parts.query or parts.fragment or not PATH.fullmatch(parts.path) or ".." in parts.path:
        raise Invalid("url", "The address ends with its path: without ?, # and special characters.")
    return text


def _check_texts(values: Values) -> None:
    if len(values["username"]) > USER_LIMIT or not values["username"].isprintable() or ":" in values["username"]:
        raise Invalid("username", f"A user has up to {USER_LIMIT} characters, without line ends and colons.")
    if len(values["password"]) > PASSWORD_LIMIT:
        raise Invalid("password", f"A password has up to {PASSWORD_LIMIT} characters.")
    if len(values["ca_pem"]) > PEM_LIMIT:
        raise Invalid("ca_pem", f"Certificates have up to {PEM_LIMIT} characters.")


def _server(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    return parts.scheme, parts.netloc.lower()
