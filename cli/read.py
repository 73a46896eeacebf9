"""What is typed on the command line, read strictly; `Usage` says what is wrong."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from cli.errors import Usage

UNITS = {"": 1, "b": 1, "kib": 2**10, "mib": 2**20, "gib": 2**30, "kb": 10**3, "mb": 10**6, "gb": 10**9}
RATE = re.compile(r"([0-9]{1,12})\s?([kmg]i?b|b)?(/s)?", re.IGNORECASE)
SPAN = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9}))?")
PARTITIONS_MAX = 1_000
FILE_BYTES_MAX = 8 * 1024 * 1024


def settings(pairs: Iterable[str]) -> dict[str, str]:
    """`key=value` each; a value may have further `=`."""
    found: dict[str, str] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise Usage(f"{pair!r} is no setting: give key=value.")
        if key in found:
            raise Usage(f"{key} is given twice.")
        found[key] = value
    return found


def changes(sets: Iterable[str], unset: Iterable[str]) -> dict[str, str | None]:
    """What `--set` and `--unset` ask for; None takes away."""
    found: dict[str, str | None] = {**settings(sets)}
    if both := [key for key in unset if key in found]:
        raise Usage(f"{both[0]} is both set and unset.")
    found |= dict.fromkeys(unset)
    if not found:
        raise Usage("Name a setting by --set KEY=VALUE or --unset KEY.")
    return found


def partitions(text: str) -> tuple[str, list[int] | None]:
    """`orders` (all), `orders:0` or `orders:0,2-4`."""
    topic, colon, spans = text.rpartition(":")
    if not colon:
        return text, None
    found: dict[int, None] = {}
    for span in spans.split(","):
        match = SPAN.fullmatch(span)
        if match is None:
            raise Usage(f"{text!r}: give the partitions of a topic as orders:0,2-4.")
        first, last = int(match[1]), int(match[2] or match[1])
        if last < first:
            raise Usage(f"{text!r}: {span} runs backwards.")
        found.update(dict.fromkeys(range(first, min(last, first + PARTITIONS_MAX) + 1)))
    if len(found) > PARTITIONS_MAX:
        raise Usage(f"{text!r}: name at most {PARTITIONS_MAX} partitions, or leave them out for all.")
    return topic, list(found)


def brokers(text: str | None) -> list[int]:
    """Ids with commas; none where nothing was given."""
    ids = [word.strip() for word in (text or "").split(",") if word.strip()]
    if wrong := [word for word in ids if not SPAN.fullmatch(word) or "-" in word]:
        raise Usage(f"{wrong[0]!r} is no broker's id: give them as 1,2,3.")
    return [int(word) for word in ids]


def moment(text: str) -> str:
    """A time with its zone; one without is of this machine's."""
    return datetime.fromisoformat(text).astimezone().isoformat()


def bytes_a_second(text: str) -> int:
    match = RATE.fullmatch(text.strip())
    if match is None:
        raise Usage(f"{text!r} is no rate: give bytes a second, as 10MiB or 1000000.")
    return int(match[1]) * UNITS[(match[2] or "").lower()]


def throttle(text: str) -> int | dict[str, int]:
    """A rate, or `5MiB-50MiB`: the floor and the ceiling of one that is steered."""
    floor, dash, ceiling = text.partition("-")
    return {"floor": bytes_a_second(floor), "ceiling": bytes_a_second(ceiling)} if dash else bytes_a_second(text)


def file_text(name: str) -> str:
    """Of a file, or of stdin for `-`."""
    try:
        raw = sys.stdin.buffer.read(FILE_BYTES_MAX + 1) if name == "-" else _read(Path(name))
        if len(raw) > FILE_BYTES_MAX:
            raise Usage(f"{name} is larger than 8 MiB.")
        return raw.decode()
    except (OSError, UnicodeDecodeError) as error:
        raise Usage(f"{name} cannot be read: {error}.") from None


def _read(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(FILE_BYTES_MAX + 1)


def assignments(text: str, name: str) -> list[dict[str, Any]]:
    """Kafka's JSON for kafka-reassign-partitions (`{"version": 1, "partitions": […]}`), or the same list as REST takes it."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Usage(f"{name} is no JSON: {error}.") from None
    rows = (found.get("partitions") or found.get("assignments")) if isinstance(found, dict) else found
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise Usage(f'{name}: give {{"version": 1, "partitions": [{{"topic": "orders", "partition": 0, "replicas": [1, 2, 3]}}]}}.')
    return [_assignment(row) for row in rows]


def _assignment(row: dict[str, Any]) -> dict[str, Any]:
    folders: Sequence[Any] = row.get("log_dirs") or ()
    if any(folder != "any" for folder in folders):
        raise Usage(
            f"{row.get('topic')}-{row.get('partition')}: log_dirs can only be any: a replica is not moved to a folder by name here."
        )
    return {name: row[name] for name in ("topic", "partition", "replicas") if name in row}
