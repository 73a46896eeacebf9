"""Kafka's own performance tools: their command lines, and what they print."""

from __future__ import annotations

import re
import subprocess

from broker_core.local.services import java_binary
from tests.kafka_bench.loads import Load
from tests.support import kafka_jars

JVM = ("-Xmx512M", "-Djava.awt.headless=true", "-Dlog4j2.level=ERROR")
SENT = re.compile(
    r"^(?P<records>\d+) records sent, (?P<rate>[\d.,]+) records/sec \([\d.,]+ MB/sec\), [\d.,]+ ms avg latency, [\d.,]+ ms max latency, "
    r"(?P<p50>\d+) ms 50th, \d+ ms 95th, (?P<p99>\d+) ms 99th, (?P<p999>\d+) ms 99\.9th\.",
    re.MULTILINE,
)
METRIC = re.compile(r"^(?P<group>[\w-]+):(?P<name>[\w-]+):\{(?P<tags>[^}]*)\}\s*:\s*(?P<value>[\d.,E+-]+)\s*$", re.MULTILINE)


class NotUnderstood(Exception):
    """A tool printed something else than it is known to print."""


def fetch() -> None:
    """`JarsMissing` where they cannot be had."""
    for jars in (kafka_jars.pinned(), kafka_jars.pinned(kafka_jars.TOOLS)):
        if jars.missing():
            jars.fetch()


def java_version() -> str:
    """As the JVM names itself."""
    done = subprocess.run([java_binary(), "-version"], capture_output=True, text=True, check=False)
    lines = done.stderr.splitlines()
    return lines[1] if len(lines) > 1 else "unknown"


def produce_command(bootstrap: str, topic: str, load: Load, records: int) -> list[str]:
    properties = {
        "bootstrap.servers": bootstrap,
        "acks": load.acks,
        "batch.size": str(load.batch_bytes),
        "linger.ms": str(load.linger_ms),
        "enable.idempotence": "false",
    }
    options = ["--topic", topic, "--num-records", str(records), "--record-size", str(load.record_bytes), "--throughput", "-1"]
    named = [f"{name}={value}" for name, value in properties.items()]
    return [*_java("org.apache.kafka.tools.ProducerPerformance"), *options, "--print-metrics", "--producer-props", *named]


def consume_command(bootstrap: str, topic: str, records: int, group: str) -> list[str]:
    options = ["--bootstrap-server", bootstrap, "--topic", topic, "--messages", str(records), "--group", group, "--timeout", "60000"]
    return [*_java("org.apache.kafka.tools.ConsumerPerformance"), *options, "--hide-header", "--print-metrics"]


def _java(main: str) -> list[str]:
    return [java_binary(), *JVM, "-cp", kafka_jars.tools_classpath(), main]


def produced(text: str) -> dict[str, float]:
    """`records`, `seconds`, milliseconds `p50`, `p99`, `p999`, and `requests` (all that the producer sent)."""
    found = SENT.search(text)
    if found is None:
        raise NotUnderstood(f"ProducerPerformance said {text[-500:]!r}")
    records, rate = float(found["records"]), _number(found["rate"])
    waits = {name: _number(found[name]) for name in ("p50", "p99", "p999")}
    return {"records": records, "seconds": records / rate, "requests": total(text, "producer-metrics", "request-total"), **waits}


def consumed(text: str) -> dict[str, float]:
    """`records`, `seconds` of fetching (without the time it took to join the group), and `requests`: its fetches."""
    rows = [line.split(", ") for line in text.splitlines() if line.count(", ") == 9]
    if not rows:
        raise NotUnderstood(f"ConsumerPerformance said {text[-500:]!r}")
    records, fetch_ms = float(rows[0][4]), float(rows[0][7])
    return {"records": records, "seconds": fetch_ms / 1000, "requests": total(text, "consumer-fetch-manager-metrics", "fetch-total")}


def total(text: str, group: str, name: str) -> float:
    """The sum of a metric over all that have no tag but the client's id: others are parts of it."""
    found = [m for m in METRIC.finditer(text) if (m["group"], m["name"]) == (group, name) and "," not in m["tags"]]
    if not found:
        raise NotUnderstood(f"there is no {group}:{name} in {text[-500:]!r}")
    return sum(_number(m["value"]) for m in found)


def _number(text: str) -> float:
    return float(text.replace(",", ""))
