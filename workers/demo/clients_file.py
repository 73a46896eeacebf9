"""How the demo's clients fare, in a file for whoever watches the system: `{"at_ms": …, "clients": [{name, done, silent_s, …}]}`."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from pathlib import Path

from console.rules.watch import Watch

EVERY_SECONDS = 5.0


def state_file() -> Path | None:
    """In the system's data folder; None where the demo runs by itself."""
    folder = os.environ.get("HIGHWATER_DATA", "")
    return Path(folder) / "run" / "demo.clients.json" if folder else None


def tell(path: Path | None, watches: Sequence[Watch]) -> None:
    """Whole or not at all."""
    if path is None or not path.parent.is_dir():
        return
    now = time.monotonic()
    beside = path.with_suffix(".new")
    beside.write_text(json.dumps({"at_ms": time.time_ns() // 1_000_000, "clients": [watch.value(now) for watch in watches]}))
    os.replace(beside, path)
