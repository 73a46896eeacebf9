"""The groups of a partition, and which of them have offsets of a topic."""

from broker_core.groups.group import Group
from broker_core.groups.offsets import Committed
from broker_core.groups.records import OffsetCommit
from broker_core.groups.table import GroupTable
from broker_core.model import TopicPartition


def test_groups_with_offsets_of_a_topic_are_found_without_a_scan():
    table = GroupTable()
    group = Group("a", 0)
    group.offsets.load(TopicPartition("t", 0), Committed(0, OffsetCommit(1, -1, "", 0)))
    table.add(group)
    table.add(Group("b", 0))
    assert table.with_offsets_of("t") == [group]
    assert table.with_offsets_of("u") == []
    table.discard(group)
    assert table.with_offsets_of("t") == []
    assert list(table.by_id) == ["b"]


def test_group_that_was_replaced_is_not_listed_again():
    """A commit of its that ends later is nothing to the group of the same name that came after it."""
    table = GroupTable()
    former = Group("a", 0)
    table.add(former)
    table.discard(former)
    table.add(Group("a", 1))
    former.offsets.load(TopicPartition("t", 0), Committed(0, OffsetCommit(1, -1, "", 0)))
    table.list_topics(former, ["t"])
    assert table.with_offsets_of("t") == []
    table.discard(former)
    assert list(table.by_id) == ["a"]
