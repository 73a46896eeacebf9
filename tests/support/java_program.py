"""A Java program of a test, from jars of Apache Kafka: started, killed as `kill -9` would, and what it said when something is wrong."""

from __future__ import annotations

import subprocess
from pathlib import Path

from broker_core.local.services import java_binary, tail
from tests.support.broker_process import JAVA, LOG4J


class JavaProgram:
    """One `main` with its arguments; everything it writes goes into `NAME.txt` of the folder, over all its lives."""

    def __init__(self, folder: Path, name: str, classpath: str, main: str, *arguments: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.output = folder / f"{name}.txt"
        logging = folder / f"{name}-log4j2.properties"
        logging.write_text(LOG4J.replace("rootLogger.level = info", "rootLogger.level = warn"))
        self._command = [java_binary(), *JAVA, f"-Dlog4j2.configurationFile={logging}", "-cp", classpath, main, *arguments]
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with self.output.open("ab") as out:
            self._process = subprocess.Popen(self._command, stdout=out, stderr=out, cwd=self._folder)

    def kill(self) -> None:
        """Nothing of it runs afterwards; nothing happens where it does not run."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def ended(self) -> bool:
        return self._process is None or self._process.poll() is not None

    def said(self) -> str:
        """The end of what it wrote, for the message of a test that failed."""
        return tail(self.output, 6_000)


def properties_file(path: Path, settings: dict[str, str]) -> str:
    """A file as Java's programs take it; gives its path."""
    path.write_text("".join(f"{name}={value}\n" for name, value in settings.items()), encoding="utf-8")
    return str(path)
