"""Preferred-leader election: of the topics that are named, or of all."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from pydantic import Field

from broker_core.contract.live import Cluster
from console.errors import Invalid
from console.jobs.kind import Form, JobKind, Name, Parameters
from console.rules.words import counted


class ElectionParameters(Parameters):
    topics: list[Name] | None = Field(default=None, max_length=1000)


class Election(JobKind):
    name = "preferred_leader_election"
    cancel_means = "Elections already done stay; the rest is not asked for."
    parameters = ElectionParameters
    form = Form("elect", "Elect leaders…")
    question = "Elect preferred leaders?"

    def checked(self, params: Mapping[str, Any]) -> dict[str, Any]:
        topics = params.get("topics")
        if topics is not None and not (isinstance(topics, list) and all(isinstance(t, str) and t for t in topics)):
            raise Invalid("topics", "Give a list of topic names, or none for all.")
        return {"topics": topics} if topics else {}

    def of_form(self, fields: Mapping[str, str]) -> dict[str, Any]:
        topics = fields.get("topics", "").replace(",", " ").split()
        return {"topics": topics} if topics else {}

    def topics(self, params: Mapping[str, Any]) -> Collection[str]:
        return params.get("topics") or ()

    def absent(self, params: Mapping[str, Any], sizes: Mapping[str, int], online: Collection[int]) -> Invalid | None:
        missing = next((name for name in self.topics(params) if name not in sizes), None)
        return None if missing is None else Invalid("topics", f"There is no topic {missing}.")

    def risks(self, params: Mapping[str, Any], cluster: Cluster | None) -> list[str]:
        """How many leaders would move is known of the whole cluster only."""
        topics, away = self.topics(params), cluster.not_preferred if cluster else None
        where = f" of {', '.join(topics)}" if topics else ""
        has = "has" if away == 1 else "have"
        count = "" if away is None else f" In the whole cluster {counted(away, 'partition')} {has} another leader now."
        return [
            f"Each partition{where} goes back to the first replica of its assignment, where that one is alive and in sync.{count}",
            "Clients of a partition whose leader moves wait a moment; nothing is lost.",
        ]
