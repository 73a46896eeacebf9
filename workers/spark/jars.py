"""The jars of Spark's Kafka source: pinned, had once at set-up, used offline from then on.

`python -m workers.spark.jars` fetches what is missing, and exits with 1 and a sentence when it cannot be had.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from broker_core.local import maven

SPARK_VERSION = "4.2.0"
ARTIFACTS = {
    f"org.apache.spark:spark-sql-kafka-0-10_2.13:{SPARK_VERSION}": "64539c45e5d39f7ddb747312c239f38f5208d08c1a0ddf7d70beb2fbd9373705",
    f"org.apache.spark:spark-token-provider-kafka-0-10_2.13:{SPARK_VERSION}": (
        "641c7947afc8aa1189e433b7c2d305293993c8691bc1c2062d6d4f513b12518c"
    ),
    "org.apache.kafka:kafka-clients:3.9.2": "014b4ef36884478a932641818b080c36a8f8e2e92dc771e800c9d2694f4f83d8",
    "org.apache.commons:commons-pool2:2.13.1": "f77a5060d6936a9144023584232f9de3f2248f1abfe156e9d31795f18770674f",
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
