"""A znode as people may see it: its bytes as text, and nothing that is secret. Pure.

SCRAM credentials lie below `/config/users`, delegation tokens below `/delegation_token`, passwords among brokers' settings (KIP-84, KIP-48,
KIP-226). What could be one of them and cannot be read for sure is hidden as a whole.
"""

from __future__ import annotations

import codecs
import json
import re
from typing import Any

from msgspec import Struct

from console.errors import Invalid

PATH_MAX = 1_000
TEXT_MAX = 65_536
"""Bytes of a znode that are shown, or looked into."""
BYTES_SHOWN = 512
"""Of what is no text."""
HIDDEN = "hidden"
SECRET = re.compile(r"scram|password|secret|jaas|credential|token|keystore\.key|private", re.IGNORECASE)
ALL_SECRET = ("/delegation_token",)
MAY_BE_SECRET = ("/config",)


class Shown(Struct, frozen=True):
    """`note` says what is not shown, and why."""

    text: str
    note: str = ""


def check_path(path: str) -> str:
    """`Invalid` unless it is the path of a znode; without a slash at its end."""
    names = path.split("/")[1:]
    if path == "/":
        return path
    if not path.startswith("/") or len(path) > PATH_MAX or not path.isprintable() or any(name in ("", ".", "..") for name in names):
        raise Invalid("path", f"A path is one like /brokers/ids, of {PATH_MAX} characters at most.")
    return path


def shown(path: str, data: bytes) -> Shown:
    """What the znode at the path holds."""
    if not data:
        return Shown("", "It holds nothing.")
    if _is_in(path, ALL_SECRET):
        return Shown(HIDDEN, "It may hold a secret, which is never shown.")
    value = _json(data)
    if value is None:
        if _is_in(path, MAY_BE_SECRET):
            return Shown(HIDDEN, "It is not JSON that can be looked into, and could hold a secret.")
        return _as_text(data)
    masked = _masked(value) if _is_in(path, MAY_BE_SECRET) else value
    return Shown(json.dumps(masked, indent=2, ensure_ascii=False), "Secrets in it are hidden." if masked != value else "")


def _is_in(path: str, roots: tuple[str, ...]) -> bool:
    return any(path == root or path.startswith(f"{root}/") for root in roots)


def _json(data: bytes) -> Any:
    """None where it is none, or too large."""
    if len(data) > TEXT_MAX:
        return None
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def _masked(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: HIDDEN if SECRET.search(key) else _masked(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_masked(inner) for inner in value]
    return value


def _as_text(data: bytes) -> Shown:
    note = f"The first {TEXT_MAX} of {len(data)} bytes." if len(data) > TEXT_MAX else ""
    try:
        text = codecs.getincrementaldecoder("utf-8")().decode(data[:TEXT_MAX], final=not note)
    except UnicodeDecodeError:
        text = "\0"
    if all(letter.isprintable() or letter in "\n\t" for letter in text):
        return Shown(text, note)
    cut = f" The first {BYTES_SHOWN} of {len(data)}." if len(data) > BYTES_SHOWN else ""
    return Shown(data[:BYTES_SHOWN].hex(" "), f"Its bytes are no text.{cut}")


def in_order(name: str) -> tuple[str, int, str]:
    """What children are sorted by: numbers as numbers, also those that end a name (`isr_change_0000000012`)."""
    head = name.rstrip("0123456789")
    tail = name[len(head) :]
    return head, int(tail) if tail.isascii() and len(tail) < 20 and tail else -1, name
