"""What each kind of job does in one step: `advance(job)` and `cancel(job)` give a `Step`. The cluster is the truth, so a step may be
taken again after a worker was killed in the middle of it."""
