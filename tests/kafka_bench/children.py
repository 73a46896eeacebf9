"""Clients as processes: each ends with its result, at its time limit, or with the bench."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator, Sequence
from typing import TypeVar

import msgspec

from tests.bench.world import ROOT
from tests.kafka_bench.loads import ArrivalTask, Latency, Task

T = TypeVar("T")
MOST_SECONDS = 100.0


class ClientFailed(Exception):
    """A client did not end well; the message has the end of what it said."""


def run(command: Sequence[str], seconds: float = MOST_SECONDS) -> str:
    """What a program prints. It stands apart from the terminal, so that Ctrl-C reaches the bench alone, which ends it."""
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=seconds, check=False, start_new_session=True)
    except subprocess.TimeoutExpired as error:
        raise ClientFailed(f"{command[-1][:200]} took longer than {seconds:.0f} s") from error
    if done.returncode:
        raise ClientFailed((done.stderr or done.stdout).strip()[-1000:])
    return done.stdout


def native(task: Task, kind: type[T]) -> T:
    return msgspec.json.decode(run(native_command(task)), type=kind)


def native_command(task: Task) -> list[str]:
    return [sys.executable, "-m", "tests.kafka_bench.native_client", msgspec.json.encode(task).decode()]


@contextlib.contextmanager
def arrivals(task: ArrivalTask) -> Iterator[list[Latency]]:
    """A reader that is there while records are sent; the list has its one result afterwards."""
    child = subprocess.Popen(
        native_command(task),
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    found: list[Latency] = []
    try:
        assert child.stdout is not None
        if child.stdout.readline() != "ready\n":
            raise ClientFailed(child.communicate()[1][-1000:])
        yield found
        said, failed = child.communicate("", timeout=MOST_SECONDS)
        if child.returncode:
            raise ClientFailed(failed[-1000:])
        found.append(msgspec.json.decode(said, type=Latency))
    finally:
        child.kill()
        child.wait()
        for stream in (child.stdin, child.stdout, child.stderr):
            if stream is not None:
                stream.close()
