"""Preferred-leader election: of the topics that are named, of the partitions that one broker is preferred for, or of all."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Annotated, Any

from pydantic import Field

from broker_core.contract.live import Cluster
from console.errors import Invalid
from console.jobs.kind import Form, Id, JobKind, Name, Parameters
from console.rules.words import counted


class ElectionParameters(Parameters):
    topics: list[Name] | None = Field(default=None, max_length=1000)
    broker: Annotated[
        Id | None, Field(description="Only partitions whose preferred leader is this broker, of a preferred_leader_election")
    ] = None


class Election(JobKind):
    name = "preferred_leader_election"
    cancel_means = "Elections already done stay; the rest is not asked for."
    parameters = ElectionParameters
    form = Form("elect", "Elect leaders…")
    question = "Elect preferred leaders?"
    names_brokers = True

    def checked(self, params: Mapping[str, Any]) -> dict[str, Any]:
        topics = params.get("topics")
        if topics is not None and not (isinstance(topics, list) and all(isinstance(t, str) and t for t in topics)):
            raise Invalid("topics", "Give a list of topic names, or none for all.")
        broker = params.get("broker")
        if broker is not None and not (isinstance(broker, int) and not isinstance(broker, bool) and 0 <= broker < 2**31):
            raise Invalid("broker", "Give the id of a broker, or none for all.")
        if topics and broker is not None:
            raise Invalid("broker", "Name topics or a broker: an election is of one or the other, or of all.")
        return ({"topics": topics} if topics else {}) | ({} if broker is None else {"broker": broker})

    def of_form(self, fields: Mapping[str, str]) -> dict[str, Any]:
        topics = fields.get("topics", "").replace(",", " ").split()
        broker = fields.get("broker", "").strip()
        return ({"topics": topics} if topics else {}) | ({"broker": _typed_broker(broker)} if broker else {})

    def topics(self, params: Mapping[str, Any]) -> Collection[str]:
        return params.get("topics") or ()

    def absent(self, params: Mapping[str, Any], sizes: Mapping[str, int], online: Collection[int]) -> Invalid | None:
        missing = next((name for name in self.topics(params) if name not in sizes), None)
        if missing is not None:
            return Invalid("topics", f"There is no topic {missing}.")
        broker = params.get("broker")
        if broker is None or broker in online:
            return None
        known = ", ".join(map(str, sorted(online))) or "none"
        return Invalid("broker", f"Broker {broker} is not online, so that it can lead nothing. Online: {known}.")

    def risks(self, params: Mapping[str, Any], cluster: Cluster | None) -> list[str]:
        """How many leaders would move is known of the whole cluster only."""
        topics, broker, away = self.topics(params), params.get("broker"), cluster.not_preferred if cluster else None
        where = f" of {', '.join(topics)}" if topics else "" if broker is None else f" whose preferred leader is broker {broker}"
        has = "has" if away == 1 else "have"
        count = "" if away is None else f" In the whole cluster {counted(away, 'partition')} {has} another leader now."
        return [
            f"Each partition{where} goes back to the first replica of its assignment, where that one is alive and in sync.{count}",
            "Clients of a partition whose leader moves wait a moment; nothing is lost.",
        ]


def _typed_broker(text: str) -> int:
    """As typed: what is no number is said to be no broker later on."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 11 else -1
