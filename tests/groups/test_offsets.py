"""The offset cache and retention."""

import pytest

from broker_core.groups import retention
from broker_core.groups.group import RETENTION_TIMER, Group
from broker_core.groups.messages import Protocol, StartTimer
from broker_core.groups.offsets import Committed, GroupOffsets
from broker_core.groups.records import OffsetCommit
from broker_core.model import TopicPartition
from tests.support.counted import CountedName
from tests.support.group_driver import GroupDriver

T0, T1, U0 = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)
DAY_MS = 86_400_000
RETENTION_MS = 7 * DAY_MS
CHECK_MS = 600_000
SUBSCRIBED_TO_T = Protocol("range", bytes.fromhex("0000 00000001 0001 74 ffffffff"))


def commit(offset: int, at_ms: int = 0, expire_ms: int | None = None) -> OffsetCommit:
    return OffsetCommit(offset, -1, "", at_ms, expire_ms)


def committed(offsets: GroupOffsets, tp: TopicPartition, value: OffsetCommit, record_offset: int) -> None:
    offsets.prepare({tp: value})
    offsets.succeeded(tp, value, record_offset)


def test_commit_counts_only_when_it_is_replicated():
    offsets = GroupOffsets()
    offsets.prepare({T0: commit(5)})
    assert offsets.get(T0) is None
    assert offsets.is_unstable(T0)
    offsets.succeeded(T0, commit(5), 100)
    assert offsets.get(T0) == commit(5)
    assert not offsets.is_unstable(T0)


def test_failed_commit_leaves_the_old_offset():
    offsets = GroupOffsets()
    committed(offsets, T0, commit(5), 100)
    offsets.prepare({T0: commit(9)})
    offsets.failed(T0, commit(9))
    assert offsets.get(T0) == commit(5)
    assert not offsets.is_unstable(T0)


@pytest.mark.spec("G3")
def test_the_record_later_in_the_log_wins():
    """Two commits on their way may be confirmed in either order; a reload would give the later record."""
    offsets = GroupOffsets()
    for value in (5, 3, 7):
        offsets.prepare({T0: commit(value)})
    offsets.succeeded(T0, commit(3), 101)
    offsets.succeeded(T0, commit(5), 100)
    assert offsets.get(T0) == commit(3)
    offsets.failed(T0, commit(7))
    assert not offsets.is_unstable(T0)


def test_first_of_two_commits_leaves_the_second_pending():
    offsets = GroupOffsets()
    offsets.prepare({T0: commit(5)})
    offsets.prepare({T0: commit(6)})
    offsets.succeeded(T0, commit(5), 100)
    assert offsets.is_unstable(T0)
    assert offsets.get(T0) == commit(5)


def test_offset_removed_during_a_commit_stays_removed():
    """Its tombstone is behind the commit in the log."""
    offsets = GroupOffsets()
    offsets.prepare({T0: commit(5)})
    assert offsets.known() == [T0]
    offsets.remove([T0])
    offsets.succeeded(T0, commit(5), 100)
    assert offsets.get(T0) is None


def test_open_transactions_make_offsets_unstable():
    offsets = GroupOffsets()
    offsets.stage(7, {T0: Committed(3, commit(1))})
    assert offsets.is_unstable(T0)
    assert not offsets.has_only([])
    assert offsets.has_only([T0])
    assert (offsets.topics, offsets.producers) == ([T0.topic], [7])


@pytest.mark.spec("G5")
def test_the_end_of_a_transaction_decides_on_what_was_staged():
    """Against a commit outside of it the later record counts, not the later marker: so does a reload."""
    offsets = GroupOffsets()
    committed(offsets, T0, commit(5), 10)
    offsets.stage(7, {T0: Committed(3, commit(1)), T1: Committed(4, commit(2))})
    offsets.stage(8, {T1: Committed(6, commit(9))})
    assert offsets.end_transaction(8, commit=False) == [T1]
    assert offsets.get(T1) is None
    assert offsets.end_transaction(7, commit=True) == [T0, T1]
    assert (offsets.get(T0), offsets.get(T1)) == (commit(5), commit(2))
    assert not offsets.is_unstable(T1)
    assert offsets.end_transaction(7, commit=True) == [], "the marker came again"


def with_offsets(group: Group, **offsets: OffsetCommit) -> None:
    for name, value in offsets.items():
        committed(group.offsets, TopicPartition(name[:-1], int(name[-1])), value, 1)


@pytest.mark.spec("G3")
def test_offsets_of_a_simple_consumer_expire_after_their_commit():
    """No members ever: seven days after the commit."""
    group = Group("g", 0)
    with_offsets(group, t0=commit(1, at_ms=0), t1=commit(1, at_ms=DAY_MS))
    assert retention.expired(group, RETENTION_MS, RETENTION_MS - 1) == []
    assert retention.expired(group, RETENTION_MS, RETENTION_MS) == [T0]
    assert retention.expired(group, RETENTION_MS, RETENTION_MS + DAY_MS) == [T0, T1]


