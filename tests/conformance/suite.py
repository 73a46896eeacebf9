"""A client's own test suite: what it is, how it is prepared once, and how pytest runs it against running brokers."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import venv
from collections.abc import Callable, Mapping
from pathlib import Path

from msgspec import Struct, field

from tests.conformance import reading
from tests.conformance.case import Case
from tests.conformance.sources import BUILD, Git, NotHad, environment, run
from tests.conformance.world import World

STAND_INS = Path(__file__).parent / "stand_ins"
DONE = ".prepared"
TEST_SECONDS = 120
"""What one test may take where the suite itself sets no limit."""
SUITE_SECONDS = 2400
LAST_SECONDS = 60
"""For writing what was found, when the suite's time is up."""


class Suite(Struct, frozen=True, kw_only=True):
    """`packages` are what it needs in an environment of its own, pinned; `arguments` are pytest's.

    By `variables` it is told of the brokers; `plugin` is a module of `stand_ins` that gives what else a container would.
    """

    name: str
    words: str
    source: Git
    packages: tuple[str, ...]
    arguments: tuple[str, ...]
    variables: Callable[[World], dict[str, str]]
    plugin: str | None = None
    brokers: int = 1
    first_id: int = 1
    settings: Mapping[str, str] = field(default_factory=dict)

    @property
    def folder(self) -> Path:
        return BUILD / f"{self.name}-{self.source.version}"

    @property
    def output(self) -> Path:
        """All that it printed the last time."""
        return BUILD / f"{self.name}.txt"

    @property
    def _venv(self) -> Path:
        return BUILD / f"{self.name}-venv"

    def prepare(self) -> None:
        """Fetches it and what it needs, unless that was done before; raises `NotHad`."""
        if (self.folder / DONE).exists():
            return
        BUILD.mkdir(parents=True, exist_ok=True)
        self.source.unpack(self.folder)
        if not self._venv.exists():
            venv.create(self._venv, with_pip=True)
        run([str(self._venv / "bin" / "python"), "-m", "pip", "install", "-q", *self.packages], self.folder)
        (self.folder / DONE).touch()

    def go(self, world: World) -> tuple[list[Case], str]:
        """Its cases, and why they are not all, where it was ended before."""
        results = world.folder / "results.xml"
        options = ["-q", "-p", "no:cacheprovider", "-o", "junit_family=xunit1", f"--junitxml={results}"]
        options += [f"--timeout={TEST_SECONDS}", "--timeout-method=signal", *(["-p", self.plugin] if self.plugin else [])]
        error = self._run([str(self._venv / "bin" / "python"), "-m", "pytest", *options, *self.arguments], world)
        if not results.exists():
            raise NotHad(f"there are no results{': ' + error if error else ''}; see build/conformance/{self.output.name}")
        return reading.junit(results), error

    def _run(self, command: list[str], world: World) -> str:
        """What was wrong if it had to be ended."""
        with self.output.open("wb") as out:
            process = subprocess.Popen(
                command, cwd=self.folder, env=environment(**self.variables(world)), stdout=out, stderr=subprocess.STDOUT
            )
            try:
                process.wait(SUITE_SECONDS)
                return ""
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGINT)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(LAST_SECONDS)
                return f"ended after {SUITE_SECONDS} s"
            finally:
                process.kill()
                process.wait()
