"""A partition loses both its replicas: the page names the one that can lead, and an unclean election says what it costs."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.cluster import eventually
from tests.support.console_system import ConsoleSystem
from tests.support.rest import LOCAL, Rest
from tests.system.conftest import MakeTopic

pytestmark = pytest.mark.spec("R8", "R9")

SECONDS = 60.0


@pytest.mark.spec("R9")
def test_the_last_in_sync_is_named_and_an_unclean_election_is_told(
    system: ConsoleSystem, rest: Rest, people: dict[str, Rest], make_topic: MakeTopic
) -> None:
    first, last = sorted({1, 2, 3} - {rest.live()["controller_id"]})
    topic = make_topic("recovers", [[first, last]])

    def until(found: Any, what: str) -> dict[str, Any]:
        eventually(lambda: found(rest.partitions(topic)[0]), SECONDS, what)
        return rest.partitions(topic)[0]

    system.kill(first)
    until(lambda p: (p["leader"], p["isr"]) == (last, [last]), f"broker {last} leads alone")
    system.kill(last)
    advice = until(lambda p: p["advice"] and f"start broker {last}" in p["advice"]["text"], "the last in sync is named")["advice"]
    assert (advice["can_lead"], advice["candidates"]) == ([last], [])
    system.start(first)
    advice = until(lambda p: p["advice"] and p["advice"]["candidates"] == [first], f"broker {first} could be elected unclean")["advice"]
    assert advice["text"].startswith(
        f"Only broker {last} has all its committed records: start broker {last}, or elect broker {first} unclean"
    )
    before = rest.last_event()
    path = f"{LOCAL}/topics/{topic}/unclean-election"
    assert people["operator"].ask("POST", path, {"confirm": True}).status == 403
    assert people["admin"].ask("POST", path, {}).status == 422
    answer = people["admin"].ask("POST", path, {"confirm": True})
    assert (answer.status, answer.body) == (200, {"topic": topic, "elected": [0], "failed": []})
    until(lambda p: p["leader"] == first and p["unclean"] and p["unclean"]["in_sync"] == [last], f"broker {first} leads, unclean")

    def told() -> list[str]:
        return [e["level"] for e in rest.events(before) if (e["kind"], e["topic"]) == ("unclean_election", topic)]

    assert eventually(told, SECONDS, "an event that says so") == ["bad"]
    system.start(last)
    until(lambda p: sorted(p["isr"]) == sorted([first, last]) and p["advice"] is None, "both in sync again")
