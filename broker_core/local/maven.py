"""Jars pinned by checksum, had once and used offline from then on.

They come from Maven Central, or from what stands for it on this machine: `HIGHWATER_MAVEN_URL`, else the mirror in Maven's
settings.xml. Where that does not answer, Maven itself is asked where it is installed (it knows a mirror's password), then Spark's own
resolver. Whatever they fetch is taken by its checksum only. What is had stays, so that the next try goes on with the rest.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree
from xml.sax.saxutils import escape

from broker_core.errors import HighwaterError
from broker_core.local.download import DownloadError, download

CENTRAL = "https://repo1.maven.org/maven2"
URL_VARIABLE = "HIGHWATER_MAVEN_URL"
CONNECTIONS = 4
MOST_SETTINGS_BYTES = 1024 * 1024
FETCH_SECONDS = 300
MAVEN_GOAL = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"


class JarsMissing(HighwaterError):
    """A jar is not there or is not the one that was pinned; the message says what to run."""


@dataclass(frozen=True)
class PinnedJars:
    """Maven coordinates `group:artifact:version` with the SHA-256 of each jar, in one folder; `command` fetches them."""

    artifacts: Mapping[str, str]
    folder: Path
    command: str

    def paths(self) -> list[Path]:
        """All jars, checked; `JarsMissing` names the first that is not right."""
        for coordinate, digest in self.artifacts.items():
            path = self.folder / file_name(coordinate)
            if not path.exists():
                raise JarsMissing(f"{path.name} is missing: run {self.command} (needs a way to Maven Central)")
            if _digest(path) != digest:
                raise JarsMissing(f"{path.name} does not have the pinned checksum: delete {path} and run {self.command}")
        return [self.folder / file_name(coordinate) for coordinate in self.artifacts]

    def missing(self) -> list[str]:
        """Coordinates whose right jar is not in the folder."""
        return [c for c, digest in self.artifacts.items() if not _is(self.folder / file_name(c), digest)]

    def fetch(self) -> None:
        """Gets what is missing; `JarsMissing` when no way to it answered."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise JarsMissing(f"{self.folder} could not be made: {error.strerror}") from error
        why = self._directly()
        for way in (_by_maven, _by_spark):
            if not (missing := self.missing()):
                break
            with tempfile.TemporaryDirectory() as scratch:
                way(missing, Path(scratch))
                self._take(Path(scratch))
        try:
            self.paths()
        except JarsMissing as error:
            raise JarsMissing(f"{error}. {why}" if why else str(error)) from error

    def _directly(self) -> str:
        """Downloads what is missing, a few at once, until the first that fails; gives its words, or none."""
        base = repository()
        with ThreadPoolExecutor(CONNECTIONS) as pool:
            tasks = [pool.submit(download, address(base, c), self.folder / file_name(c), self.artifacts[c]) for c in self.missing()]
            try:
                for task in as_completed(tasks):
                    task.result()
            except DownloadError as error:
                pool.shutdown(cancel_futures=True)
                return str(error)
        return ""

    def _take(self, scratch: Path) -> None:
        """Copies every jar with a pinned checksum out of what a resolver has fetched."""
        for coordinate in self.missing():
            name = file_name(coordinate)
            for found in (*scratch.rglob(name), *scratch.rglob(f"*_{name}")):
                if _digest(found) == self.artifacts[coordinate]:
                    temporary = self.folder / f".{name}.part"
                    shutil.copyfile(found, temporary)
                    temporary.replace(self.folder / name)
                    break


def shared_folder(name: str) -> Path:
    """A folder for jars beside the installed packages."""
    return Path(sys.prefix) / "share" / "highwater" / name


def repository() -> str:
    """Where jars are fetched from: `HIGHWATER_MAVEN_URL`, else the mirror in Maven's settings, else Maven Central."""
    return (os.environ.get(URL_VARIABLE) or mirror(Path.home() / ".m2" / "settings.xml") or CENTRAL).rstrip("/")


