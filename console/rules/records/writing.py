"""Records to be written, as forms, files and REST give them: a line of JSON each, or one that is repeated with what differs. Pure."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import msgspec
from msgspec import Struct

RECORDS_MAX = 1_000
BYTES_MAX = 8 * 1024 * 1024
Encoding = Literal["text", "base64"]


class WrongRecord(Exception):
    """`field` names what of the record cannot be."""

    def __init__(self, field: str, detail: str) -> None:
        super().__init__(detail)
        self.field = field


class NewRecord(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Key and value: null is none (of a value: a tombstone), what is no text is written as JSON. `encoding` is that of all texts."""

    key: Any = None
    value: Any = None
    headers: dict[str, str | None] = {}
    partition: int | None = None
    encoding: Encoding = "text"


class Raw(Struct, frozen=True):
    """As it is sent."""

    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes | None]]
    partition: int | None

    @property
    def size(self) -> int:
        return len(self.key or b"") + len(self.value or b"") + sum(len(name) + len(raw or b"") for name, raw in self.headers)


def read_lines(text: str) -> list[NewRecord]:
    """NDJSON: `{"key": …, "value": …, "headers": {…}, "partition": …}` a line, all parts optional."""
    found: list[NewRecord] = []
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                found.append(msgspec.json.decode(line, type=NewRecord))
            except (msgspec.MsgspecError, RecursionError) as error:
                raise WrongRecord("lines", f"Line {number}: {str(error)[:200]}") from None
            if len(found) > RECORDS_MAX:
                raise WrongRecord("lines", f"There are more than {RECORDS_MAX} records: write them in several goes.")
    return found


def read_headers(text: str) -> dict[str, str | None]:
    """`name=value` a line."""
    pairs = [line.partition("=") for line in text.splitlines() if line.strip()]
    if any(not sep for _, sep, _ in pairs):
        raise WrongRecord("headers", "Give a header a line, as name=value.")
    return {name.strip(): value for name, _, value in pairs}


def repeated(record: NewRecord, count: int, values: Callable[[int], Mapping[str, str]]) -> list[NewRecord]:
    """The record so often, `${n}` and the other names that `values` gives for each being put into its texts."""
    if not 1 <= count <= RECORDS_MAX:
        raise WrongRecord("count", f"Write 1 to {RECORDS_MAX} records at a time.")
    return [_filled(record, values(n)) for n in range(1, count + 1)]


def _filled(record: NewRecord, values: Mapping[str, str]) -> NewRecord:
    def fill(text: Any) -> Any:
        if isinstance(text, str):
            for name, value in values.items():
                text = text.replace(f"${{{name}}}", value)
        return text

    headers = {name: fill(value) for name, value in record.headers.items()}
    return msgspec.structs.replace(record, key=fill(record.key), value=fill(record.value), headers=headers)


def raw_of(records: Sequence[NewRecord], partitions: int | None) -> list[Raw]:
    """Bytes, checked against the limits and the topic's partitions (None: not known)."""
    if not records:
        raise WrongRecord("records", "There is no record to be written.")
    if len(records) > RECORDS_MAX:
        raise WrongRecord("records", f"Write 1 to {RECORDS_MAX} records at a time.")
    found = [_raw(record, number, partitions) for number, record in enumerate(records, 1)]
    if sum(one.size for one in found) > BYTES_MAX:
        raise WrongRecord("records", f"The records have more than {BYTES_MAX} bytes together.")
    return found


def _raw(record: NewRecord, number: int, partitions: int | None) -> Raw:
    if record.partition is not None and not 0 <= record.partition < (partitions or 2**31):
        raise WrongRecord(
            "partition", f"Record {number}: the topic has no partition {record.partition}; it has 0 to {(partitions or 1) - 1}."
        )
    headers = [(name, _bytes("headers", value, record.encoding)) for name, value in record.headers.items()]
    if any(not name for name, _ in headers):
        raise WrongRecord("headers", f"Record {number} has a header without a name.")
    return Raw(_bytes("key", record.key, record.encoding), _bytes("value", record.value, record.encoding), headers, record.partition)


def _bytes(field: str, value: Any, encoding: Encoding) -> bytes | None:
    if value is None:
        return None
    if not isinstance(value, str):
        return msgspec.json.encode(value)
    try:
        return base64.b64decode(value, validate=True) if encoding == "base64" else value.encode()
    except (binascii.Error, ValueError) as error:
        raise WrongRecord(field, f"This {field} is not {'base64' if encoding == 'base64' else 'UTF-8'}: {str(error)[:100]}.") from None
