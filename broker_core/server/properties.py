"""Java-like property files, read strictly: a line that is not understood is an error, never skipped.

`key=value` or `key:value` lines, `#` and `!` comments, a `\\` at the end joins the next line, and the escapes `\\t \\n \\r \\f \\\\`,
`\\uXXXX` and `\\` before any other character.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from broker_core.errors import ConfigError

_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_NAMED = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_SEPARATOR = re.compile(r"(?<!\\)(?:\s*[=:]\s*|\s+)")


def parse_properties(text: str, source: str) -> dict[str, str]:
    """The settings of a file; `ConfigError` names `source` and line for a repeated key or a line without a value."""
    settings: dict[str, str] = {}
    for number, line in _logical_lines(text):
        match = _SEPARATOR.search(line)
        key = _unescape(line[: match.start()]) if match else ""
        if match is None or not key:
            raise ConfigError(f"{source}, line {number}: {line!r} is not key=value")
        if key in settings:
            raise ConfigError(f"{source}, line {number}: {key} is set twice")
        settings[key] = _unescape(line[match.end() :])
    return settings


def parse_overrides(items: Iterable[str]) -> dict[str, str]:
    """`key=value` arguments; later ones win."""
    overrides = {}
    for item in items:
        key, separator, value = item.partition("=")
        if not separator or not key.strip():
            raise ConfigError(f"--override {item!r} is not key=value")
        overrides[key.strip()] = value.strip()
    return overrides


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """(number of the first line, text) with continuations joined, comments and blank lines left out."""
    joined, start = "", 0
    for number, raw in enumerate(text.splitlines(), start=1):
        line = raw.lstrip()
        if not joined and (not line or line[0] in "#!"):
            continue
        start = start if joined else number
        if (len(line) - len(line.rstrip("\\"))) % 2:
            joined += line[:-1]
            continue
        yield start, (joined + line).rstrip()
        joined = ""
    if joined:
        yield start, joined


def _unescape(text: str) -> str:
    return _ESCAPE.sub(lambda match: _character(match.group(1)), text)


def _character(escape: str) -> str:
    if len(escape) == 5:
        return chr(int(escape[1:], 16))
    return _NAMED.get(escape, escape)
