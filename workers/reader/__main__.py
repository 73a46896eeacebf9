"""`python -m workers.reader`: takes searches of records from the queue and forks a child for each, a few at a time.

The parent reads nothing itself, has one thread and no connection that a child would share: a child that a record, a pattern or a batch of
a hostile topic ends takes nobody along, and its search says so.
"""

from __future__ import annotations

import logging
import os
import signal
import time
from types import FrameType

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")
django.setup()

import jsonpath  # noqa: E402, F401  # a child finds loaded what its parent has loaded
import re2  # noqa: E402, F401
from django.conf import settings  # noqa: E402
from django.db import connections  # noqa: E402

from console.rules.records.progress import Search  # noqa: E402
from console.searches import files, store  # noqa: E402
from console.snapshot.connect import sync_client  # noqa: E402
from console.snapshot.read import SnapshotUnavailable  # noqa: E402
from workers.reader import child  # noqa: E402
from workers.reader.bounds import confine  # noqa: E402

log = logging.getLogger("workers.reader")
WAIT_S, AWAY_S, FULL_S = 0.5, 1.0, 0.05
ALIVE_EVERY_S = 5.0
CLEAN_EVERY_S = 600.0


class Readers:
    """The children, by process id."""

    def __init__(self, most: int) -> None:
        self._most, self._reading, self._stopping = most, dict[int, Search](), False
        self._alive_s, self._cleaned_s = -ALIVE_EVERY_S, -CLEAN_EVERY_S

    def serve(self) -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._stop)
        log.info("reading records, %d searches at a time", self._most)
        while not self._stopping:
            try:
                self._say_alive()
                self._clean_up()
                self._reap()
                self._take()
            except SnapshotUnavailable as error:
                log.warning("%s", error)
                time.sleep(AWAY_S)
        for pid in self._reading:
            os.kill(pid, signal.SIGKILL)
        while self._reading:
            self._reap(os.WUNTRACED)

    def _say_alive(self) -> None:
        """For whoever looks after the process: a file that is written anew."""
        if time.monotonic() - self._alive_s >= ALIVE_EVERY_S:
            self._alive_s = time.monotonic()
            path = settings.DATA_DIR / "run" / "reader.alive"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()

    def _clean_up(self) -> None:
        """Exports that are kept no longer go."""
        if time.monotonic() - self._cleaned_s >= CLEAN_EVERY_S:
            self._cleaned_s = time.monotonic()
            files.clean_up()

    def _stop(self, _number: int, _frame: FrameType | None) -> None:
        self._stopping = True

    def _take(self) -> None:
        if len(self._reading) >= self._most:
            time.sleep(FULL_S)
            return
        search = store.take(WAIT_S)
        if search is not None:
            connections.close_all()
            sync_client().close()
            pid = os.fork()
            if pid == 0:
                _be_child(search)
            self._reading[pid] = search

    def _reap(self, flags: int = os.WNOHANG) -> None:
        for pid in list(self._reading):
            ended, status = os.waitpid(pid, flags)
            if ended:
                search = self._reading.pop(pid)
                if status:
                    log.warning("the reader of search %s ended with %d", search.id, status)
                    store.give_up(search, f"The process that read for it ended ({_how(status)}).")


def _how(status: int) -> str:
    number = os.waitstatus_to_exitcode(status)
    if number >= 0:
        return f"with code {number}"
    said = {signal.SIGABRT: "it wanted more memory than a search may have", signal.SIGXCPU: "it used more processor time than a search may"}
    return said.get(signal.Signals(-number), f"by {signal.Signals(-number).name}")


def _be_child(search: Search) -> None:
    """Never returns. Nothing is closed at the end: the process goes, and everything with it."""
    code = 1
    try:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_DFL)
        confine()
        child.read(search)
        code = 0
    except BaseException:
        log.exception("search %s", search.id)
    finally:
        os._exit(code)


if __name__ == "__main__":
    Readers(settings.RECORDS_AT_ONCE).serve()
