"""The outcome of one step of a job."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Step:
    """Where the job stands now. `state` is set when it is over; `said` goes into the job's log when it is not empty.

    `again` asks for the next step at once (the beat comes every 2 s anyway).
    """

    step: str
    plan: dict[str, Any] = field(default_factory=dict)
    done: int = 0
    total: int = 0
    unit: str = "partitions"
    message: str = ""
    said: str = ""
    state: str = ""
    result: dict[str, Any] | None = None
    again: bool = False
