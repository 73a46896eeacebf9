"""What every program tells of its own process, by the names that Prometheus' client libraries have made common."""

from __future__ import annotations

import os
import resource
import time
from pathlib import Path

from broker_core.telemetry.prometheus import Gauge

_OWN = Path("/proc/self")
_STARTED_S = time.time() - time.monotonic()
_TICKS = os.sysconf("SC_CLK_TCK")
_AFTER_THE_NAME = 19
"""Where the start stands in `stat` behind the name, which may hold anything, blanks and brackets too: in ticks since the machine's."""


def process_gauges() -> list[Gauge]:
    """Whatever the system does not tell is left out: `/proc` is Linux's."""
    gauges: list[Gauge] = [
        ("process_cpu_seconds_total", "Processor time of the broker's process.", round(time.process_time(), 3)),
        ("process_max_fds", "Files and connections that it may have open.", resource.getrlimit(resource.RLIMIT_NOFILE)[0]),
    ]
    try:
        started_s = _STARTED_S + int((_OWN / "stat").read_text().rpartition(")")[2].split()[_AFTER_THE_NAME]) / _TICKS
        gauges += [
            ("process_start_time_seconds", "When it began, since 1970.", round(started_s, 2)),
            (
                "process_resident_memory_bytes",
                "Memory that it holds.",
                int((_OWN / "statm").read_text().split()[1]) * resource.getpagesize(),
            ),
            ("process_open_fds", "Files and connections that it has open.", len(os.listdir(_OWN / "fd"))),
        ]
    except OSError:
        pass
    return gauges
