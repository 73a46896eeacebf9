"""What was found, as files: lines of JSON, or CSV whose cells no spreadsheet takes for formulas."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator

from console.rules.records.decoding import Part
from console.rules.records.progress import Found
from console.snapshot.encoding import encode

COLUMNS = ("partition", "offset", "timestamp_ms", "key", "value", "headers", "key_bytes", "value_bytes", "cut")
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


def ndjson(found: Iterable[Found]) -> Iterator[str]:
    for one in found:
        yield encode(one) + "\n"


def as_csv(found: Iterable[Found], *, head: bool = True) -> Iterator[str]:
    if head:
        yield _row(COLUMNS)
    for one in found:
        parts = [part for part in (one.key, one.value, *(header.value for header in one.headers)) if part]
        cut = any(part.cut for part in parts) or one.headers_total > len(one.headers)
        headers = "; ".join(f"{header.name}={_text(header.value)}" for header in one.headers)
        texts = [_text(one.key), _text(one.value), headers]
        sizes = [_size(one.key), _size(one.value)]
        yield _row([one.partition, one.offset, one.timestamp_ms, *map(unformula, texts), *sizes, "yes" if cut else "no"])


def unformula(text: str) -> str:
    """A cell that begins like a formula gets an apostrophe before it, as OWASP advises."""
    return f"'{text}" if text.lstrip(" ").startswith(FORMULA) else text


def _text(part: Part | None) -> str:
    return "" if part is None else part.text


def _size(part: Part | None) -> int | None:
    return None if part is None else part.size


def _row(cells: Iterable[object]) -> str:
    out = io.StringIO()
    csv.writer(out).writerow(cells)
    return out.getvalue()
