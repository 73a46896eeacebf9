"""A worker in a process of its own that takes a job's steps until it is over, and meets a fault in them.

    python -m tests.support.dying_worker JOB [STEP | each]

With STEP it ends by SIGKILL after the step's effect on the cluster and before its outcome is written: `start`, `throttle`, `submit`,
`watch`, `release`, or `cancel`, the first step after a cancel was asked for. With `each` it stands still there once in every step, prints
the step's name, and goes on when a line comes in: a test does meanwhile what it likes to others. Its lease ends soon, so that a test need
not wait for it; a steered throttle rises at once, so that `watch` changes a rate.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from typing import Any

import workers.app  # noqa: F401  # sets Django up
from console.models import Job
from console.rules import steering
from workers import runner

LOOK_EVERY_S = 0.2
LEASE_S = 2
LONG_LEASE_S = 120
EACH = "each"


def main(job_id: int, fault: str) -> None:
    runner.LEASE_S = LONG_LEASE_S if fault == EACH else LEASE_S
    steering.RAISE_EVERY_MS = 0
    write, told = runner._write, set[str]()

    def written(job: Job, *outcome: Any) -> None:
        step = "cancel" if job.cancel_requested and job.step != "release" else job.step
        if step == fault:
            os.kill(os.getpid(), signal.SIGKILL)
        if fault == EACH and step not in told:
            told.add(step)
            print(step, flush=True)
            sys.stdin.readline()
        write(job, *outcome)

    runner._write = written
    while Job.objects.get(pk=job_id).active:
        runner.advance(job_id)
        time.sleep(LOOK_EVERY_S)


if __name__ == "__main__":
    main(int(sys.argv[1]), (sys.argv[2:] or [""])[0])
