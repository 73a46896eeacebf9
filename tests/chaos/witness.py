"""Looks on all the while: which processes ended that nobody killed, and what the page said that was not so."""

from __future__ import annotations

import contextlib
import re
import threading
import time
from collections.abc import Iterator

from broker_core.local.layout import BROKER_IDS
from tests.chaos.plan import PROGRAMS
from tests.chaos.system import ChaosSystem
from tests.support.rest import Rest

LOOK_SECONDS = 1.0
"""Between two looks, at the page or at thousands of partitions: their metadata takes brokers and client a good part of it."""
SEEN_SECONDS = 6.0
"""So long after a broker stands still the page may not know it yet: silence is told from 3 s on, and it is looked at once a second."""
SAFE = re.compile(r"\b(is|are) safe\b")


class Witness:
    """`lost` and `lies` are sentences; `answers` counts the looks at the page that were answered."""

    def __init__(self, system: ChaosSystem, rest: Rest) -> None:
        self.lost: list[str] = []
        self.lies: list[str] = []
        self.answers = 0
        self._system, self._rest = system, rest
        self._names = (*PROGRAMS, *(f"broker-{broker_id}" for broker_id in BROKER_IDS))
        self._pids: dict[str, int | None] = {}
        self._expected: set[str] = set()
        self._turn = threading.Lock()
        """Held for a look at a process: what is seen of it is not judged by what is expected later."""
        self._silent: tuple[str, float] | None = None
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="witness")

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        self._pids = {name: self._system.named(name).pid() for name in self._names}
        self._thread.start()
        try:
            yield
        finally:
            self._stop.set()
            self._thread.join()

    @contextlib.contextmanager
    def expects(self, *names: str) -> Iterator[None]:
        """These may end and come back meanwhile."""
        with self._turn:
            self._expected |= set(names)
        try:
            yield
        finally:
            with self._turn:
                for name in names:
                    self._pids[name] = self._system.named(name).pid()
                self._expected -= set(names)

    @contextlib.contextmanager
    def silent(self, name: str) -> Iterator[None]:
        """A broker that hosts replicas of everything does not answer meanwhile: nothing may be called safe."""
        self._silent = (name, time.monotonic())
        try:
            yield
        finally:
            self._silent = None

    def _run(self) -> None:
        while not self._stop.wait(LOOK_SECONDS):
            self.look_at_processes()
            self._look_at_the_page()

    def look_at_processes(self) -> None:
        for name in self._names:
            with self._turn:
                if name in self._expected:
                    continue
                pid, before = self._system.named(name).pid(), self._pids[name]
                if pid != before:
                    self.lost.append(f"{name} (pid {before}) ended and nobody had killed it; now: pid {pid}")
                    self._pids[name] = pid

    def _look_at_the_page(self) -> None:
        before = self._silent
        try:
            verdict = self._rest.live()["verdict"]
        except (OSError, AssertionError, ValueError):
            return  # the console itself is down, or says that it knows nothing
        self.answers += 1
        after = self._silent
        if before is None or before != after or not verdict:
            return
        since = time.monotonic() - before[1]
        if since > SEEN_SECONDS and SAFE.search(verdict["text"]):
            self.lies.append(f"{since:.0f} s after {before[0]} fell silent the page says: {verdict['text']}")
