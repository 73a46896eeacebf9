"""A broker of the local cluster is killed, and what was foretold of that is compared with what came, partition by partition."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from pydantic import Field

from console.errors import Invalid, Unconfirmed
from console.jobs.kind import Id, JobKind, Parameters


class GradedKillParameters(Parameters):
    broker: Id | None = Field(default=None, description="the broker that is killed")
    start_again: bool | None = Field(default=None, strict=True, description="start it again once the forecast is graded")
    confirm: bool | None = Field(default=None, strict=True, description="do it although clients notice")


class GradedKill(JobKind):
    name = "graded_kill"
    cancel_means = "Before the kill the broker goes on; after it the broker stays down until somebody starts it."
    parameters = GradedKillParameters
    names_brokers = True
    of_own_cluster = True
    for_admins = True

    def checked(self, params: Mapping[str, Any]) -> dict[str, Any]:
        broker, again = params.get("broker"), params.get("start_again", False)
        if not isinstance(broker, int) or isinstance(broker, bool) or broker < 0:
            raise Invalid("broker", "Give the id of the broker that is to be killed.")
        if not isinstance(again, bool):
            raise Invalid("start_again", "Say true or false.")
        if params.get("confirm") is not True:
            raise Unconfirmed("confirm", f"Broker {broker} would be killed: confirm it.")
        return {"broker": broker, "start_again": again}

    def absent(self, params: Mapping[str, Any], sizes: Mapping[str, int], online: Collection[int]) -> Invalid | None:
        broker = params["broker"]
        return None if broker in online else Invalid("broker", f"Broker {broker} does not run: there is nothing to kill.")
