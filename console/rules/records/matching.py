"""Which records a query wants. Patterns are RE2's, whose time grows with the text alone; JSON paths are bounded in time by whoever runs
them (`workers/reader/bounds.py`). Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

Headers = Sequence[tuple[str, bytes | None]]
Test = Callable[[bytes], bool]
PATTERN_MEMORY_BYTES = 8 * 1024 * 1024
JSON_TESTED_BYTES_MAX = 8 * 1024 * 1024


class Unfit(Exception):
    """A value that cannot be looked into: too large, or nested too deeply."""


def compile_pattern(text: str, *, case: bool = True) -> Any:
    """RE2's pattern over UTF-8 bytes; ValueError says what it does not understand (look-around and back-references among it)."""
    import re2

    options = re2.Options()
    options.log_errors, options.max_mem, options.case_sensitive, options.dot_nl = False, PATTERN_MEMORY_BYTES, case, True
    try:
        return re2.compile(text.encode(), options)
    except re2.error as error:
        said = error.args[0] if error.args else b""
        words = said.decode(errors="replace") if isinstance(said, bytes) else str(said)
        raise ValueError(f"The pattern is none that RE2 understands: {words[:200]}.") from None
    except UnicodeEncodeError:
        raise ValueError("The pattern has half a character in it.") from None


def compile_path(text: str) -> Any:
    """RFC 9535; ValueError says where it cannot be read."""
    import jsonpath

    try:
        return jsonpath.JSONPathEnvironment(strict=True).compile(text)
    except (jsonpath.JSONPathError, RecursionError, ValueError) as error:
        raise ValueError(f"The JSON path cannot be read: {str(error).splitlines()[0][:200]}.") from None


def text_test(text: str, *, regex: bool, case: bool) -> Test:
    if regex:
        search = compile_pattern(text, case=case).search
        return lambda raw: search(raw) is not None
    wanted = text.encode()
    if not case:
        return text_test(_literal(text), regex=True, case=False)
    return lambda raw: wanted in raw


def _literal(text: str) -> str:
    return "".join(
        f"\\{character}" if character.isascii() and not character.isalnum() and character != "_" else character for character in text
    )


def header_test(wanted: str) -> Callable[[Headers], bool]:
    """`name`, or `name=value`."""
    name, has_value, value = wanted.partition("=")
    raw = value.encode()
    if not has_value:
        return lambda headers: any(key == name for key, _ in headers)
    return lambda headers: any(key == name and found == raw for key, found in headers)


def path_test(path: str, equals: str) -> Test:
    """Whether the path leads to something in the value, which is JSON; and to `equals`, as JSON or as a text. Raises `Unfit`."""
    import jsonpath

    compiled = compile_path(path)

    def leads(raw: bytes) -> bool:
        if len(raw) > JSON_TESTED_BYTES_MAX:
            raise Unfit
        try:
            found = (node.obj for node in compiled.finditer(msgspec.json.decode(raw)))
            return any(True for _ in found) if not equals else any(same(one, equals) for one in found)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return False
        except (RecursionError, jsonpath.JSONPathError) as error:
            raise Unfit from error

    return leads


def same(value: object, wanted: str) -> bool:
    return value == wanted if isinstance(value, str) else msgspec.json.encode(value).decode() == wanted
