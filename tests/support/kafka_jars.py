"""Apache Kafka's own brokers, pinned by checksum: 3.9, of which ours must not be told apart (`tests/apache/jars.sha256`), and 4, which the
console collects (`tests/collector/jars.sha256`: Kafka's own jars, and of others those that 3.9 has not). The command-line tools of 3.9 are
in a jar that its brokers do without (`tests/kafka_tools/jars.sha256`).

`python -m tests.support.kafka_jars` fetches what is missing. Scala's library and the logging jars come from PySpark's package.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Sequence
from pathlib import Path

from broker_core.local import maven

KAFKA_VERSION, KAFKA_4_VERSION = "3.9.2", "4.1.0"
TOOLS = f"{KAFKA_VERSION}-tools"
TESTS = Path(__file__).parent.parent
LISTS = {
    name: TESTS / folder / "jars.sha256"
    for name, folder in ((KAFKA_VERSION, "apache"), (KAFKA_4_VERSION, "collector"), (TOOLS, "kafka_tools"))
}
FROM_PYSPARK = ("scala-library-*", "slf4j-api-*", "log4j-slf4j2-impl-*", "log4j-api-*", "log4j-core-*", "log4j-1.2-api-*")
ONLY_OF_3 = ("kafka", "caffeine", "netty")
"""Jars of 3.9 that 4 has of its own, or not."""


def pinned(version: str = KAFKA_VERSION) -> maven.PinnedJars:
    rows = [line.split() for line in LISTS[version].read_text(encoding="ascii").splitlines()]
    artifacts = {coordinate: digest for digest, coordinate in rows}
    return maven.PinnedJars(artifacts, maven.shared_folder(f"kafka-{version}"), ".venv/bin/python -m tests.support.kafka_jars")


def classpath(version: str = KAFKA_VERSION) -> str:
    """For `java -cp`; `JarsMissing` says what to run."""
    shared = from_pyspark(FROM_PYSPARK)
    if version == KAFKA_4_VERSION:
        shared += [str(jar) for jar in pinned().paths() if not jar.name.startswith(ONLY_OF_3)]
    return ":".join([*shared, *map(str, pinned(version).paths())])


def from_pyspark(patterns: Sequence[str]) -> list[str]:
    """Paths of jars inside PySpark's package."""
    spec = importlib.util.find_spec("pyspark")
    assert spec is not None and spec.origin is not None
    folder = Path(spec.origin).parent / "jars"
    return [str(jar) for pattern in patterns for jar in sorted(folder.glob(f"{pattern}.jar"))]


def tools_classpath() -> str:
    """Of 3.9 with its command-line tools."""
    return ":".join([classpath(), *map(str, pinned(TOOLS).paths())])


if __name__ == "__main__":
    sys.exit(max(maven.fetch_and_say(pinned(version), f"the jars of Apache Kafka {version}", print) for version in LISTS))
