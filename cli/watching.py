"""Waiting for what goes on: a job to its end, and what is appended to a list."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from cli.errors import Stopped
from cli.rest import named
from cli.shell import Shell
from cli.table import plain

LOOK_EVERY_S = 1.0
OVER = ("succeeded", "failed", "cancelled")


def follow(shell: Shell, job: dict[str, Any]) -> None:
    """The job that was begun, to its end where `--watch` says so."""
    if shell.options.watch:
        watch(shell, job)
    else:
        shell.show(job, lambda: told(job))


def watch(shell: Shell, job: dict[str, Any]) -> dict[str, Any]:
    """The job once it is over, told as it goes on; `Stopped` where it did not succeed."""
    job = awaited(shell, job)
    if shell.options.json:
        shell.show(job, "")
    return job


def awaited(shell: Shell, job: dict[str, Any]) -> dict[str, Any]:
    """The same, which is told to people only."""
    said = ""
    while True:
        if not shell.options.json and (now := told(job)) != said:
            said = now
            print(now, flush=True)
        if job["state"] in OVER:
            break
        time.sleep(LOOK_EVERY_S)
        job = shell.rest.get(named("jobs", job["id"]))
    if job["state"] != "succeeded":
        raise Stopped(
            f"Job {job['id']} has {job['state']}: {job['message']}" if job["state"] == "failed" else f"Job {job['id']} was cancelled."
        )
    return job


def told(job: dict[str, Any]) -> str:
    progress = job["progress"]
    unit = progress["unit"].removesuffix("s") if progress["total"] == 1 else progress["unit"]
    count = f" {progress['done']}/{progress['total']} {unit}" if progress["total"] else ""
    return plain(f"job {job['id']} {job['kind']}: {job['state']}{count}  {job['message']}")


def tail(shell: Shell, path: str, line: Callable[[Any], str], **query: Any) -> None:
    """The last rows of a list that is newest first, then each new one, until the time is up (`--seconds`) or Ctrl-C."""
    end = None if shell.options.seconds is None else time.monotonic() + shell.options.seconds
    seen = 0
    rows, _ = shell.rest.items(path, shell.options.limit, **query)
    while True:
        for row in reversed(rows):
            shell.show(row, plain(line(row)))
            seen = max(seen, row["id"])
        if end is not None and time.monotonic() >= end:
            return
        time.sleep(LOOK_EVERY_S)
        rows = _newer(shell, path, seen, query)


def _newer(shell: Shell, path: str, seen: int, query: dict[str, Any]) -> list[Any]:
    found = []
    for row in shell.rest.each(path, **query):
        if row["id"] <= seen:
            break
        found.append(row)
    return found
