"""A schema registry's REST, as Confluent's has it: only the address that an admin set is asked, redirects are not followed, and each
answer has a limit of size and of time."""

from __future__ import annotations

import base64
import http.client
from typing import Any
from urllib.parse import quote, urlsplit

import msgspec
from msgspec import Struct

from console.gateway.bounded_http import NotHad, get
from console.gateway.errors import GatewayError
from console.gateway.sealing import unseal
from console.rules.records.schemas import KINDS, Kind

ASK_S = 4.0
"""For one answer, from the connection to its last byte."""
ANSWER_BYTES_MAX = 4 * 1024 * 1024
TEXT_BYTES_MAX = 1024 * 1024
REFERENCES_MAX, REFERENCE_DEPTH_MAX = 50, 10
SAID_CHARS = 200
SCHEMA_NOT_FOUND = 40403


class Unavailable(GatewayError):
    """It cannot be had: `is_missing` where the registry says that there is none, `is_of_schema` where it would not be had later either."""

    def __init__(self, said: str, *, is_missing: bool = False, is_of_schema: bool = False) -> None:
        super().__init__("SCHEMA_REGISTRY", said)
        self.is_missing, self.is_of_schema = is_missing, is_of_schema


class Reference(Struct, frozen=True):
    name: str
    subject: str
    version: int


class _Answer(Struct, frozen=True, rename="camel"):
    schema: str
    schema_type: str = "AVRO"
    references: list[Reference] = []


class _Refusal(Struct, frozen=True):
    error_code: int
    message: str = ""


class _Place(Struct, frozen=True):
    subject: str
    version: int


class Schema(Struct, frozen=True, kw_only=True):
    """`references`: the texts that it refers to by their names, those before which others need; `subjects` with its version there."""

    id: int
    type: Kind
    text: str
    references: tuple[tuple[str, str], ...] = ()
    subjects: tuple[tuple[str, int], ...] = ()


class SchemaRegistry:
    """Every method raises `Unavailable`, with words that name the address."""

    def __init__(self, url: str, username: str = "", password: str = "", ca_pem: str = "") -> None:
        self.url, self._ca_pem = url, ca_pem
        self._path = urlsplit(url).path
        self._headers = {"Accept": "application/vnd.schemaregistry.v1+json, application/json", "User-Agent": "highwater"}
        if username:
            self._headers["Authorization"] = f"Basic {base64.b64encode(f'{username}:{password}'.encode()).decode()}"

    def subjects(self) -> int:
        """How many there are."""
        return len(self._read("/subjects", list[str]))

    def schema(self, number: int) -> Schema:
        """With what it refers to."""
        found = self._read(f"/schemas/ids/{number}", _Answer)
        texts: dict[str, str] = {}
        self._refer(found, texts, 0)
        return Schema(
            id=number, type=_kind(found), text=_text(found), references=tuple(texts.items()), subjects=tuple(self._subjects(number))
        )

    def _subjects(self, number: int) -> list[tuple[str, int]]:
        """None of a registry that does not tell."""
        try:
            return [(place.subject, place.version) for place in self._read(f"/schemas/ids/{number}/versions", list[_Place])]
        except Unavailable:
            return []

    def _refer(self, schema: _Answer, texts: dict[str, str], depth: int) -> None:
        """What a reference needs comes before it; one that is met twice is asked for once."""
        if depth > REFERENCE_DEPTH_MAX:
            raise Unavailable(f"its references lead more than {REFERENCE_DEPTH_MAX} schemas deep", is_of_schema=True)
        for reference in schema.references:
            if reference.name in texts:
                continue
            if len(texts) >= REFERENCES_MAX:
                raise Unavailable(f"it refers to more than {REFERENCES_MAX} schemas", is_of_schema=True)
            found = self._read(f"/subjects/{quote(reference.subject, safe='')}/versions/{reference.version}", _Answer)
            self._refer(found, texts, depth + 1)
            texts[reference.name] = _text(found)

    def _read(self, path: str, kind: type[Any]) -> Any:
        status, raw = self._ask(self._path + path)
        if status != http.client.OK:
            raise self._refused(status, raw)
        try:
            return msgspec.json.decode(raw, type=kind)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            raise Unavailable(f"{self.url} answers otherwise than a schema registry does") from None

    def _refused(self, status: int, raw: bytes) -> Unavailable:
        if status in (http.client.UNAUTHORIZED, http.client.FORBIDDEN):
            return Unavailable(f"{self.url} refuses the user and password that are set ({status})")
        if 300 <= status < 400:
            return Unavailable(f"{self.url} redirects to another address ({status}), which is not followed: set that address itself")
        code, said = _said(raw)
        is_missing = status == http.client.NOT_FOUND and code == SCHEMA_NOT_FOUND
        return Unavailable(f"{self.url} answers {status}{f': {said}' if said else ''}", is_missing=is_missing)

    def _ask(self, path: str) -> tuple[int, bytes]:
        try:
            return get(self.url, path, self._headers, self._ca_pem, within_s=ASK_S, bytes_max=ANSWER_BYTES_MAX)
        except NotHad as error:
            raise Unavailable(f"{self.url} {error}") from None


def _kind(found: _Answer) -> Kind:
    if found.schema_type not in KINDS:
        raise Unavailable(f"it is of the type {found.schema_type[:40]}, which is not known here", is_of_schema=True)
    return found.schema_type


def _text(found: _Answer) -> str:
    if len(found.schema) > TEXT_BYTES_MAX:
        raise Unavailable(f"its text has more than {TEXT_BYTES_MAX // 1024**2} MiB", is_of_schema=True)
    return found.schema


def _said(raw: bytes) -> tuple[int | None, str]:
    """The registry's own code and words; nothing of an answer that is none of its kind."""
    try:
        found = msgspec.json.decode(raw, type=_Refusal)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None, ""
    return found.error_code, "".join(character for character in found.message[:SAID_CHARS] if character.isprintable())


def registry_of(row: Any) -> SchemaRegistry:
    """Of a row of `SchemaRegistry`; raises `GatewayError` where its password cannot be read any more."""
    return SchemaRegistry(row.url, row.username, unseal(row.secrets).get("password", ""), row.ca_pem)