@pytest.mark.spec("G3")
def test_offsets_of_a_group_expire_after_it_became_empty():
    """However long ago they were committed."""
    driver = GroupDriver()
    (only,) = driver.stable(1)
    with_offsets(driver.group, t0=commit(1, at_ms=0))
    driver.now_ms = 30 * DAY_MS
    driver.leave(only)
    assert retention.expired(driver.group, RETENTION_MS, 37 * DAY_MS - 1) == []
    assert retention.expired(driver.group, RETENTION_MS, 37 * DAY_MS) == [T0]


def test_empty_group_from_an_old_record_goes_by_its_commits():
    group = Group("g", 0)
    group.protocol_type, group.state_ms = "consumer", None
    with_offsets(group, t0=commit(1, at_ms=DAY_MS))
    assert retention.expired(group, RETENTION_MS, 8 * DAY_MS) == [T0]


@pytest.mark.spec("G3")
def test_stable_consumers_lose_only_topics_they_no_longer_subscribe_to():
    """KIP-211."""
    driver = GroupDriver()
    driver.join("a", protocols=(SUBSCRIBED_TO_T,))
    driver.advance(3000)
    driver.sync("s", driver.answers["a"].member_id, {})
    driver.stored()
    with_offsets(driver.group, t0=commit(1), u0=commit(1))
    assert retention.expired(driver.group, RETENTION_MS, 100 * DAY_MS) == [U0]
    driver.join("b", protocols=(SUBSCRIBED_TO_T,))
    assert retention.expired(driver.group, RETENTION_MS, 100 * DAY_MS) == []


def test_stable_group_of_another_type_keeps_everything():
    driver = GroupDriver()
    driver.join("a", protocol_type="connect")
    driver.advance(3000)
    driver.sync("s", driver.answers["a"].member_id, {})
    driver.stored()
    with_offsets(driver.group, t0=commit(1))
    assert retention.expired(driver.group, RETENTION_MS, 100 * DAY_MS) == []


def test_commits_own_retention_wins():
    """OffsetCommit v2–4 may say how long an offset is kept."""
    group = Group("g", 0)
    with_offsets(group, t0=commit(1, expire_ms=1000), t1=commit(1, expire_ms=90 * DAY_MS))
    assert retention.expired(group, RETENTION_MS, 1000) == [T0]
    assert retention.expired(group, RETENTION_MS, 30 * DAY_MS) == [T0]


def test_offsets_with_a_commit_under_way_stay():
    group = Group("g", 0)
    with_offsets(group, t0=commit(1))
    group.offsets.prepare({T0: commit(2)})
    assert retention.expired(group, RETENTION_MS, 100 * DAY_MS) == []


def next_look_ms(group: Group, now_ms: int) -> int:
    (effect,) = retention.watch(group, RETENTION_MS, CHECK_MS, now_ms)
    assert isinstance(effect, StartTimer)
    assert effect.key == RETENTION_TIMER
    return effect.delay_ms


def test_group_without_members_is_not_looked_at_before_something_can_expire():
    """No scan over groups: each has one timer on the wheel."""
    group = Group("g", 0)
    assert next_look_ms(group, 0) == CHECK_MS
    with_offsets(group, t0=commit(1, at_ms=DAY_MS), t1=commit(1, at_ms=2 * DAY_MS))
    assert next_look_ms(group, 2 * DAY_MS) == 6 * DAY_MS
    with_offsets(group, u0=commit(1, expire_ms=3 * DAY_MS))
    assert next_look_ms(group, 2 * DAY_MS) == DAY_MS


def test_group_with_members_is_looked_at_regularly():
    """Its subscriptions may change, and with them what can expire."""
    driver = GroupDriver()
    driver.stable(1)
    with_offsets(driver.group, t0=commit(1, at_ms=driver.now_ms))
    driver.group.subscribed = frozenset()
    assert next_look_ms(driver.group, driver.now_ms) == CHECK_MS


def test_group_ends_with_its_last_offset():
    group = Group("g", 0)
    with_offsets(group, t0=commit(1), u0=commit(1))
    assert not retention.ends_without(group, [T0])
    assert retention.ends_without(group, [T0, U0])
    driver = GroupDriver()
    driver.stable(1)
    assert not retention.ends_without(driver.group, [])


def test_topics_with_offsets_are_told_without_comparing_each_with_each():
    """A commit asks for all of its topics, of which there may be 100 000."""
    names = [CountedName(f"t{number}") for number in range(200)]
    offsets = GroupOffsets()
    offsets.prepare({TopicPartition(name, 0): commit(5) for name in names})
    CountedName.compared = 0
    assert offsets.having([*names, CountedName("other")]) == set(names)
    assert CountedName.compared < 10 * len(names)
