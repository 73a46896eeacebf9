"""What a broker's stop would do to its partitions, and to the brokers that stay."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from broker_core.contract.live import Broker, LogDir
from console.rules.forecast.fates import Around, fate_of
from console.rules.forecast.stopping import NAMED, Forecast, forecast
from tests.support.live_rows import partition, some

pytestmark = pytest.mark.spec("O1")
ALL = (1, 2, 3)


def row(number: int, isr: tuple[int, ...], **known: Any) -> Any:
    usual = {"leader": isr[0] if isr else None, "min_insync_replicas": 2, "assignment": isr}
    return partition(number=number, isr=isr, **usual | known)


def around(serving: Sequence[int] = ALL, **known: Any) -> Around:
    return Around(**{"broker_id": 2, "how": "death", "serving": frozenset(serving), "unclean": {"orders": False}} | known)


def if_it_stops(hosted: int, rows: Sequence[Any], serving: Sequence[int] = ALL, *, is_old: bool = False, **known: Any) -> Forecast:
    brokers = [some(Broker, broker_id=b, other_log_dirs=()) for b in ALL]
    return forecast(around(serving, **known), hosted, rows, brokers, is_old=is_old)


def test_its_stop_takes_leaders_and_writes() -> None:
    rows = [
        row(0, (2, 1, 3)),  # led by another then
        row(1, (2,), state="under_min_isr", assignment=(2, 1)),  # nobody else
        row(2, (2, 3)),  # one left of two
        row(3, (1, 3)),  # it is out already
        row(4, (1, 2, 3)),
    ]
    found = if_it_stops(5, rows).told
    counts = found.counts
    assert (counts.without_leader, counts.under_min_isr, counts.leaders_move) == (1, 1, 2)
    assert [one.partition for one in found.leaderless] == [1]
    assert [(one.partition, one.leader_then, one.isr_then) for one in found.refusing] == [(2, 3, (3,))]
    assert (found.level, counts.looked_at) == ("bad", 5)


def test_the_assignments_order_says_who_leads_then() -> None:
    fate = fate_of(row(0, (3, 1, 2), leader=2, assignment=(2, 1, 3)), around())
    assert (fate.becomes, fate.leader_then, fate.isr_then) == ("moves", 1, (3, 1))


def test_where_a_topic_allows_it_one_out_of_sync_leads_then() -> None:
    found = if_it_stops(1, [row(0, (2,), assignment=(2, 3))], unclean={"orders": True}).told
    assert (found.counts.unclean, found.counts.without_leader, found.counts.under_min_isr, found.level) == (1, 0, 1, "bad")
    assert (found.unclean[0].leader_then, found.unclean[0].isr_then) == (3, (3,))
    assert "acknowledged records may be lost" in found.sentence


def test_whether_unclean_is_allowed_matters_only_where_nobody_in_sync_is_left() -> None:
    assert fate_of(row(0, (2,), assignment=(2, 3)), around(unclean={})).becomes == "unknown"
    assert fate_of(row(0, (2, 3), min_insync_replicas=1), around(unclean={})).becomes == "moves"
    assert fate_of(row(0, (2,), assignment=(2,)), around(unclean={})).becomes == "offline"


def test_a_broker_that_lost_one_of_its_folders_may_be_able_to_lead_or_not() -> None:
    unclean = around(unclean={"orders": True}, doubtful=frozenset({3}))
    assert fate_of(row(0, (2,), assignment=(2, 3)), unclean).becomes == "unknown"
    assert fate_of(row(0, (2, 3), min_insync_replicas=1), unclean).leader_then == 3, "who is in the ISR has it"


def test_a_topic_with_fewer_replicas_needs_all_it_has() -> None:
    assert fate_of(row(0, (2, 1), min_insync_replicas=3), around()).min_insync_replicas == 2
    assert fate_of(row(0, (1, 3), min_insync_replicas=3, assignment=(1, 3)), around()).becomes == "unchanged"


def test_who_does_not_run_takes_over_nothing() -> None:
    found = if_it_stops(1, [row(0, (2, 3))], (1, 2)).told
    assert (found.counts.without_leader, found.level) == (1, "bad")


def test_with_the_last_broker_nobody_is_left_to_decide() -> None:
    fate = fate_of(row(0, (2, 1), assignment=(2, 1)), around((2,)))
    assert (fate.becomes, fate.isr_then) == ("offline", (2, 1))


def test_what_is_not_known_is_not_safe() -> None:
    safe = row(0, (2, 1), min_insync_replicas=1)
    assert if_it_stops(1, [safe]).told.level == "ok"
    unknown = if_it_stops(1, [row(0, (2, 1), state="unknown")]).told
    assert (unknown.level, unknown.counts.unknown) == ("unknown", 1)
    part = if_it_stops(9, [safe]).told
    assert (part.level, "Only the worst 1 of 9 partitions" in part.sentence) == ("unknown", True)


def test_where_the_minimum_is_not_known_nothing_is_promised() -> None:
    found = if_it_stops(1, [row(0, (2, 1), min_insync_replicas=None)]).told
    assert (found.level, found.counts.unknown) == ("unknown", 1)
    lone = row(0, (2,), min_insync_replicas=None)
    assert if_it_stops(1, [lone]).told.level == "bad", "without a leader it is known"


def test_what_is_old_is_no_promise() -> None:
    safe = row(0, (2, 1), min_insync_replicas=1)
    found = if_it_stops(1, [safe], is_old=True).told
    assert (found.level, "last known" in found.sentence) == ("unknown", True)
    assert if_it_stops(1, [row(0, (2,))], is_old=True).told.level == "bad"


def test_who_does_not_run_cannot_stop() -> None:
    found = if_it_stops(1, [row(0, (1, 3))], (1, 3)).told
    assert (found.level, "does not run" in found.sentence, found.brokers) == ("notice", True, ())


def test_few_are_told_by_name() -> None:
    found = if_it_stops(99, [row(n, (2,)) for n in range(99)], (2,)).told
    assert (len(found.leaderless), found.counts.without_leader) == (NAMED, 99)


def test_leaderships_and_traffic_are_told_broker_by_broker() -> None:
    folder = some(LogDir, free_bytes=500)
    common = {"other_log_dirs": (), "log_dir": folder, "idle_percent": 80.0}
    brokers = [
        some(Broker, broker_id=1, leaders=1, bytes_in_per_s=10.0, bytes_out_per_s=None, **common),
        some(Broker, broker_id=2, leaders=2, bytes_in_per_s=100.0, bytes_out_per_s=40.0, **common),
        some(Broker, broker_id=3, leaders=0, bytes_in_per_s=5.0, bytes_out_per_s=5.0, **common),
    ]
    rows = [row(0, (2, 1, 3)), row(1, (2, 1, 3))]
    found = forecast(around(), 2, rows, brokers).told
    one, three = found.brokers
    assert (one.leaders, one.leaders_then, one.gains, one.in_if_even, one.in_at_most) == (1, 3, 2, 110.0, 110.0)
    assert (one.out_if_even, one.out_at_most) == (None, None), "what is not known of one end is not known of the sum"
    assert (three.gains, three.in_if_even, three.in_at_most, three.free_bytes) == (0, 5.0, 5.0, 500)
    assert "Nothing is copied" in found.traffic
    half = forecast(around(), 2, [rows[0], row(1, (2, 3, 1))], brokers).told.brokers
    assert [(share.gains, share.in_if_even, share.in_at_most) for share in half] == [(1, 60.0, 110.0), (1, 55.0, 105.0)]
