"""Bytes as text: formats that can be chosen, and the guess where none is. What is shown is cut at a limit and says so. Pure."""

from __future__ import annotations

import struct
from collections.abc import Callable

import msgspec
from msgspec import Struct

from console.rules.records.schemas import SchemaName

HEX_BYTES_MAX = 1024
JSON_BYTES_MAX = 8 * 1024 * 1024
"""A value that is larger is shown as it is written: to parse it would take many times its size of memory."""
LINE = 16


class Part(Struct, frozen=True, kw_only=True):
    """A key, value or header as it is shown: `size` in bytes, `format` as it was taken for, `cut` where there is more, `note` where the
    chosen format does not fit, `masked` where a rule hides some or all of it (of what is hidden wholly no size is told), `schema` what it
    was decoded by."""

    text: str
    format: str
    size: int | None
    cut: bool = False
    masked: bool = False
    note: str = ""
    schema: SchemaName | None = None


class Misfit(Exception):
    """The bytes are not of the format; the message says why."""


def text_of(raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        raise Misfit(f"not UTF-8 at byte {error.start}") from None


def json_of(raw: bytes) -> str:
    """Indented, numbers as they are written as far as 64 bits reach."""
    if len(raw) > JSON_BYTES_MAX:
        raise Misfit("too large to be parsed")
    try:
        msgspec.json.decode(raw)
        return msgspec.json.format(raw, indent=2).decode()
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Misfit(f"not JSON: {str(error)[:100]}") from None


def msgpack_of(raw: bytes) -> str:
    if len(raw) > JSON_BYTES_MAX:
        raise Misfit("too large to be parsed")
    try:
        return msgspec.json.format(msgspec.json.encode(msgspec.msgpack.decode(raw)), indent=2).decode()
    except (msgspec.MsgspecError, ValueError, TypeError, RecursionError, UnicodeError) as error:
        raise Misfit(f"not MessagePack: {str(error)[:100]}") from None


def hex_of(raw: bytes) -> str:
    """As `hexdump -C`: offset, bytes, characters."""
    lines = []
    for at in range(0, min(len(raw), HEX_BYTES_MAX), LINE):
        some = raw[at : at + LINE]
        shown = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in some)
        lines.append(f"{at:08x}  {some.hex(' '):<{LINE * 3}} {shown}")
    return "\n".join(lines)


def _number(kind: str, size: int) -> Callable[[bytes], str]:
    def read(raw: bytes) -> str:
        if len(raw) != size:
            raise Misfit(f"has {len(raw)} bytes, not {size}")
        return str(struct.unpack(kind, raw)[0])

    return read


DECODERS: dict[str, Callable[[bytes], str]] = {
    "string": text_of,
    "json": json_of,
    "int": _number(">i", 4),
    "long": _number(">q", 8),
    "double": _number(">d", 8),
    "hex": hex_of,
    "msgpack": msgpack_of,
}
CHOICES = {
    "auto": "Guess",
    "string": "Text (UTF-8)",
    "json": "JSON",
    "int": "Integer, 4 bytes",
    "long": "Long, 8 bytes",
    "double": "Double, 8 bytes",
    "hex": "Hexadecimal",
    "msgpack": "MessagePack",
    "registry": "By the schema registry",
}


def guess(raw: bytes) -> str:
    """The format that the bytes look like."""
    head = raw[:4096]
    if is_text(head):
        return "json" if head.lstrip()[:1] in (b"{", b"[") and len(raw) <= JSON_BYTES_MAX else "string"
    if raw[0] & 0xF0 in (0x80, 0x90) or raw[0] in range(0xDC, 0xE0):  # a map or an array
        try:
            msgpack_of(raw)
        except Misfit:
            return "hex"
        return "msgpack"
    return "hex"


def is_text(head: bytes) -> bool:
    """UTF-8, of which a last character may be cut, with no more control characters than a text has."""
    try:
        text = head.decode()
    except UnicodeDecodeError as error:
        if error.start < len(head) - 3:
            return False
        text = head[: error.start].decode()
    return not any(character < " " and character not in "\t\n\r\x1b" for character in text)


def decoded(raw: bytes, wanted: str) -> tuple[str, str, str]:
    """Text, the format that it was taken for, and a note where the wanted one does not fit."""
    form = guess(raw) if wanted == "auto" and raw else "string" if wanted == "auto" else wanted
    try:
        return DECODERS[form](raw), form, ""
    except Misfit as error:
        note = "" if wanted == "auto" else f"{error}"
    fallback = "string" if is_text(raw[:4096]) else "hex"
    try:
        return DECODERS[fallback](raw), fallback, note
    except Misfit:
        return hex_of(raw), "hex", note


def part_of(raw: bytes | None, wanted: str, chars_limit: int) -> Part | None:
    """None stays None: a key that is not there, the value of a tombstone."""
    if raw is None:
        return None
    if wanted in ("auto", "string", "json") and len(raw) > JSON_BYTES_MAX:
        return _head_of(raw, chars_limit)
    text, form, note = decoded(raw, wanted)
    cut = len(text) > chars_limit or (form == "hex" and len(raw) > HEX_BYTES_MAX)
    return Part(text=text[:chars_limit], format=form, size=len(raw), cut=cut, note=note)


def _head_of(raw: bytes, chars_limit: int) -> Part:
    """Of what is too large to be looked at whole."""
    head = raw[: min(chars_limit, HEX_BYTES_MAX)]
    form = "string" if is_text(head) else "hex"
    text = head.decode(errors="ignore") if form == "string" else hex_of(head)
    return Part(text=text, format=form, size=len(raw), cut=True)
