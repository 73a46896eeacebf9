"""Which processes are down because somebody asked for it: those are left alone, all others are started again when they end.

run/NAME.down    JSON {"how": "stopped" | "killed" | "down", "at_ms"}; there from the order until the next start

It outlives whoever watches over the processes, so a broker that was killed on purpose is still down after `highwater up` was
started anew. A signal from anybody else is no order. `down` is the stop of the whole cluster, which the next `up` takes back.
"""

from __future__ import annotations

import json
import time
from typing import Literal

from msgspec import Struct

from broker_core.local.layout import Layout

How = Literal["stopped", "killed", "down"]


class Order(Struct, frozen=True):
    """`at_ms` since the Unix epoch; 0 where the file cannot be read, which is an order all the same."""

    how: str
    at_ms: int


def order_down(layout: Layout, name: str, how: How) -> None:
    """Written before the signal is sent: whoever sees the end sees the order."""
    path = layout.folder("run") / f"{name}.down"
    temporary = path.with_suffix(".down.tmp")
    temporary.write_text(json.dumps({"how": how, "at_ms": time.time_ns() // 1_000_000}) + "\n", encoding="ascii")
    temporary.replace(path)


def forget(layout: Layout, name: str) -> None:
    """It is to run again."""
    (layout.folder("run") / f"{name}.down").unlink(missing_ok=True)


def ordered_down(layout: Layout, name: str) -> Order | None:
    """The order that keeps it down, None when there is none."""
    try:
        found = json.loads((layout.folder("run") / f"{name}.down").read_text(encoding="ascii"))
        return Order(str(found["how"]), int(found["at_ms"]))
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError):
        return Order("stopped", 0)
