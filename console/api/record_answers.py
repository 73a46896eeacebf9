"""What REST answers of the records that the console keeps, and of the token that asks (see `answers.py`)."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from broker_core.contract.sentences import Level


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
