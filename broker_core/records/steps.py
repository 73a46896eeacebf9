"""Long work in short steps: a generator yields wherever its caller may let others run, and returns the result.

Steps are meant to take well under a millisecond. Where one native call takes longer, the generator yields the call itself, a
`Job`, and is sent what it returned: whoever runs the steps may have it done beside the loop. A job touches nothing but what it
was given.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any, TypeVar

T = TypeVar("T")

Job = Callable[[], Any]
Steps = Generator[Any, Any, T]
"""Yields None or a `Job`, and is sent the job's result."""

RECORDS_PER_STEP = 64
BYTES_PER_STEP = 64 << 10


def finish(steps: Steps[T]) -> T:
    """All steps at once."""
    job = None
    try:
        while True:
            job = next(steps) if job is None else carry_on(steps, job)
    except StopIteration as done:
        result: T = done.value
        return result


def carry_on(steps: Steps[T], job: Job) -> Job | None:
    """Does a job and gives what came of it to the steps that asked for it; the next step, or `StopIteration`."""
    try:
        outcome = job()
    except Exception as error:
        next_job: Job | None = steps.throw(error)
        return next_job
    next_job = steps.send(outcome)
    return next_job
