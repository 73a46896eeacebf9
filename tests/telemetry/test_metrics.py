"""Counters, histograms and their Prometheus text."""

from __future__ import annotations

import pytest

from broker_core.telemetry.metrics import BrokerMetrics, Histogram
from broker_core.telemetry.old_requests import Sender
from broker_core.telemetry.prometheus import render

pytestmark = pytest.mark.spec("N1", "O1")


def test_histogram_buckets_and_quantiles() -> None:
    histogram = Histogram()
    assert histogram.quantile_ms(0.5) is None
    for duration_ms in (0.2, 1.0, 1.5, 300.0, 999_999.0):
        histogram.observe(duration_ms)
    assert histogram.counts[:5] == [0, 1, 0, 1, 1]
    assert histogram.counts[-1] == 1
    assert histogram.quantile_ms(0.5) == 2.0
    assert histogram.quantile_ms(0.8) == 500.0
    assert histogram.quantile_ms(1.0) is None, "longer than the last bound is not said to be within it"


def test_the_page_is_prometheus_text() -> None:
    metrics = BrokerMetrics(connections=3, idle_percent=97.25)
    metrics.api("Produce").requests = 2
    metrics.api("Produce").latency.observe(3.0)
    metrics.api("Produce").stages.observe(0.05, 1.0, 2.0, 10.0)
    metrics.api("Fetch").in_flight = 1
    for client_id in ("a", "b"):
        metrics.old_requests.note(Sender("Fetch", 3, "sarama", "1.2", client_id), "10.0.0.7", 5)
    lines = render(metrics, 7, [("leaders", "Partitions led.", 5), ("process_open_fds", "Open.", 9)]).splitlines()
    assert 'highwater_broker_connections{broker="7"} 3' in lines
    assert 'highwater_broker_leaders{broker="7"} 5' in lines
    old = 'highwater_broker_api_deprecated_requests{broker="7",api="Fetch",version="3",software="sarama",software_version="1.2"} 2'
    assert old in lines
    assert 'process_open_fds{broker="7"} 9' in lines
    assert 'highwater_broker_idle_percent{broker="7"} 97.2' in lines
    assert 'highwater_broker_api_requests_total{broker="7",api="Produce"} 2' in lines
    assert 'highwater_broker_api_latency_seconds_bucket{broker="7",api="Produce",le="0.002"} 0' in lines
    assert 'highwater_broker_api_latency_seconds_bucket{broker="7",api="Produce",le="0.005"} 1' in lines
    assert 'highwater_broker_api_latency_seconds_bucket{broker="7",api="Produce",le="+Inf"} 1' in lines
    stage = 'highwater_broker_api_stage_seconds_{}{{broker="7",api="Produce",stage="{}"{}}}'
    assert stage.format("bucket", "request_queue", ',le="0.0001"') + " 1" in lines
    for name, seconds in (("request_queue", 0.00005), ("local", 0.001), ("remote", 0.002), ("response_send", 0.01), ("total", 0.01305)):
        assert stage.format("sum", name, "") + f" {seconds:.6f}" in lines
        assert stage.format("count", name, "") + " 1" in lines
    assert 'highwater_broker_api_requests_in_flight{broker="7",api="Fetch"} 1' in lines
    assert not [line for line in lines if "seconds" in line and "Fetch" in line], "nothing is timed yet"
    names = [line.split(" ")[2] for line in lines if line.startswith("# TYPE ")]
    assert len(names) == len(set(names))