def mirror(settings: Path) -> str | None:
    """The address that a settings.xml names for Maven Central; None where it names none or cannot be read."""
    try:
        with open(settings, "rb") as file:
            root = ElementTree.fromstring(file.read(MOST_SETTINGS_BYTES))
    except (OSError, ElementTree.ParseError, ValueError):
        return None
    for found in root.iterfind("{*}mirrors/{*}mirror"):
        url, blocked = _text(found, "url"), _text(found, "blocked")
        if url and blocked != "true" and _stands_for_central(_text(found, "mirrorOf")):
            return url
    return None


def _text(element: ElementTree.Element, name: str) -> str:
    return (element.findtext(f"{{*}}{name}") or "").strip()


def _stands_for_central(mirror_of: str) -> bool:
    """By Maven's rules for `mirrorOf`: a list of names, `*`, `external:*` and `!name`."""
    names = {name.strip() for name in mirror_of.split(",")}
    return bool(names & {"central", "*", "external:*"}) and "!central" not in names


def address(base: str, coordinate: str) -> str:
    group, artifact, version = coordinate.split(":")
    return f"{base}/{group.replace('.', '/')}/{artifact}/{version}/{file_name(coordinate)}"


def file_name(coordinate: str) -> str:
    _, artifact, version = coordinate.split(":")
    return f"{artifact}-{version}.jar"


def fetch_and_say(jars: PinnedJars, what: str, say: Callable[[str], None]) -> int:
    """The exit status of a command that fetches them: 1 and a sentence when they could not be had."""
    try:
        if jars.missing():
            say(f"fetching {what} …")
            jars.fetch()
    except JarsMissing as error:
        say(str(error))
        return 1
    say(f"{len(jars.artifacts)} jars are in {jars.folder}")
    return 0


def _is(path: Path, digest: str) -> bool:
    return path.exists() and _digest(path) == digest


def _digest(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _by_spark(coordinates: list[str], scratch: Path) -> None:
    """`spark-submit --packages` resolves before it runs a program that does nothing."""
    spec = importlib.util.find_spec("pyspark")
    if spec is None or spec.origin is None:
        return
    nothing = scratch / "nothing.py"
    nothing.write_text("")
    submit = Path(spec.origin).parent / "bin" / "spark-submit"
    options = ["--master", "local[1]", "--conf", "spark.ui.enabled=false", "--conf", "spark.driver.host=127.0.0.1"]
    options += ["--conf", "spark.driver.bindAddress=127.0.0.1", "--conf", f"spark.jars.ivy={scratch / 'ivy'}"]
    # Where the machine's own name leads nowhere, as while an image is built, Spark would not even start.
    environment = {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    _run([str(submit), *options, "--packages", ",".join(coordinates), str(nothing)], environment)


def _by_maven(coordinates: list[str], scratch: Path) -> None:
    if shutil.which("mvn") is None:
        return
    rows = "".join(_dependency(*coordinate.split(":")) for coordinate in coordinates)
    project = "<modelVersion>4.0.0</modelVersion><groupId>highwater</groupId><artifactId>jars</artifactId><version>1</version>"
    (scratch / "pom.xml").write_text(f"<project>{project}<dependencies>{rows}</dependencies></project>", encoding="utf-8")
    options = ["-DexcludeTransitive=true", f"-DoutputDirectory={scratch / 'jars'}", f"-Dmaven.repo.local={scratch / 'repository'}"]
    _run(["mvn", "-B", "-q", "-f", str(scratch / "pom.xml"), MAVEN_GOAL, *options], {})


def _dependency(group: str, artifact: str, version: str) -> str:
    parts = {"groupId": group, "artifactId": artifact, "version": version}
    return "<dependency>" + "".join(f"<{name}>{escape(text)}</{name}>" for name, text in parts.items()) + "</dependency>"


def _run(command: list[str], environment: dict[str, str]) -> None:
    """Runs a resolver; its failure only means that the next way is tried."""
    try:
        subprocess.run(command, env={**os.environ, **environment}, capture_output=True, timeout=FETCH_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return
