"""What changed between two moments, in sentences."""

from __future__ import annotations

import time

from msgspec.structs import replace

from console.live.history.differing import ALONE, ROWS_LIMIT, differences
from console.live.merging.state import ClusterState
from console.snapshot.encoding import encode
from tests.support.console_world import BROKERS, add_topic, cluster_state
from tests.support.feed_rows import batch, claim


def recorded(state: ClusterState, now_ms: int) -> dict[str, bytes]:
    state.take(now_ms)
    return {key: encode(value).encode() for key, value in state.everything(now_ms).items()}


def sentences(before: dict[str, bytes], after: dict[str, bytes]) -> list[str]:
    return [row.sentence for row in differences(before, after, 1, 2).rows]


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def test_nothing_changed() -> None:
    now = now_ms()
    state = recorded(cluster_state(now), now)
    found = differences(state, state, now, now + 1)
    assert (found.rows, found.more) == ((), 0)


def test_figures_alone_are_no_change() -> None:
    now = now_ms()
    state = cluster_state(now)
    before = recorded(state, now)
    state.apply_batch(batch(1, [claim("orders", 0, 1, [1, 2, 3], leader=1, isr=[1, 2, 3], end=150)], now), now)
    assert sentences(before, recorded(state, now)) == []


def test_a_death_is_told_worst_first() -> None:
    now = now_ms()
    state = cluster_state(now)
    before = recorded(state, now)
    state.set_brokers({b: BROKERS[b] for b in (1, 2)}, now)
    state.apply_batch(batch(1, [claim("orders", 0, 1, [1, 2, 3], leader=1, epoch=9, isr=[1, 2], end=100)], now), now)
    found = differences(before, recorded(state, now), 1, 2)
    assert found.rows[0].sentence == "Broker 3 was online and is offline."
    assert found.rows[0].level == "bad"
    assert any("orders-0" in row.sentence and "broker 3 left the ISR" in row.sentence for row in found.rows)
    assert "".join(piece.text for piece in found.rows[0].pieces) == found.rows[0].sentence


def test_settings_are_told_from_and_to() -> None:
    now = now_ms()
    state = cluster_state(now)

    def told(settings: dict[str, str] | None) -> dict[str, bytes]:
        state.set_topic("orders", replace(state.topics["orders"], settings=settings), now)
        return recorded(state, now)

    unknown, before = told(None), told({"retention.ms": "604800000", "cleanup.policy": "delete", "x.password": "one"})
    after = told({"retention.ms": "3600000", "min.insync.replicas": "2", "x.password": "two"})
    assert [said.replace("\u202f", " ") for said in sentences(before, after)] == [
        "orders: cleanup.policy was delete and is not set any more.",
        "orders: min.insync.replicas was not set and is 2.",
        "orders: retention.ms was 604 800 000 ms = 7 d and is 3 600 000 ms = 1 h.",
    ]
    assert b"one" not in before["topic/orders"] and b"hidden" in before["topic/orders"]
    assert sentences(unknown, after) == [], "of what was not known nothing is said"
    more = {"x.password": "two", "leader.replication.throttled.replicas": "*"}
    throttled = told({"retention.ms": "3600000", "min.insync.replicas": "2", **more})
    assert sentences(after, throttled) == []


def test_settings_of_brokers_are_told_too() -> None:
    now = now_ms()
    state = cluster_state(now)
    unknown = recorded(state, now)
    state.broker_settings[1] = {"log.retention.ms": "60000", "ssl.key.password": "hidden"}
    before = recorded(state, now)
    state.broker_settings[1] = {"log.retention.ms": "3600000", "ssl.key.password": "hidden", "leader.replication.throttled.rate": "9"}
    said = [one.replace("\u202f", " ") for one in sentences(before, recorded(state, now))]
    assert said == ["Broker 1: log.retention.ms was 60 000 ms = 1 min and is 3 600 000 ms = 1 h."]
    assert sentences(unknown, before) == []


def test_a_topic_that_came_or_went_is_one_line_without_its_partitions() -> None:
    now = now_ms()
    state = cluster_state(now)
    before = recorded(state, now)
    add_topic(state, "fresh", 3, now)
    after = recorded(state, now)
    assert sentences(before, after) == ["fresh is new (3 partitions)."]
    assert sentences(after, before) == ["fresh is deleted (3 partitions)."]


def test_many_that_changed_alike_are_one_line() -> None:
    def partition(number: int, leader: int) -> bytes:
        state = cluster_state(1)
        state.take(1)
        value = state.values["orders", 0]
        text = encode(value).replace('"partition":0', f'"partition":{number}').replace(f'"leader":{value.leader}', f'"leader":{leader}', 1)
        return text.encode()

    before = {f"partition/orders/{n}": partition(n, 1) for n in range(ALONE + 1)}
    after = {f"partition/orders/{n}": partition(n, 2) for n in range(ALONE + 1)}
    names = "orders-0, orders-1, orders-2"
    assert sentences(before, after) == [f"{ALONE + 1} partitions ({names}, …), each: was led by broker 1 and is led by broker 2."]
    some = list(before)[:3]
    few = sentences({key: before[key] for key in some}, {key: after[key] for key in some})
    assert few == [f"orders-{n}: was led by broker 1 and is led by broker 2." for n in range(3)]


def test_no_more_than_a_page_of_them() -> None:
    now = now_ms()
    state = cluster_state(now)
    before = recorded(state, now)
    for number in range(ROWS_LIMIT + 20):
        add_topic(state, f"t{number}", 1, now)
    found = differences(before, recorded(state, now), 1, 2)
    assert (len(found.rows), found.more) == (ROWS_LIMIT, 20)
