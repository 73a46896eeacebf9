"""Kafka Streams, and Kafka Connect with its file connectors, of the version that we are compared with.

Pinned by checksum in `tests/frameworks/streams.sha256` and `tests/frameworks/connect.sha256`; what they share with the broker are its jars.
`python -m tests.support.framework_jars` fetches what is missing.
"""

from __future__ import annotations

import sys
from pathlib import Path

from broker_core.local import maven
from tests.support import kafka_jars

FOLDER = Path(__file__).parent.parent / "frameworks"
STREAMS, CONNECT = "streams", "connect"
JAVA_SOURCE = "org.codehaus.janino.SimpleCompiler"
"""The `main` that compiles a file (first argument) and runs a class of it (second), where there is no javac: from PySpark's package."""
COMPILER = ("janino-*", "commons-compiler-*")


def pinned(framework: str) -> maven.PinnedJars:
    rows = [line.split() for line in (FOLDER / f"{framework}.sha256").read_text(encoding="ascii").splitlines()]
    artifacts = {coordinate: digest for digest, coordinate in rows}
    folder = maven.shared_folder(f"kafka-{kafka_jars.KAFKA_VERSION}-{framework}")
    return maven.PinnedJars(artifacts, folder, ".venv/bin/python -m tests.support.framework_jars")


def classpath(framework: str) -> str:
    """For `java -cp`; `JarsMissing` says what to run."""
    return ":".join([*map(str, pinned(framework).paths()), kafka_jars.classpath(), *kafka_jars.from_pyspark(COMPILER)])


if __name__ == "__main__":
    sys.exit(max(maven.fetch_and_say(pinned(name), f"the jars of Kafka {name.capitalize()}", print) for name in (STREAMS, CONNECT)))
