"""What else bytes can be read as than the text that they are, so that a rule about a text holds for all of them. Pure."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from console.rules.records.decoding import DECODERS, Misfit, is_text

NUMBERS = {"int": 4, "long": 8, "double": 8}
"""Formats of a number, with their bytes."""
WRITTEN_OUT_BELOW = 1e22
NUL = b"\0"


def readings(raw: bytes, form: str) -> Iterator[bytes]:
    """Beside the bytes themselves. What is a text is read as a number only where `form` asks for that: any eight letters are one."""
    if NUL in raw:
        yield raw.replace(NUL, b"")  # UTF-16, with the zeros that stand between its digits
    for name, size in NUMBERS.items():
        if len(raw) == size and (name == form or not is_text(raw)):
            yield from (text.encode() for text in _number_texts(name, raw))


def _number_texts(name: str, raw: bytes) -> Iterator[str]:
    yield DECODERS[name](raw)
    if name == "double" and abs(value := struct.unpack(">d", raw)[0]) < WRITTEN_OUT_BELOW:
        yield f"{value:.0f}"


def msgpack_with(raw: bytes, change: Callable[[bytes], bytes]) -> bytes | None:
    """MessagePack of an array, a map or something else that no text begins like, with every text, number and key changed; None where
    it is none of that. What has been changed is a text afterwards."""
    if len(raw) > 1 and raw[0] < 0x80:
        return None
    try:
        DECODERS["msgpack"](raw)
        return msgspec.msgpack.encode(_changed(msgspec.msgpack.decode(raw), change))
    except (Misfit, msgspec.MsgspecError, ValueError, TypeError, RecursionError):
        return None


def json_with(raw: bytes, change: Callable[[bytes], bytes]) -> bytes | None:
    """The same of JSON."""
    try:
        return msgspec.json.encode(_changed(msgspec.json.decode(raw), change))
    except (msgspec.MsgspecError, ValueError, TypeError, RecursionError):
        return None


def _changed(value: Any, change: Callable[[bytes], bytes]) -> Any:
    match value:
        case dict():
            return {_changed(name, change): _changed(inner, change) for name, inner in value.items()}
        case list() | tuple():
            return type(value)(_changed(inner, change) for inner in value)
        case bytes():
            return change(value)
        case None | bool():
            return value
    text = str(value).encode()
    shown = change(text)
    return value if shown == text else shown.decode(errors="replace")
