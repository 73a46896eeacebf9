"""A burst of events becomes a handful of sentences, the first of them at once."""

from __future__ import annotations

from console.live.events.bursts import HOLD_MS, Bursts
from console.live.events.happened import Happened, broker_events, moved
from tests.support.console_world import BROKERS


def shrink(partition: int, at_ms: int, broker: int = 2) -> Happened:
    text = f"broker {broker} left the ISR of t-{partition}"
    return Happened("isr_shrink", "warn", text, at_ms, broker_id=broker, topic="t", partition=partition, cause="no fetch for 10.0 s")


def lost(partition: int, at_ms: int) -> Happened:
    return Happened("leader_moved", "bad", f"t-{partition} lost", at_ms, broker_id=2, topic="t", partition=partition, old=2, epoch=4)


def found(partition: int, at_ms: int, broker: int) -> Happened:
    text = f"broker {broker} leads t-{partition}"
    return Happened("leader_moved", "ok", text, at_ms, broker_id=broker, topic="t", partition=partition, new=broker, epoch=5)


def death(at_ms: int) -> list[Happened]:
    return broker_events({2: BROKERS[2]}, {}, at_ms)


def test_the_first_is_said_at_once_and_the_rest_of_the_burst_counted() -> None:
    bursts = Bursts()
    assert [e.partition for e in bursts.tell([shrink(0, 1000)], 1000)] == [0]
    for n in range(1, 40):
        assert bursts.tell([shrink(n, 1000 + n)], 1000 + n) == []
    said = bursts.tell([], 1000 + HOLD_MS)
    assert [e.sentence for e in said] == ["broker 2 left the ISR of 39 partitions (t-1, t-10, t-11, …): no fetch for 10.0 s."]
    assert (said[0].partition, said[0].topic, said[0].broker_id) == (None, "t", 2)
    assert bursts.tell([], 10_000) == []
    assert [e.partition for e in bursts.tell([shrink(7, 20_000)], 20_000)] == [7]


def test_few_are_said_one_by_one() -> None:
    bursts = Bursts()
    bursts.tell([shrink(0, 1000)], 1000)
    bursts.tell([shrink(1, 1100), shrink(2, 1100)], 1100)
    assert [e.partition for e in bursts.tell([], 3000)] == [1, 2]


def test_a_death_is_told_in_a_handful_of_sentences() -> None:
    """75 partitions, 25 of them led by the dead broker, in steps as the controller writes them."""
    bursts = Bursts()
    said = bursts.tell(death(1000), 1000)
    assert [e.kind for e in said] == ["broker_died"]
    said += bursts.tell([lost(n, 1050) for n in range(25)], 1050)
    for n in range(25):
        said += bursts.tell([found(n, 1100 + n, 1 + 2 * (n % 2)), shrink(n, 1100 + n)], 1100 + n)
    said += bursts.tell([shrink(n, 1500) for n in range(25, 75)], 1500)
    assert len(said) == 1
    said = bursts.tell([], 1000 + HOLD_MS)
    assert sorted(e.sentence for e in said) == [
        "25 leaders moved: broker 1 leads 13 and broker 3 leads 12 (t-0, t-1, t-10, …): broker 2 is down.",
        "broker 2 left the ISR of 75 partitions (t-0, t-1, t-10, …): no fetch for 10.0 s.",
    ]


def test_a_leader_that_nobody_replaces_is_lost() -> None:
    bursts = Bursts()
    bursts.tell([*death(1000), lost(0, 1000), lost(1, 1000)], 1000)
    bursts.tell([found(1, 1200, 3)], 1200)
    said = bursts.tell([], 1000 + HOLD_MS)
    assert sorted((e.level, e.sentence) for e in said) == [
        ("bad", "t-0 lost"),
        ("notice", "broker 3 took over t-1 from broker 2, epoch 5: broker 2 is down."),
    ]


def test_another_broker_s_fall_is_not_held_by_a_death() -> None:
    bursts = Bursts()
    bursts.tell(death(1000), 1000)
    assert len(bursts.tell([shrink(0, 1100, broker=3)], 1100)) == 1


def test_moves_are_named_by_their_cause() -> None:
    base = Happened("leader_moved", "notice", "", 5, broker_id=1, topic="t", partition=0, old=2, new=1, epoch=9)
    assert (
        moved(base, "it is the preferred leader").sentence == "broker 1 took over t-0 from broker 2, epoch 9: it is the preferred leader."
    )
