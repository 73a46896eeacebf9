"""A topic's creation, growth or deletion that goes on after the request for it had run out of time: begun by the change, not asked for."""

from __future__ import annotations

from console.jobs.kind import JobKind


class _Followed(JobKind):
    on_request = False
    changes_cluster = False
    cancel_means = "It is no longer followed here; the cluster goes on with it."


class Creation(_Followed):
    name = "topic_creation"


class Growth(_Followed):
    name = "topic_growth"


class Deletion(_Followed):
    name = "topic_deletion"
