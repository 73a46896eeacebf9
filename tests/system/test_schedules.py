"""The beat begins what is due, and gives leaders back to a broker that was down, in the running system."""

from __future__ import annotations

from typing import Any

from tests.support.cluster import eventually
from tests.support.console_system import ConsoleSystem
from tests.support.rest import LOCAL, Rest
from tests.system.conftest import MakeTopic, bystander_of

SCHEDULES, AFTER_RETURN = f"{LOCAL}/schedules", f"{LOCAL}/election-after-return"


def test_a_minute_s_schedule_is_begun_and_kept_in_its_history(system: ConsoleSystem, rest: Rest) -> None:
    """The daily report is there from the first start (this system's is paused, as no hour is set)."""
    daily = next(one for one in rest.get(SCHEDULES)["items"] if one["name"] == "Daily health report")
    assert (daily["kind"], daily["is_paused"]) == ("health_report", True)
    made = rest.ask("POST", SCHEDULES, {"name": "Minutely", "kind": "health_report", "cron": "* * * * *"}).body
    one = f"{SCHEDULES}/{made['id']}"
    try:
        runs = eventually(lambda: _over(rest.get(f"{one}/runs")["items"]), 150, "a run that is over")
    finally:
        rest.ask("DELETE", one)
    assert {run["state"] for run in runs} == {"succeeded"}, runs
    assert len({run["due_at"] for run in runs}) == len(runs)
    assert {run["by"] for run in runs} == {"beat"}
    job = rest.get(f"/api/v1/jobs/{runs[0]['job']}")
    assert (job["kind"], job["created_by"]) == ("health_report", "beat")


def _over(runs: list[dict[str, Any]]) -> list[dict[str, Any]] | None:
    return [run for run in runs if run["lasted_s"] is not None] or None


def test_leaders_go_back_to_a_broker_that_returned(system: ConsoleSystem, rest: Rest, make_topic: MakeTopic) -> None:
    broker = bystander_of(rest)
    others = [one for one in (1, 2, 3) if one != broker]
    topic = make_topic("returning", [[broker, *others]] * 4)
    assert rest.ask("PUT", AFTER_RETURN, {"is_on": True}).body["is_on"] is True
    try:
        system.kill(broker)
        eventually(lambda: all(p["leader"] != broker for p in rest.partitions(topic)), 60, "other leaders")
        system.start(broker)
        eventually(lambda: all(p["leader"] == broker for p in rest.partitions(topic)), 90, "the leaders back at their broker")
        job = next(one for one in rest.get("/api/v1/jobs?limit=20")["items"] if one["kind"] == "preferred_leader_election")
        assert (job["created_by"], job["params"]) == ("beat", {"broker": broker})
        assert rest.get(AFTER_RETURN)["waiting"] == []
    finally:
        rest.ask("PUT", AFTER_RETURN, {"is_on": False})
