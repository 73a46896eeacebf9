"""What Kafka's tools print, as they printed it."""

from __future__ import annotations

import pytest

from tests.kafka_bench.java_tools import NotUnderstood, consumed, produced, total

PRODUCED = """\
24001 records sent, 4800.2 records/sec (4.69 MB/sec), 5.1 ms avg latency, 244.0 ms max latency.
50000 records sent, 35587.188612 records/sec (34.75 MB/sec), 444.67 ms avg latency, 637.00 ms max latency, 503 ms 50th, 619 ms 95th, \
630 ms 99th, 636 ms 99.9th.

Metric Name                                                                                           Value
producer-metrics:record-error-total:{client-id=perf-producer-client}                                   : 0.000
producer-metrics:request-total:{client-id=perf-producer-client}                                        : 3338.000
producer-node-metrics:request-total:{client-id=perf-producer-client, node-id=node-1}                   : 3330.000
producer-metrics:record-size-avg:{client-id=perf-producer-client}                                      : NaN
"""
CONSUMED = """\
2026-11-24 01:50:43:652, 2026-11-24 01:50:44:125, 49.0693, 103.7407, 50247, 106230.4440, 257, 216, 227.1729, 232625.0000

Metric Name                                                                                                              Value
consumer-fetch-manager-metrics:fetch-total:{client-id=perf-consumer-client}                                               : 50.000
consumer-fetch-manager-metrics:records-lag:{client-id=perf-consumer-client, partition=0, topic=t}                         : 0.000
"""


def test_what_the_producer_says() -> None:
    found = produced(PRODUCED)
    assert found["seconds"] == pytest.approx(1.405, abs=1e-3)
    assert {name: value for name, value in found.items() if name != "seconds"} == {
        "records": 50000,
        "requests": 3338,
        "p50": 503,
        "p99": 630,
        "p999": 636,
    }


def test_what_the_consumer_says_is_of_fetching_alone() -> None:
    assert consumed(CONSUMED) == {"records": 50247, "seconds": 0.216, "requests": 50}


@pytest.mark.parametrize("text", ["", "Exception in thread main\n", PRODUCED.splitlines()[0]])
def test_what_is_not_understood_is_no_figure(text: str) -> None:
    with pytest.raises(NotUnderstood):
        produced(text)
    with pytest.raises(NotUnderstood):
        consumed(text)


def test_a_metric_that_is_missing_is_not_zero() -> None:
    with pytest.raises(NotUnderstood, match="fetch-total"):
        total(PRODUCED, "consumer-fetch-manager-metrics", "fetch-total")
