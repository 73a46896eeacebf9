"""The rules, each by its number: partitions, lag (Burrow's, mended), no loss, balance, verdict, moves."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from broker_core.contract.groups import Group
from broker_core.contract.partitions import Advice, Deletion, Reassigning
from broker_core.contract.record_times import RecordTime
from console.rules import imbalance, lag, moves, no_loss
from console.rules.lag import Behind, Commit, Sample
from console.rules.partitions import deletion_words, missing, not_preferred, partition_sentence, partition_state
from console.rules.verdict import Silence, verdict
from tests.support.live_rows import partition, some


@pytest.mark.spec("R5", "R8")
@pytest.mark.parametrize(
    ("leader", "isr", "assignment", "least", "state"),
    [
        (None, [1], [1, 2, 3], 2, "offline"),
        (-1, [], [1, 2, 3], 2, "offline"),
        (1, [1], [1, 2, 3], 2, "under_min_isr"),
        (1, [1, 2], [1, 2, 3], 2, "under_replicated"),
        (1, [1, 2, 3], [1, 2, 3], 2, "safe"),
        (1, [1], [1], 2, "safe"),
        (1, [1], [1, 2], None, "under_replicated"),
    ],
)
def test_partition_states(leader: int | None, isr: list[int], assignment: list[int], least: int | None, state: str) -> None:
    assert partition_state(leader, isr, assignment, least) == state


@pytest.mark.spec("O1")
@pytest.mark.parametrize(
    ("isr", "assignment", "adding", "lacks"),
    [
        ([1, 2, 3], [4, 1, 2, 3], [4], []),
        ([4, 1, 2, 3], [4, 1, 2, 3], [4], []),
        ([1, 2], [4, 1, 2, 3], [4], [3]),
        ([4, 1, 2], [4, 1, 2, 3], [4], []),
        ([1], [1, 2, 3], [2, 3], []),
        ([2, 3], [1, 2, 3], [], [1]),
    ],
    ids=["copying", "copied", "one fell out", "as many as wanted", "more copies", "no move"],
)
def test_what_a_reassignment_adds_is_not_missing(isr: list[int], assignment: list[int], adding: list[int], lacks: list[int]) -> None:
    """As Kafka's UnderReplicatedPartitions and `kafka-topics --under-replicated-partitions` count."""
    assert missing(isr, assignment, adding) == lacks
    assert partition_state(1, isr, assignment, 1, adding=adding) == ("under_replicated" if lacks else "safe")


def test_of_a_moving_partition_only_who_is_missing_is_named() -> None:
    value = partition("t", 0, "under_replicated", isr=(1, 2), assignment=(4, 1, 2, 3), reassigning=Reassigning((4,), (1,)))
    assert partition_sentence(value) == "t-0 has fewer copies than wanted: broker 3 out of the ISR."


def test_a_partitions_sentence_says_where_and_why() -> None:
    value = partition("orders", 3, "under_min_isr", isr=(1,), assignment=(1, 2), min_insync_replicas=2)
    assert partition_sentence(value) == "orders-3 refuses acks=all: broker 2 out of the ISR and min.insync.replicas is 2."


def test_without_a_leader_the_sentence_is_followed_by_the_advice() -> None:
    value = partition("t", 0, "offline", isr=(2,), assignment=(1, 2, 3))
    assert partition_sentence(value) == "t-0 has no leader: it takes no reads and no writes."
    advice = some(Advice, text="Only broker 2 has all its committed records: start broker 2.")
    assert partition_sentence(replace(value, advice=advice)).endswith(f"no writes. {advice.text}")


COMMITS = [Commit(n * 1000, n * 10, 100) for n in range(10)]


