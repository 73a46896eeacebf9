"""What REST answers of the records that the console keeps, and of the token that asks (see `answers.py`)."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from broker_core.contract.installs import InstallState
from broker_core.contract.sentences import Level
from console.api.answers import Job
from console.rules.analysis.model import Answer
from console.rules.analysis.resident import Resident


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


class ReportFinding(Struct):
    key: Annotated[str, Meta(description="its object: with the rule's number what a finding is known by in each report")]
    level: Level
    sentence: str
    evidence: Annotated[str, Meta(description="the figures that it rests on")]
    advice: str
    href: Annotated[str, Meta(description="the page or form that mends it, within the cluster's pages")]


class Check(Struct):
    """What one rule found: its worst 20 findings, of `count`."""

    id: str
    number: Annotated[str, Meta(description="the rule's, `HW-001`; empty in reports of before there were numbers")]
    title: str
    level: Level
    sentence: str
    unknown: Annotated[str, Meta(description="why some or all could not be judged; empty where all was")]
    count: int
    items: Annotated[list[str], Meta(description="the findings' sentences")]
    findings: list[ReportFinding]


class Changed(Struct):
    """In words what the report before did not have, what got worse or better, what is there no more, and what cannot be told; up to 50
    of each, of `counts`."""

    new: list[str]
    worse: list[str]
    better: list[str]
    gone: list[str]
    uncertain: list[str]
    counts: dict[str, int]


class Report(Struct):
    id: int
    at: datetime
    level: Level
    sentence: str
    checks: list[Check]
    changed: Changed
    compared: Annotated[int | None, Meta(description="the report that `changed` compares with; null where there is none that can be")]


class ReportDifference(Struct):
    kind: Literal["new", "worse", "better", "gone", "uncertain"]
    number: Annotated[str, Meta(description="the rule's")]
    key: Annotated[str, Meta(description="the finding's object; empty where only counts were compared")]
    level: Level
    sentence: str


class ReportDifferences(Struct):
    """Up to 50 of each kind, of `counts`."""

    since: Annotated[int, Meta(description="the report before")]
    report: int
    counts: dict[str, int]
    differences: list[ReportDifference]


class ReportMail(Struct):
    """A report as a mail."""

    subject: str
    text: str
    html: Annotated[str, Meta(description="the same with inline styles, which needs nothing from elsewhere")]


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
    resident: Annotated[Resident | None, Meta(description="the driver that stays; null where the setting analytics.mode is interval")]
    answered_at: Annotated[datetime | None, Meta(description="of when the answers are; null before the first analysis")]
    answers: list[Answer]
    throughput: list[TopicThroughput]
    lag: list[GroupLag]
