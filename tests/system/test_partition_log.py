"""A partition's log as its brokers tell it, through REST and the page of a running system."""

from __future__ import annotations

from tests.support.clients import produce
from tests.support.cluster import eventually
from tests.support.console_system import ConsoleSystem
from tests.support.rest import LOCAL, Rest, Visitor
from tests.system.conftest import MakeTopic


def test_each_replica_tells_the_way_to_an_offset(system: ConsoleSystem, rest: Rest, make_topic: MakeTopic) -> None:
    topic = make_topic("looked-at", [[1, 2, 3]])
    for number in range(30):
        produce(system, topic, [b"%d" % number * 500])
    eventually(lambda: rest.partitions(topic)[0]["replicas"][2]["log_end_offset"] == 30, 60, "30 records on broker 3")
    path = f"{LOCAL}/topics/{topic}/partitions/0/log"
    for broker in (1, 2, 3):
        told = rest.get(f"{path}?broker={broker}&offset=29")
        assert (told["broker_id"], told["role"], told["log_end_offset"]) == (broker, "leader" if broker == 1 else "follower", 30)
        (step,) = told["trace"]["steps"]
        assert (told["trace"]["outcome"], step["segment"], step["entry"]["offset"] <= 29) == ("found", 0, True)
        assert step["batch"]["base_offset"] <= 29 <= step["batch"]["last_offset"]
        assert step["position"] + step["bytes_passed"] == step["batch"]["position"]
        assert told["segments"][0]["active"] and told["segments"][0]["offset_entries"] > 0
    by_time = rest.get(f"{path}?at_ms={told['segments'][0]['largest_at_ms']}")["trace"]
    assert (by_time["outcome"], by_time["record_offset"]) == ("found", 29)
    assert rest.ask("GET", f"{path}?broker=9").status == 404
    page = Visitor(system.layout.console_port, system.password).get(f"/topics/{topic}/0/log?offset=29")
    assert (page.status, "its base offset, 0, is the largest at or below 29" in page.body) == (200, True)
