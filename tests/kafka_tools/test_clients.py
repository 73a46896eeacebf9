"""The console's producer and consumer, those that measure, those that verify, and one that copies in transactions."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from tests.kafka_tools.jvm import alone
from tests.kafka_tools.sides import MAINS, Clusters, Side

FORMATTERS = "org.apache.kafka.tools.consumer"


def console(side: Side) -> None:
    run = side.run
    side.topic("typed", "1", "2")
    side.topic("typed-one", "1:2")
    lines = "h1:a,h2:b\tk1\tv1\nNULL\tk2\tv2\nh:c\tNULL\tNULL\n"
    reads = ("--property", "parse.key=true", "--property", "parse.headers=true", "--property", "null.marker=NULL")
    run("console-producer", "--topic", "typed-one", "--sync", *reads, stdin=lines)
    run("console-producer", "--topic", "typed-one", "--compression-codec", "zstd", "--request-required-acks", "-1", stdin="plain\nöäü\n")
    run("console-producer", "--topic", "typed", *reads[:2], stdin="".join(f"key-{n}\tvalue-{n}\n" for n in range(20)))
    shows = [word for name in ("key", "headers", "partition", "offset", "value") for word in ("--property", f"print.{name}=true")]
    limits = ("--max-messages", 5, "--timeout-ms", 30_000)
    run("console-consumer", "--topic", "typed-one", "--from-beginning", *limits, *shows, "--property", "null.literal=(none)")
    run("console-consumer", "--topic", "typed-one", "--partition", 0, "--offset", 2, "--max-messages", 3, "--timeout-ms", 30_000)
    run("console-consumer", "--topic", "typed-one", "--partition", 0, "--offset", "earliest", "--max-messages", 1, "--timeout-ms", 30_000)
    run("console-consumer", "--topic", "typed-one", "--partition", 0, "--offset", "latest", "--timeout-ms", 1000)
    named = ("--topic", "typed-one", "--group", "typing", "--from-beginning", *limits)
    run("console-consumer", *named, "--property", "print.timestamp=true", figures=False)
    run("consumer-groups", "--describe", "--group", "typing")
    keyed = ("--include", "typed", "--from-beginning", "--max-messages", 20, "--timeout-ms", 30_000, "--property", "print.key=true")
    run("console-consumer", *keyed, "--property", "print.partition=true", ordered=False)
    run("console-consumer", "--topic", "typed-none", "--partition", 7, "--offset", 0, "--timeout-ms", 1000, told=False)
    run("console-consumer", "--topic", "typed", "--isolation-level", "odd", status=1)


def test_console(clusters: Clusters) -> None:
    told = clusters.compare(console)
    assert told[5].lines[0] == "Partition:0 Offset:0 h1:a,h2:b k1 v1"
    assert told[5].lines[2] == "Partition:0 Offset:2 h:c (none) (none)"


def formatters(side: Side) -> None:
    """What the coordinators keep, read by Kafka's formatters."""
    run = side.run
    side.topic("formatted", "1")
    side.fill("formatted", 4)
    for number in range(2):
        run("console-consumer", "--topic", "formatted", "--group", f"formatting-{number}", "--from-beginning", "--max-messages", 4)
    run("producer-perf-test", *perf(side, "formatted"), "--transactional-id", "formatted-id", "--transaction-duration-ms", 1, told=False)
    for topic, formatter in (
        ("__consumer_offsets", "OffsetsMessageFormatter"),
        ("__consumer_offsets", "GroupMetadataMessageFormatter"),
        ("__transaction_state", "TransactionLogMessageFormatter"),
    ):
        words = ("--topic", topic, "--from-beginning", "--timeout-ms", 3000, "--formatter", f"{FORMATTERS}.{formatter}")
        found = run("console-consumer", *words, told=False)
        rows = [row for row in written_together(found) if "formatt" in row]
        assert rows, found
        for row in rows[:1] if topic.startswith("__t") else rows:
            side.note(formatter, re.sub(r"\d+", "N", row) if topic.startswith("__t") else row)


