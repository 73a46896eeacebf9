"""What ended by itself and was started again, for the console to tell as events.

run/events.json    JSON [{"at_ms", "name", "broker_id", "kind", "level", "sentence"}], oldest first, `ENTRIES_MAX` at most

`at_ms` (since the Unix epoch) rises from entry to entry, so a reader asks for what came after the last one it told. Written by
`highwater up` alone, in one rename.
"""

from __future__ import annotations

import time
from pathlib import Path

import msgspec
from msgspec import Struct

from broker_core.local.layout import Layout

FILE = "events.json"
ENTRIES_MAX = 200
FILE_BYTES_MAX = 1024 * 1024
ENDED, RESTARTED, NOT_RESTARTED = "process_ended", "process_restarted", "process_not_restarted"


class ProcessEvent(Struct, frozen=True):
    """One entry; `broker_id` is None for ZooKeeper, `level` is bad, warn, notice or ok."""

    at_ms: int
    name: str
    broker_id: int | None
    kind: str
    level: str
    sentence: str


_DECODER = msgspec.json.Decoder(list[ProcessEvent])


def note(layout: Layout, name: str, broker_id: int | None, *, kind: str, level: str, sentence: str) -> None:
    """Adds an entry of now; the oldest go."""
    known = read(layout.root)
    at_ms = max(time.time_ns() // 1_000_000, known[-1].at_ms + 1 if known else 0)
    path = layout.folder("run") / FILE
    temporary = path.with_suffix(".json.tmp")
    temporary.write_bytes(msgspec.json.encode([*known, ProcessEvent(at_ms, name, broker_id, kind, level, sentence)][-ENTRIES_MAX:]))
    temporary.replace(path)


def read(data: Path, after_ms: int = 0) -> list[ProcessEvent]:
    """The entries later than `after_ms`, oldest first; none of a file that cannot be understood."""
    try:
        with (data / "run" / FILE).open("rb") as file:
            found = _DECODER.decode(file.read(FILE_BYTES_MAX))
    except (FileNotFoundError, msgspec.MsgspecError):
        return []
    return [entry for entry in found if entry.at_ms > after_ms]
