"""What REST answers of the records that the console keeps, and of the token that asks (see `answers.py`)."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from broker_core.contract.installs import InstallState
from broker_core.contract.sentences import Level
from console.api.answers import Job


class AuditRow(Struct):
    id: int
    at: datetime
    actor: str
    via: Annotated[str, Meta(description="page, api, shell or job")]
    address: str
    action: str
    target: str
    cluster: Annotated[str, Meta(description="whose change it is; empty of what is the console's own")]
    before: Any
    after: Any
    outcome: Annotated[str, Meta(description="done, failed, refused, asked (it wants to be confirmed) or begun")]
    error: str


class Check(Struct):
    id: str
    title: str
    level: Level
    sentence: str
    items: list[str]


class Changed(Struct):
    """Findings that the report before did not have, and those that it had."""

    new: list[str]
    gone: list[str]


class Report(Struct):
    id: int
    at: datetime
    level: Level
    sentence: str
    checks: list[Check]
    changed: Changed


class WhoAmI(Struct):
    name: str
    role: Literal["viewer", "operator", "admin"]


class ThroughputWindow(Struct):
    at_ms: Annotated[int, Meta(description="when the window began")]
    bytes_per_s: float | None
    messages_per_s: float | None


class TopicThroughput(Struct):
    topic: str
    windows: list[ThroughputWindow]


class LagWindow(Struct):
    at_ms: Annotated[int, Meta(description="when the window began")]
    lag: Annotated[int, Meta(description="records: the largest lag in the window, summed over topics")]


class GroupLag(Struct):
    group: str
    windows: list[LagWindow]


class Analytics(Struct):
    """What the analyses have found of the last hours, oldest first; another one is a job of the kind `analytics`."""

    since_ms: int
    until_ms: int
    sampled: Annotated[bool, Meta(description="whether samples are taken: of the system's own cluster alone")]
    last_job: Job | None
    due: Annotated[datetime | None, Meta(description="when the next analysis starts by itself; null where only on request")]
    spark: Annotated[InstallState, Meta(description="how far Spark's installation is")]
    throughput: list[TopicThroughput]
    lag: list[GroupLag]
