"""Taking over and giving up partitions in any order (KAFKA-10614)."""

import pytest

from broker_core.groups.group import Group
from broker_core.groups.hosting import HostedPartitions
from broker_core.groups.offsets import Committed
from broker_core.groups.records import OffsetCommit
from broker_core.model import TopicPartition

pytestmark = pytest.mark.spec("B19")


def loaded(hosted: HostedPartitions, partition: int, epoch: int, *names: str) -> None:
    assert hosted.elected(partition, epoch) is not None
    hosted.loaded(partition, [Group(name, 0) for name in names])


def test_election_loads_and_resignation_unloads():
    hosted = HostedPartitions()
    ticket = hosted.elected(3, 5)
    assert hosted.is_loading(3)
    assert not hosted.is_owned(3)
    assert hosted.is_current(3, ticket)
    hosted.loaded(3, [Group("a", 0), Group("b", 0)])
    assert (hosted.owned, list(hosted.groups), hosted.is_loading_any) == ([3], ["a", "b"], False)
    assert [group.group_id for group in hosted.resigned(3, 6)] == ["a", "b"]
    assert (hosted.owned, hosted.groups) == ([], {})


def test_late_resignation_does_not_unload_a_newer_election():
    hosted = HostedPartitions()
    loaded(hosted, 3, 7, "a")
    assert hosted.resigned(3, 6) == []
    assert hosted.is_owned(3)


def test_late_election_does_not_load_after_a_newer_resignation():
    hosted = HostedPartitions()
    loaded(hosted, 3, 5, "a")
    hosted.resigned(3, 8)
    assert hosted.elected(3, 7) is None
    assert not hosted.is_loading(3)
    assert hosted.elected(3, 9) is not None


def test_load_of_an_older_leadership_is_void():
    hosted = HostedPartitions()
    ticket = hosted.elected(3, 5)
    hosted.resigned(3, 6)
    assert not hosted.is_current(3, ticket)
    assert hosted.elected(3, 7) is not ticket
    assert not hosted.is_current(3, ticket)


def test_new_epoch_of_the_same_leader_keeps_what_is_loaded():
    hosted = HostedPartitions()
    loaded(hosted, 3, 5, "a")
    assert hosted.elected(3, 6) is None
    assert (hosted.epochs[3], list(hosted.groups)) == (6, ["a"])
    assert hosted.resigned(3, 5) == []


def test_partition_that_is_deleted_may_start_anew_with_epoch_zero():
    hosted = HostedPartitions()
    loaded(hosted, 3, 5, "a")
    hosted.resigned(3, None)
    assert hosted.elected(3, 0) is not None


def test_groups_with_offsets_of_a_topic_are_found_without_a_scan():
    hosted = HostedPartitions()
    group = Group("a", 0)
    group.offsets.load(TopicPartition("t", 0), Committed(0, OffsetCommit(1, -1, "", 0)))
    hosted.elected(3, 5)
    hosted.loaded(3, [group, Group("b", 0)])
    assert hosted.groups_with("t") == [group]
    assert hosted.groups_with("u") == []
    hosted.discard(3, group)
    assert hosted.groups_with("t") == []
    assert list(hosted.groups) == ["b"]


def test_two_partitions_that_have_had_a_group_of_the_same_name_are_given_up():
    """The topic has grown, and the name is another partition's now; the old one's offsets are still there."""
    hosted = HostedPartitions()
    loaded(hosted, 3, 5, "a")
    loaded(hosted, 8, 2, "a", "b")
    assert [group.group_id for group in hosted.resigned(8, 3)] == ["a", "b"]
    assert [group.group_id for group in hosted.resigned(3, 6)] == ["a"]
    assert (hosted.owned, hosted.groups) == ([], {})
