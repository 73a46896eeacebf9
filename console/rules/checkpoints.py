"""Where a query of Spark's Structured Streaming stands, as its checkpoint's files say it. Pure.

A batch's file in `offsets` is `v1`, a line about the batch, and a line for each source: of Kafka's `{"topic": {"partition": next offset}}`,
of others something else, or `-`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from console.rules.words import counted, duration, whole

VERSION = "v1"
MOST_PARTITIONS = 10_000
Offsets = dict[tuple[str, int], int]


class Unreadable(Exception):
    """It is no such file, or one of another version; says what is wrong."""


def offsets(text: str) -> Offsets:
    """The next offset of each partition that the query reads from Kafka."""
    version, *lines = text.split("\n")
    if version.strip() != VERSION:
        raise Unreadable(f"The offsets are of version {version[:20]!r}, not {VERSION}.")
    found: Offsets = {}
    for line in lines[1:]:
        for topic, partitions in _of_kafka(line).items():
            found |= {(topic, int(partition)): offset for partition, offset in partitions.items()}
    if len(found) > MOST_PARTITIONS:
        raise Unreadable(f"It reads {whole(len(found))} partitions: of more than {whole(MOST_PARTITIONS)} nothing is shown.")
    return found


def _of_kafka(line: str) -> Mapping[str, Mapping[str, int]]:
    """Nothing where the source is another's."""
    try:
        said: Any = json.loads(line) if line.startswith("{") else None
    except (ValueError, RecursionError):
        raise Unreadable("A line of the offsets is no JSON: the file is not whole.") from None
    if not isinstance(said, dict) or not all(isinstance(one, dict) and _are_offsets(one) for one in said.values()):
        return {}
    return said


def _are_offsets(partitions: Mapping[str, Any]) -> bool:
    return all(
        len(key) < 10 and key.isascii() and key.isdigit() and type(offset) is int and 0 <= offset < 2**63
        for key, offset in partitions.items()
    )


def sentence(batch: int, lag: int | None, unknown: int, age_s: float) -> str:
    """`lag` of the partitions where it is known, `unknown` of so many others."""
    last = f"Batch {whole(batch)} was committed {duration(age_s, 1)} ago"
    if unknown:
        return f"{last}; where {counted(unknown, 'partition')} of its topics {'ends' if unknown == 1 else 'end'} is not known."
    return f"{last}, and {counted(lag, 'record')} came since." if lag else f"{last}; nothing came since."
