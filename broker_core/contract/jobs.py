"""What is said of a job: work on a cluster that takes longer than a request. Moments are ISO 8601."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct

JobState = Literal["queued", "running", "cancelling", "succeeded", "failed", "cancelled"]


class Progress(Struct, frozen=True, gc=False):
    done: int
    total: int
    unit: str


class Job(Struct, frozen=True, kw_only=True):
    """`params` are what was asked for, `result` what came of it; both are of the kind. `stepped_at` is when a worker last took a step of
    it: what is said of a job that is under way is as of then."""

    id: int
    cluster: str
    kind: str
    state: JobState
    progress: Progress
    message: str
    result: dict[str, Any] | None
    created_at: str
    started_at: str | None
    ended_at: str | None
    stepped_at: str | None = None
    params: dict[str, Any]
    created_by: str
    can_cancel: bool
    cancel_means: str
    is_paused: bool
    can_pause: bool
    pause_means: str
