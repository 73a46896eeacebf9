"""What REST answers of topics and of offsets that are moved, beside the live values (see `answers.py`)."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from broker_core.contract import live
from broker_core.contract.partitions import Topic


class TopicConfig(Struct):
    name: str
    value: str | None
    source: Literal["topic", "broker", "default"]
    read_only: bool
    sensitive: bool
    doc: str
    type: str
    choices: list[str]
    default: str


class TopicWithConfigs(Topic, frozen=True, kw_only=True):
    as_of: live.AsOf
    configs: list[TopicConfig] | None


class Change(Struct):
    label: str
    before: Any
    after: Any


class TopicPlan(Struct):
    topic: str
    changes: list[Change]


class TopicConfigs(Struct):
    topic: str
    configs: list[TopicConfig] | None
    changes: Annotated[list[Change] | None, Meta(description="of a dry run: what would change")] = None
    risks: Annotated[list[str] | None, Meta(description="of a dry run: what wants `confirm`")] = None


class NotElected(Struct):
    partition: int
    error: str


class Elected(Struct):
    topic: str
    elected: list[int]
    failed: list[NotElected]


class TopicSize(Struct):
    topic: str
    partitions: int
    changes: Annotated[list[Change] | None, Meta(description="of a dry run: what would change")] = None
