"""What REST answers of a wanted state (see `answers.py`)."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from msgspec import Meta, Struct

from console.wanted.model import ToldDrift


class Counts(Struct):
    missing: int = 0
    differs: int = 0
    impossible: int = 0
    unmanaged: int = 0


class WantedPlan(Struct):
    """`drifts` are a page; `total`, `counts` and `at_risk` are of all."""

    drifts: list[ToldDrift]
    next: Annotated[str | None, Meta(description="give it back as `cursor` for the page after; null on the last")]
    total: int
    counts: Counts
    at_risk: Annotated[int, Meta(description="how many objects could lose data when they are mended")]
    kept: Annotated[bool, Meta(description="false of a dry run")]


class WantedSummary(Struct):
    files: list[str]
    topics: int
    uploaded_by: str
    uploaded_at: datetime
    looked_at: Annotated[datetime | None, Meta(description="when the cluster was last compared with it")]
    error: Annotated[str, Meta(description="why it could not be compared since; empty where it could")]
    counts: Counts


class Mended(Struct):
    object: str
    drift: Annotated[ToldDrift | None, Meta(description="what was mended, or would be; null: it was as it is wanted already")]
    jobs: Annotated[list[int], Meta(description="the jobs that go on with it")]
    dry_run: bool
