"""The jars of Spark's Kafka source: pinned by checksum, had once at set-up, used offline from then on.

`python -m workers.spark.jars` fetches what is missing by Spark's own resolver or by Maven, whichever answers, and exits
with 1 and a sentence when neither does.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

SPARK_VERSION = "4.0.0"
FETCH_SECONDS = 300
ARTIFACTS = {
    f"org.apache.spark:spark-sql-kafka-0-10_2.13:{SPARK_VERSION}": "33a3b8b04df4a2e43c9d5bf8ca5972936a1ac662f2714e014d00ef6f27468bf3",
    f"org.apache.spark:spark-token-provider-kafka-0-10_2.13:{SPARK_VERSION}": (
        "f2be3b76f9e6cbe63379d4e4e0dc14f59dbf056ae2ad16ff15ac108004c86767"
    ),
    "org.apache.kafka:kafka-clients:3.9.0": "15c1e137f2c2c94398e27abc4060a03b6bde10bf9fac15e8f70c02320b202f18",
    "org.apache.commons:commons-pool2:2.12.0": "6d3bd18df8410f3e31b031aca582cc109342358a62a2759ebd0c4cdf30d06f8b",
}
"""Maven coordinates and the SHA-256 of each jar."""

MAVEN_PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:get"


class JarsMissing(Exception):
    """A jar is not there or is not the one that was pinned; the message says what to run."""


def folder() -> Path:
    """Where the jars lie: beside the installed packages."""
    return Path(sys.prefix) / "share" / "highwater" / "jars"


def file_name(coordinate: str) -> str:
    _, artifact, version = coordinate.split(":")
    return f"{artifact}-{version}.jar"


def paths() -> list[Path]:
    """All jars, checked; `JarsMissing` names the first that is not right."""
    for coordinate, digest in ARTIFACTS.items():
        path = folder() / file_name(coordinate)
        if not path.exists():
            raise JarsMissing(f"{path.name} is missing: run .venv/bin/python -m workers.spark.jars (needs a way to Maven Central)")
        if _digest(path) != digest:
            raise JarsMissing(
                f"{path.name} does not have the pinned checksum: delete {path} and run .venv/bin/python -m workers.spark.jars"
            )
    return [folder() / file_name(coordinate) for coordinate in ARTIFACTS]


def fetch() -> None:
    """Gets what is missing; `JarsMissing` when no way to it answered."""
    folder().mkdir(parents=True, exist_ok=True)
    for way in (_by_spark, _by_maven):
        if not _missing():
            break
        with tempfile.TemporaryDirectory() as scratch:
            way(Path(scratch))
            _take(Path(scratch))
    paths()


def _missing() -> list[str]:
    return [c for c, digest in ARTIFACTS.items() if not _is(folder() / file_name(c), digest)]


def _is(path: Path, digest: str) -> bool:
    return path.exists() and _digest(path) == digest


def _digest(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _take(scratch: Path) -> None:
    """Copies every jar with a pinned checksum out of what a resolver has fetched."""
    for coordinate in _missing():
        name = file_name(coordinate)
        for found in (*scratch.rglob(name), *scratch.rglob(f"*_{name}")):
            if _digest(found) == ARTIFACTS[coordinate]:
                temporary = folder() / f".{name}.part"
                shutil.copyfile(found, temporary)
                temporary.replace(folder() / name)
                break


def _by_spark(scratch: Path) -> None:
    """`spark-submit --packages` resolves before it runs a program that does nothing."""
    spec = importlib.util.find_spec("pyspark")
    if spec is None or spec.origin is None:
        return
    nothing = scratch / "nothing.py"
    nothing.write_text("")
    submit = Path(spec.origin).parent / "bin" / "spark-submit"
    options = ["--master", "local[1]", "--conf", "spark.ui.enabled=false", "--conf", "spark.driver.host=127.0.0.1"]
    options += ["--conf", "spark.driver.bindAddress=127.0.0.1", "--conf", f"spark.jars.ivy={scratch / 'ivy'}"]
    _run([str(submit), *options, "--packages", ",".join(ARTIFACTS), str(nothing)], {"PYSPARK_PYTHON": sys.executable})


def _by_maven(scratch: Path) -> None:
    if shutil.which("mvn") is None:
        return
    for coordinate in _missing():
        _run(["mvn", "-B", "-q", MAVEN_PLUGIN, f"-Dartifact={coordinate}", "-Dtransitive=false", f"-Dmaven.repo.local={scratch}"], {})


def _run(command: list[str], environment: dict[str, str]) -> None:
    """Runs a resolver; its failure only means that the next way is tried."""
    try:
        subprocess.run(command, env={**os.environ, **environment}, capture_output=True, timeout=FETCH_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return


def main(say: Callable[[str], None] = print) -> int:
    try:
        if _missing():
            say("fetching the jars of Spark's Kafka source …")
            fetch()
    except JarsMissing as error:
        say(str(error))
        return 1
    say(f"{len(ARTIFACTS)} jars are in {folder()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
