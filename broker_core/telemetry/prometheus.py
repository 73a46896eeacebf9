"""The metrics as Prometheus text (exposition format 0.0.4)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from broker_core.telemetry.metrics import LATENCY_BUCKETS_MS, STAGES, ApiMetrics, BrokerMetrics, Histogram
from broker_core.telemetry.old_requests import OldRequests

Gauge = tuple[str, str, float | int]
"""(name without prefix, help text, value)"""

PREFIX = "highwater_broker_"
OF_A_PROCESS = "process_"
"""Names that every program's page has, and no prefix."""
_BOUNDS_SECONDS = tuple(bound / 1000 for bound in LATENCY_BUCKETS_MS)


def render(metrics: BrokerMetrics, broker_id: int, gauges: Iterable[Gauge] = ()) -> str:
    """The whole page; every sample carries the broker's id."""
    lines: list[str] = []
    label = f'broker="{broker_id}"'
    for short, text, value in (*_totals(metrics), *gauges):
        name, kind = full_name(short), "counter" if short.endswith("_total") else "gauge"
        lines += [f"# HELP {name} {text}", f"# TYPE {name} {kind}", f"{name}{{{label}}} {value}"]
    lines += _api_counters(metrics.apis, label)
    lines += _old_requests(metrics.old_requests, label)
    lines += _latencies(metrics.apis, label)
    lines += _stages(metrics.apis, label)
    return "\n".join(lines) + "\n"


def full_name(name: str) -> str:
    return name if name.startswith(OF_A_PROCESS) else PREFIX + name


def _totals(metrics: BrokerMetrics) -> list[Gauge]:
    rows: list[Gauge] = [
        ("connections", "Open client connections.", metrics.connections),
        ("connections_opened_total", "Client connections accepted.", metrics.connections_total),
        ("protocol_violations_total", "Connections closed for bytes that are no request.", metrics.protocol_violations),
        ("request_bytes_total", "Bytes of requests.", metrics.bytes_in),
        ("response_bytes_total", "Bytes of responses.", metrics.bytes_out),
        ("produced_bytes_total", "Bytes of record batches produced.", metrics.produced_bytes),
        ("messages_in_total", "Records produced.", metrics.messages_in),
        ("fetched_bytes_total", "Bytes of record batches sent to consumers.", metrics.fetched_bytes),
        ("replicated_bytes_total", "Bytes of record batches sent to followers.", metrics.replicated_bytes),
        ("loop_stalls_total", "Times the event loop stood still for too long.", metrics.loop_stalls),
        ("loop_stall_longest_seconds", "Longest standstill of the event loop.", metrics.loop_stall_longest_ms / 1000),
    ]
    if metrics.idle_percent is not None:
        rows.append(("idle_percent", "Share of the last second in which the event loop had nothing to do.", round(metrics.idle_percent, 1)))
    return rows


def _api_counters(apis: Mapping[str, ApiMetrics], label: str) -> list[str]:
    lines = []
    for suffix, text, attribute in (
        ("requests_total", "Requests answered.", "requests"),
        ("request_failures_total", "Requests that ended the connection or failed unexpectedly.", "failures"),
        ("requests_in_flight", "Requests being handled, waiting ones included.", "in_flight"),
    ):
        name = f"{PREFIX}api_{suffix}"
        lines += [f"# HELP {name} {text}", f"# TYPE {name} {'counter' if suffix.endswith('_total') else 'gauge'}"]
        lines += [f'{name}{{{label},api="{api}"}} {getattr(apis[api], attribute)}' for api in sorted(apis)]
    return lines


def _old_requests(old: OldRequests, label: str) -> list[str]:
    """A gauge: a sender that was silent for long is forgotten, and counted from one again when it comes back."""
    counts: Counter[tuple[str, ...]] = Counter()
    for sender, seen in old.rows():
        counts[sender.api, str(sender.api_version), sender.software, sender.software_version] += seen.count
    name = f"{PREFIX}api_deprecated_requests"
    lines = [f"# HELP {name} Requests of versions that Kafka 4.0 takes no more, by what sent them.", f"# TYPE {name} gauge"]
    for values, count in sorted(counts.items()):
        labels = ",".join(f'{key}="{value}"' for key, value in zip(("api", "version", "software", "software_version"), values, strict=True))
        lines.append(f"{name}{{{label},{labels}}} {count}")
    return lines


def _latencies(apis: Mapping[str, ApiMetrics], label: str) -> list[str]:
    name = f"{PREFIX}api_latency_seconds"
    lines = [f"# HELP {name} From the start of a request's handling to its answer ready.", f"# TYPE {name} histogram"]
    for api in sorted(apis):
        lines += _histogram(name, f'{label},api="{api}"', apis[api].latency)
    return lines


def _stages(apis: Mapping[str, ApiMetrics], label: str) -> list[str]:
    name = f"{PREFIX}api_stage_seconds"
    lines = [f"# HELP {name} Where answered requests spent their time.", f"# TYPE {name} histogram"]
    for api in sorted(apis):
        for stage in STAGES:
            lines += _histogram(name, f'{label},api="{api}",stage="{stage}"', getattr(apis[api].stages, stage))
    return lines


def _histogram(name: str, labels: str, histogram: Histogram) -> list[str]:
    """Cumulative counts, sum and count of one histogram; nothing while it is empty."""
    if not histogram.count:
        return []
    lines, seen = [], 0
    for bound, count in zip(_BOUNDS_SECONDS, histogram.counts, strict=False):
        seen += count
        lines.append(f'{name}_bucket{{{labels},le="{bound}"}} {seen}')
    lines.append(f'{name}_bucket{{{labels},le="+Inf"}} {histogram.count}')
    lines.append(f"{name}_sum{{{labels}}} {histogram.total_ms / 1000:.6f}")
    lines.append(f"{name}_count{{{labels}}} {histogram.count}")
    return lines
