"""Where a broker's requests spend their time, by its own metrics: read before and after a load."""

from __future__ import annotations

import re
import urllib.request

from broker_core.telemetry.metrics import STAGES

Totals = dict[tuple[str, str, str], float]
"""By API, stage, and `sum` (seconds) or `count`."""
LINE = re.compile(
    r'^highwater_broker_api_stage_seconds_(?P<what>sum|count)\{[^}]*\bapi="(?P<api>\w+)",stage="(?P<stage>\w+)"\} (?P<value>\S+)$',
    re.MULTILINE,
)


def totals(text: str) -> Totals:
    return {(m["api"], m["stage"], m["what"]): float(m["value"]) for m in LINE.finditer(text)}


def read(metrics_port: int) -> Totals:
    with urllib.request.urlopen(f"http://127.0.0.1:{metrics_port}/metrics", timeout=30) as answer:
        return totals(answer.read().decode())


def per_request(before: Totals, after: Totals, api: str) -> dict[str, float]:
    """Microseconds by stage of the requests answered meanwhile; empty where there were none."""

    def grown(stage: str, what: str) -> float:
        return after.get((api, stage, what), 0.0) - before.get((api, stage, what), 0.0)

    return {stage: grown(stage, "sum") / count * 1e6 for stage in STAGES if (count := grown(stage, "count"))}
