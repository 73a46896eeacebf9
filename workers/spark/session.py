"""The one place that builds a Spark session: small, offline; on loopback, unless the master is a cluster's."""

from __future__ import annotations

import logging
import os
import socket
import sys
from pathlib import Path

from pyspark.sql import SparkSession

from workers.spark.jars import paths

SERIAL = "-XX:+UseSerialGC"
"""Half a GB that one core or two go through: threads of a collector would only take turns with the work; a small driver ends a quarter
sooner without them."""


def settings(master: str, scratch: Path) -> dict[str, str]:
    """All of the session's settings; `master` is `local[1]` or the URL of any Spark cluster, whose executors come back to this host.

    Java's temporary folder is in `scratch` too: a session leaves folders in there that nobody deletes.
    """
    host = driver_host(master)
    java = [f'"-Djava.io.tmpdir={scratch}"', *([SERIAL] if master.startswith("local") else [])]
    return {
        "spark.master": master,
        "spark.app.name": "highwater-analytics",
        "spark.jars": ",".join(str(path) for path in paths()),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": host,
        "spark.driver.bindAddress": host,
        "spark.driver.memory": "512m",
        "spark.driver.extraJavaOptions": " ".join(java),
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.streaming.metricsEnabled": "false",
        "spark.cleaner.periodicGC.interval": "5min",
        "spark.local.dir": str(scratch),
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        "spark.sql.files.maxPartitionBytes": "64m",
        "spark.sql.files.ignoreMissingFiles": "true",
        "spark.log.level": "WARN",
    }


def build(master: str, scratch: Path) -> SparkSession:
    """A session; `JarsMissing` when the Kafka source's jars are not there."""
    logging.getLogger("py4j").setLevel(logging.ERROR)
    scratch.mkdir(parents=True, exist_ok=True)  # Java does not make its temporary folder
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = driver_host(master)
    builder = SparkSession.builder
    for name, value in settings(master, scratch).items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def driver_host(master: str) -> str:
    """Loopback for a local master, else this machine's address as its own name gives it."""
    return "127.0.0.1" if master.startswith("local") else socket.gethostbyname(socket.gethostname())