@pytest.mark.parametrize(
    ("commits", "lag_now", "now_ms", "status"),
    [
        (COMMITS, 0, 999_999, "ok"),
        (COMMITS, 100, 60_000, "stop"),
        (COMMITS[:1], 100, 20_000, "ok"),
        (COMMITS[:1], 100, 40_000, "stop"),
        ([*COMMITS[:-1], Commit(9000, 5, 200)], 200, 9500, "rewind"),
        ([*COMMITS[:-1], Commit(9000, 90, 0)], 50, 9500, "ok"),
        ([Commit(n * 1000, 7, 10 + n) for n in range(10)], 50, 9500, "stall"),
        ([Commit(n * 1000, n, 10 + n) for n in range(10)], 50, 9500, "warn"),
        ([Commit(n * 1000, n, 50 - n) for n in range(10)], 40, 9500, "ok"),
        ([], 5, 0, "unknown"),
        (COMMITS, None, 0, "unknown"),
    ],
)
def test_burrows_rules(commits: list[Commit], lag_now: int | None, now_ms: int, status: str) -> None:
    assert lag.partition_status(commits, lag_now, now_ms) == status


ENDS = [Sample(n * 1000, n * 10) for n in range(1, 11)]
"""The log's end was 10, 20, …, 100 at seconds 1 … 10; asked at second 11."""


@pytest.mark.parametrize(
    ("committed", "known", "behind"),
    [
        (100, None, (0.0, "record")),
        (200, None, (0.0, "record")),
        (95, None, (1.5, "estimate")),
        (50, None, (6.0, "estimate")),
        (5, None, (10.0, "at_least")),
        (5, RecordTime(5, 3_000 - 3_600_000, True), (3_608.0, "record")),
        (5, RecordTime(5, 3_000, False), (8.0, "estimate")),
        (5, RecordTime(0, -19_000, True), (20.0, "estimate")),
        (5, RecordTime(7, 0, True), (10.0, "at_least")),
        (50, RecordTime(50, -80_000, True), (91.0, "record")),
        (50, RecordTime(50, 99_000, True), (0.0, "record")),
        (-1, None, None),
        (None, None, None),
    ],
)
def test_lag_in_time(committed: int | None, known: RecordTime | None, behind: tuple[float, str] | None) -> None:
    """The record's own time where it is known, a labelled estimate or bound where not; never negative, never made from a mean rate."""
    assert lag.time_behind(committed, 100, known, ENDS, 11_000) == behind


def test_an_old_record_is_as_old_as_it_is_however_the_traffic_changes() -> None:
    """Its age was 56 min, 96 min, 3.5 h or 24 h while the rate of the last three minutes was carried back."""
    written_ms, now = -80 * 60_000, 180_000
    known = RecordTime(0, written_ms, True)
    for rate in (1, 7, 100, 5_000):
        ends = [Sample(second * 1000, 1_000_000 + second * rate) for second in range(181)]
        assert lag.time_behind(0, ends[-1].value, known, ends, now) == (83 * 60.0, "record")
        assert lag.time_behind(0, ends[-1].value, None, ends, now) == (180.0, "at_least")


def test_between_the_last_look_and_now_the_end_has_moved() -> None:
    assert lag.time_behind(100, 110, None, ENDS, 11_000) == (1.0, "estimate")
    assert lag.time_behind(100, 110, None, [], 11_000) is None
    assert lag.time_behind(100, None, None, ENDS, 11_000) is None


def test_a_groups_lag_in_time_is_its_worst_partitions() -> None:
    rows = [Behind(5.0, "record"), None, Behind(80.0, "estimate")]
    assert lag.worst_behind(rows) == (80.0, "estimate")
    assert lag.worst_behind([*rows, Behind(10.0, "at_least")]) == (80.0, "at_least")
    assert lag.worst_behind([None]) is None
    assert lag.behind_of(some(Group, lag_s=3.0, lag_basis="estimate")) == (3.0, "estimate")


@pytest.mark.parametrize(
    ("values", "active", "word", "eta"),
    [
        ([100, 80, 60, 40], True, "catching_up", 20.0),
        ([40, 60, 80, 100], True, "falling_behind", None),
        ([100, 101, 99, 100], True, "steady", None),
        ([10, 5, 1, 0], True, "caught_up", 0.0),
        ([10, 10, 10, 10], False, "stopped", None),
    ],
)
def test_trends(values: list[int], active: bool, word: str, eta: float | None) -> None:
    samples = [Sample(n * 10_000, v) for n, v in enumerate(values)]
    assert lag.trend(samples, 30_000, active=active) == (word, eta)