def written_together(text: str) -> Iterator[str]:
    """Values of JSON that follow each other without anything between them."""
    decoder, place = json.JSONDecoder(), text.find("{")
    while place >= 0:
        row, end = decoder.raw_decode(text, place)
        yield json.dumps(row, sort_keys=True)
        place = text.find("{", end)


def test_formatters(clusters: Clusters) -> None:
    clusters.compare(formatters)


def perf(side: Side, topic: str, count: int = 500) -> list[object]:
    words = ["--topic", topic, "--num-records", count, "--record-size", 100, "--throughput", -1]
    return [*words, "--producer-props", f"bootstrap.servers={side.bootstrap}"]


def measured(side: Side) -> None:
    run = side.run
    side.topic("measured", "1", "2")
    payloads = side.file("payloads", "one\ntwo\nthree\n")
    run("producer-perf-test", *perf(side, "measured"), figures=False)
    found = run("producer-perf-test", *perf(side, "measured"), "--print-metrics", told=False)
    assert "producer-metrics:record-send-total:{client-id=perf-producer-client}" in found
    words = ["--topic", "measured", "--num-records", 100, "--payload-file", payloads, "--throughput", -1]
    run("producer-perf-test", *words, "--producer-props", f"bootstrap.servers={side.bootstrap}", "compression.type=lz4", figures=False)
    found = run(
        "producer-perf-test", *perf(side, "measured", 300), "--transactional-id", "measuring", "--transaction-duration-ms", 1, told=False
    )
    assert "300 records sent" in found
    run("consumer-perf-test", "--topic", "measured", "--messages", 1000, "--timeout", 60_000, figures=False)
    detailed = ("--hide-header", "--show-detailed-stats", "--reporting-interval", 1)
    assert run("consumer-perf-test", "--topic", "measured", "--messages", 1000, *detailed, told=False)
    found = run("e2e-latency", side.bootstrap, "measured-by-one", 20, "all", 100, told=False)
    assert "Avg latency:" in found and "Percentiles: 50th = " in found, found


def test_measured(clusters: Clusters) -> None:
    clusters.compare(measured)


def verified(side: Side) -> None:
    run = side.run
    side.topic("verified", "1:2")
    side.topic("verified-copy", "2:1")
    words = [
        "--bootstrap-server",
        side.bootstrap,
        "--topic",
        "verified",
        "--max-messages",
        "30",
        "--value-prefix",
        "4",
        "--repeating-keys",
        "3",
    ]
    found = alone(MAINS["verifiable-producer"], words)
    events = [json.loads(line) for line in found.splitlines() if line.startswith("{")]
    sent = sorted(
        (event["partition"], event["offset"], event["key"], event["value"]) for event in events if event["name"] == "producer_send_success"
    )
    assert sent == [(0, number, str(number % 3), f"4.{number}") for number in range(30)]
    reads = ("--topic", "verified", "--group-id", "verifying", "--max-messages", 30, "--reset-policy", "earliest")
    found = run("verifiable-consumer", *reads, "--session-timeout", 6000, "--verbose", told=False)
    events = [json.loads(line) for line in found.splitlines() if line.startswith("{")]
    read = [event["offset"] for event in events if event["name"] == "record_data"]
    assert read == list(range(30))
    assert {"startup_complete", "partitions_assigned", "offsets_committed", "shutdown_complete"} <= {event["name"] for event in events}
    run("consumer-groups", "--describe", "--group", "verifying")
    copy = ["--broker-list", side.bootstrap, "--input-topic", "verified", "--input-partition", 0, "--output-topic", "verified-copy"]
    copy += ["--consumer-group", "copying", "--transactional-id", "copying", "--transaction-size", 7, "--max-messages", 30]
    for more in ([], ["--use-group-metadata", "--group-mode"]):
        run("transactional-message-copier", *copy, *more, told=False)
        shown = ("--from-beginning", "--isolation-level", "read_committed", "--timeout-ms", 3000)
        run("console-consumer", "--topic", "verified-copy", *shown)
        run("consumer-groups", "--describe", "--group", "copying")


def test_verified(clusters: Clusters) -> None:
    told = clusters.compare(verified)
    assert 31 in [len(one.lines) for one in told], told
