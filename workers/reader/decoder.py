"""The decoding process (`workers/decoding`) as a search uses it: started when it is first needed, and anew after something ended it."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec.structs import replace

from console.gateway.schema_registry import Schema
from workers.decoding.frames import Answer, Ask, TooLarge, receive, send

ROOT = Path(__file__).resolve().parent.parent.parent
ANSWER_S = 30.0
"""By the clock, for a process that does not get its turn; its own limits are of processor time."""
STARTS_MAX = 8
"""Of a search: whoever ends the process that often is not decoded any more."""
ENDED = {signal.SIGPROF: "it took more processor time than it may", signal.SIGABRT: "it wanted more memory than it may have"}


class Decoder:
    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._way: socket.socket | None = None
        self._ready: set[int] = set()
        self._starts = 0
        self._poison: dict[int, str] = {}

    def decode(self, schema: Schema, body: bytes) -> Answer:
        """What ends the process over a schema is not tried again; over a record, the next goes on."""
        if schema.id in self._poison:
            return Answer(error=self._poison[schema.id])
        if schema.id not in self._ready:
            made = self._ask(Ask(id=schema.id, type=schema.type, text=schema.text, references=schema.references))
            if made.error:
                self._poison[schema.id] = f"cannot be made ready: {made.error}"
                return Answer(error=self._poison[schema.id])
            self._ready.add(schema.id)
        found = self._ask(Ask(id=schema.id, type=schema.type, body=body))
        return replace(found, error=f"does not fit: {found.error}") if found.error else found

    def close(self) -> None:
        if self._way is not None:
            self._way.close()
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        self._process = self._way = None
        self._ready.clear()

    def _ask(self, ask: Ask) -> Answer:
        if self._process is None and self._starts >= STARTS_MAX:
            return Answer(error=f"the decoding process was ended {STARTS_MAX} times in this search: it is not started again")
        way = self._started()
        try:
            way.settimeout(ANSWER_S)
            send(way, ask)
            found = receive(way, Answer, ANSWER_S)
        except TooLarge:
            return Answer(error="it is too large")
        except (OSError, msgspec.MsgspecError):
            found = None
        return found if found is not None else Answer(error=self._ended())

    def _started(self) -> socket.socket:
        if self._way is None:
            self._starts += 1
            self._way, theirs = socket.socketpair()
            command = [sys.executable, "-m", "workers.decoding", str(theirs.fileno())]
            environment = {"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"}
            with theirs:
                self._process = subprocess.Popen(
                    command, cwd=ROOT, env=environment, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
                )
        return self._way

    def _ended(self) -> str:
        """Why, by the signal that ended it; without one, or where it still runs, it has not answered."""
        code = None
        if self._process is not None:
            with suppress(subprocess.TimeoutExpired):
                code = self._process.wait(1)
        self.close()
        if code is None:
            return f"the decoding process did not answer within {ANSWER_S:.0f} s"
        known = ENDED.get(signal.Signals(-code)) if code < 0 else None
        return known or f"the decoding process ended ({signal.Signals(-code).name if code < 0 else code})"