def test_a_group_within_its_commit_interval_keeps_up() -> None:
    samples = [Sample(0, 10), Sample(10_000, 40)]
    assert lag.trend(samples, 10_000, active=True, lag_s=0.9) == ("steady", None)
    assert lag.group_words(40, Behind(0.04, "estimate"), "steady", None) == "keeps up, less than 1\u202fs behind."
    assert lag.group_words(40, Behind(7.0, "estimate"), "falling_behind", None) == "keeps up, 7\u202fs behind."


@pytest.mark.parametrize(
    ("basis", "word", "said"),
    [
        ("record", "stalled", "is 80\u202fmin behind and does not move."),
        ("estimate", "stalled", "is about 80\u202fmin behind and does not move."),
        ("at_least", "stalled", "is at least 80\u202fmin behind and does not move."),
        ("record", "in_rhythm", "is 80\u202fmin behind, as usual: it catches up about every 2\u202fh."),
    ],
)
def test_a_groups_sentence_says_how_sure_it_is(basis: str, word: str, said: str) -> None:
    assert lag.group_words(9, Behind(4_800.0, basis), word, None, every_s=7_200.0) == said


def test_a_groups_sentence() -> None:
    assert lag.group_words(500, Behind(12.0, "record"), "catching_up", 40.0) == "is 12\u202fs behind and is catching up (about 40\u202fs)."


@pytest.mark.spec("O2")
def test_no_loss_settings() -> None:
    """Replication.factor ≥ 3, 2 ≤ min.insync.replicas < replication.factor, unclean election off, acks other than all seen."""
    assert no_loss.topic_findings("t", 3, 2, False) == {}
    assert len(no_loss.topic_findings("t", 1, 1, True)) == 3
    assert "one broker down stops all writes" in no_loss.topic_findings("t", 3, 3, False)["writable"]
    assert no_loss.topic_findings("t", None, None, None) == {}
    assert no_loss.weak_acks({"-1": 9, "1": 2, "0": 0}) == {
        "1": "Producers have written with acks=1 since the brokers started: such a record can be lost with one broker."
    }


@pytest.mark.spec("O3")
def test_seven_partitions_that_broker_7_no_longer_leads() -> None:
    """Broker 7 restarted and leads nothing."""
    assert not_preferred(8, [7, 8, 9])
    assert not not_preferred(None, [7, 8])
    assert imbalance.short_of_leaders({7: 0, 8: 4, 9: 3}, {7: 3, 8: 2, 9: 2}) == [7]


def test_skew_is_a_fraction_of_the_share() -> None:
    assert imbalance.skew(4, {1: 4, 2: 2, 3: 0}) == 1.0
    assert imbalance.skew(0, {1: 0}) is None


WORST = partition("orders", 3, "under_replicated", isr=(1,), assignment=(1, 2))
SAID = "orders-3 has fewer copies than wanted: broker 2 out of the ISR."
GOOD = {"brokers_online": 3, "partitions": 180, "offline": 0, "under_min_isr": 0, "under_replicated": 0, "not_preferred": 0}


