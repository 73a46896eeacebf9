"""Apache Kafka's own broker, of which ours must not be told apart: its jars, pinned in `tests/apache/jars.sha256`.

`python -m tests.support.kafka_jars` fetches what is missing. Scala's library and the logging jars come from PySpark's package.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

from broker_core.local import maven

KAFKA_VERSION = "3.9.2"
LIST = Path(__file__).parent.parent / "apache" / "jars.sha256"
FROM_PYSPARK = ("scala-library-*", "slf4j-api-*", "log4j-slf4j2-impl-*", "log4j-api-*", "log4j-core-*", "log4j-1.2-api-*")


def pinned() -> maven.PinnedJars:
    rows = [line.split() for line in LIST.read_text(encoding="ascii").splitlines()]
    artifacts = {coordinate: digest for digest, coordinate in rows}
    return maven.PinnedJars(artifacts, maven.shared_folder(f"kafka-{KAFKA_VERSION}"), ".venv/bin/python -m tests.support.kafka_jars")


def classpath() -> str:
    """For `java -cp`; `JarsMissing` says what to run."""
    spec = importlib.util.find_spec("pyspark")
    assert spec is not None and spec.origin is not None
    folder = Path(spec.origin).parent / "jars"
    shared = [jar for pattern in FROM_PYSPARK for jar in sorted(folder.glob(f"{pattern}.jar"))]
    return ":".join(map(str, [*shared, *pinned().paths()]))


if __name__ == "__main__":
    sys.exit(maven.fetch_and_say(pinned(), f"the jars of Apache Kafka {KAFKA_VERSION}", print))
