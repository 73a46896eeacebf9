"""The jars of Spark's Kafka source: pinned, had once at set-up, used offline from then on.

`python -m workers.spark.jars` fetches what is missing, and exits with 1 and a sentence when it cannot be had.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from broker_core.local import maven

SPARK_VERSION = "4.0.0"
ARTIFACTS = {
    f"org.apache.spark:spark-sql-kafka-0-10_2.13:{SPARK_VERSION}": "33a3b8b04df4a2e43c9d5bf8ca5972936a1ac662f2714e014d00ef6f27468bf3",
    f"org.apache.spark:spark-token-provider-kafka-0-10_2.13:{SPARK_VERSION}": (
        "f2be3b76f9e6cbe63379d4e4e0dc14f59dbf056ae2ad16ff15ac108004c86767"
    ),
    "org.apache.kafka:kafka-clients:3.9.0": "15c1e137f2c2c94398e27abc4060a03b6bde10bf9fac15e8f70c02320b202f18",
    "org.apache.commons:commons-pool2:2.12.0": "6d3bd18df8410f3e31b031aca582cc109342358a62a2759ebd0c4cdf30d06f8b",
}
"""Maven coordinates and the SHA-256 of each jar."""


def pinned() -> maven.PinnedJars:
    return maven.PinnedJars(ARTIFACTS, maven.shared_folder("jars"), ".venv/bin/python -m workers.spark.jars")


def paths() -> list[Path]:
    """All jars, checked; `JarsMissing` names the first that is not right."""
    return pinned().paths()


def missing() -> str:
    """What keeps Spark from reading Kafka, as a sentence; empty when all jars are there."""
    try:
        paths()
    except maven.JarsMissing as error:
        return str(error)
    return ""


def main(say: Callable[[str], None] = print) -> int:
    return maven.fetch_and_say(pinned(), "the jars of Spark's Kafka source", say)


if __name__ == "__main__":
    sys.exit(main())