@pytest.mark.parametrize(
    ("counts", "dead", "groups", "level", "text"),
    [
        ({}, [], [], "unknown", "No broker has been heard of yet."),
        (GOOD, [], [], "ok", "All 180 partitions are safe."),
        (
            GOOD | {"under_replicated": 71, "not_preferred": 25},
            [2],
            [],
            "warn",
            "Broker 2 is down: 71 partitions have fewer copies than wanted; all accept reads and writes.",
        ),
        (
            GOOD | {"offline": 2, "under_min_isr": 1, "under_replicated": 4},
            [2, 3],
            [],
            "bad",
            "Brokers 2 and 3 are down: 2 partitions have no leader, so no reads and no writes; 1 partition refuses acks=all writes; "
            "3 partitions have fewer copies than wanted.",
        ),
        (GOOD, [1], [], "warn", "Broker 1 is down: all 180 partitions have all the copies they want."),
        (GOOD | {"partitions": 1}, [1], [], "warn", "Broker 1 is down: the one partition has all the copies it wants."),
        (GOOD | {"offline": 1}, [], [], "bad", f"1 partition has no leader, so no reads and no writes. {SAID}"),
        (
            GOOD | {"under_replicated": 1},
            [],
            [],
            "warn",
            f"1 partition has fewer copies than wanted; it accepts reads and writes. {SAID}",
        ),
        (GOOD | {"not_preferred": 2}, [], [], "notice", "All 180 partitions are safe. 2 partitions are not led by the preferred broker."),
        (
            GOOD,
            [],
            [some(Group, group="billing", lag=9, lag_s=12.0, trend="catching_up", eta_s=40.0, attention="notice")],
            "notice",
            "All 180 partitions are safe. Group billing is 12\u202fs behind and is catching up (about 40\u202fs).",
        ),
    ],
)
def test_the_verdict(counts: dict[str, int], dead: list[int], groups: list[Group], level: str, text: str) -> None:
    found = verdict(counts, dead, groups, WORST)
    assert (found.level, found.text) == (level, text)


@pytest.mark.parametrize(
    ("counts", "dead", "silent", "level", "text"),
    [
        (
            {"partitions": 82},
            [],
            [Silence(2, 3.4, 25, 82)],
            "warn",
            "Broker 2 has been silent for 3\u202fs: the state of its 25 partitions is unknown. "
            "By their leaders' word all copies of the other 57 partitions are in sync.",
        ),
        (
            {"partitions": 3, "unknown": 3},
            [],
            [Silence(1, 0.1, 3, 3)],
            "warn",
            "Broker 1 has been silent for 1\u202fs: the state of its 3 partitions is unknown.",
        ),
        (
            {"partitions": 82},
            [],
            [Silence(2, None, 0, 40)],
            "warn",
            "Broker 2 has not reported yet: of its copies of 40 partitions only their leaders tell. "
            "By their leaders' word all copies of the 82 partitions are in sync.",
        ),
        ({"partitions": 82}, [], [Silence(2, 4, 0, 0)], "notice", "Broker 2 has been silent for 4\u202fs. All 82 partitions are safe."),
        (
            {"partitions": 82, "offline": 2},
            [],
            [Silence(2, 4, 25, 82)],
            "bad",
            "Broker 2 has been silent for 4\u202fs: the state of its 25 partitions is unknown. "
            f"2 partitions have no leader, so no reads and no writes. {SAID}",
        ),
        (
            {"partitions": 82},
            [3],
            [Silence(2, 4, 25, 82)],
            "warn",
            "Broker 2 has been silent for 4\u202fs: the state of its 25 partitions is unknown. "
            "Broker 3 is down: the other 57 partitions have all the copies they want.",
        ),
        ({"partitions": 4, "starting": 4}, [], [], "notice", "4 partitions are starting: their leaders have not reported yet."),
        (
            {"partitions": 5, "starting": 4},
            [],
            [],
            "notice",
            "4 partitions are starting: their leaders have not reported yet. The other one is safe.",
        ),
    ],
)
def test_the_verdict_calls_nothing_safe_that_nobody_tells_of(
    counts: dict[str, int], dead: list[int], silent: list[Silence], level: str, text: str
) -> None:
    found = verdict(GOOD | counts, dead, [], WORST, silent=silent)
    assert (found.level, found.text) == (level, text)


@pytest.mark.parametrize(("groups", "text"), [(3, "1 more group is behind."), (4, "2 more groups are behind.")])
def test_the_verdict_names_two_groups_and_counts_the_others(groups: int, text: str) -> None:
    late = [some(Group, group=f"g{n}", lag=9, lag_s=12.0 + n, trend="stalled", attention="warn") for n in range(groups)]
    found = verdict(GOOD, [], late, None)
    assert found.text.endswith(text)
    assert f"g{groups - 1}" in found.text
    assert "g0" not in found.text


def test_the_verdict_takes_deletions_for_no_alarm() -> None:
    """The one that waits is named first, with what it waits for; partitions that go are not counted among those that are safe."""
    going = {name: Deletion((), False, f"{name} is being deleted.") for name in ("a", "b", "c")}
    held = Deletion((2,), False, f"z {deletion_words([2], moving=False)}")
    found = verdict(GOOD | {"deleting": 30}, [], [], None, going)
    said = "All 150 partitions are safe. Topic a is being deleted. Topic b is being deleted. 1 more topic is being deleted."
    assert (found.level, found.text) == ("ok", said)
    found = verdict(GOOD, [], [], None, {**going, "z": held})
    assert found.level == "notice"
    assert [part.about for part in found.parts] == ["topics", "topic/z", "topic/a", "topics"]
    assert found.parts[1].text == "Topic z is being deleted; this waits for broker 2, which is down and holds copies of it."


@pytest.mark.spec("Z4")
@pytest.mark.parametrize(
    ("dead", "moving", "text"),
    [
        ([], False, "is being deleted."),
        ([1, 2], False, "is being deleted; this waits for brokers 1 and 2, which are down and hold copies of it."),
        ([], True, "is being deleted; this waits for the move of its partitions to end."),
    ],
)
def test_why_a_deletion_waits(dead: list[int], moving: bool, text: str) -> None:
    assert deletion_words(dead, moving=moving) == text


def test_a_partition_under_min_isr_is_counted_once_in_the_verdict() -> None:
    found = verdict(GOOD | {"under_min_isr": 3, "under_replicated": 3}, [2], [], WORST)
    assert found.text == "Broker 2 is down: 3 partitions refuse acks=all writes."


def test_moves_end_as_the_cluster_says() -> None:
    row = {"to": [2, 3], "total": 50}
    assert moves.settle(row, True, [1, 2, 3], 5) == {}
    assert moves.settle(row, False, [2, 3], 5) == {"state": "done", "done": 50}
    for replicas in ([1, 2], None):
        assert moves.settle(row, False, replicas, 5) == {"doubted_ms": 5}
        doubted = {**row, "doubted_ms": 5}
        assert moves.settle(doubted, False, replicas, 4 + moves.DOUBT_MS) == {}, "whoever was asked may hear late"
        assert moves.settle(doubted, False, replicas, 5 + moves.DOUBT_MS)["state"] == "failed"
        assert moves.settle(doubted, False, replicas, 4) == {"doubted_ms": 4}, "the clock was set back"
        assert moves.settle(doubted, True, replicas, 6) == {"doubted_ms": None}
    assert moves.progress([{"state": "moving", "done": 5, "total": 10}, {"state": "done", "done": 0, "total": 0}]) == (5, 10, "records")
    assert moves.progress([{"state": "done"}, {"state": "moving"}]) == (1, 2, "partitions")


NOW = partition("orders", 0, assignment=(1, 2), leader=1, size_bytes=1000)


@pytest.mark.parametrize(
    ("wanted", "adding", "removing", "leader_then", "copy_bytes", "sentence"),
    [
        ([1, 2], [], [], 1, 0, "Nothing would change: every partition has these brokers in this order already."),
        ([2, 1], [], [], 1, 0, "1 partition of 1 would change. No record has to be copied."),
        (
            [3, 2],
            [3],
            [1],
            3,
            1000,
            "1 partition of 1 would change. Broker 3 would copy records. "
            "1 leader would move to another broker: clients notice a short pause.",
        ),
        (
            [1],
            [],
            [2],
            1,
            0,
            "1 partition of 1 would change. No record has to be copied. "
            "1 partition would have fewer replicas than now, and survive fewer losses.",
        ),
    ],
)
def test_a_plan_says_what_a_move_would_do(
    wanted: list[int], adding: list[int], removing: list[int], leader_then: int, copy_bytes: int, sentence: str
) -> None:
    row = moves.planned(NOW, wanted)
    assert (row["adding"], row["removing"], row["leader_then"], row["copy_bytes"]) == (adding, removing, leader_then, copy_bytes)
    assert moves.plan_sentence([row]) == sentence
    assert moves.planned(replace(NOW, size_bytes=None), wanted)["copy_bytes"] is None
