"""What the simulated group's members hold against the cluster (the checks themselves, on made-up answers)."""

from __future__ import annotations

from tests.simulation.members import Group, GroupHistory, Member
from tests.support.broker_cluster import BrokerCluster


def history() -> GroupHistory:
    return GroupHistory("t", 2)


def test_two_owners_in_a_generation_are_noticed() -> None:
    seen = history()
    seen.owned(1, 0, "one")
    seen.owned(1, 0, "one")
    seen.owned(2, 0, "other")
    assert seen.violations == []
    seen.owned(2, 0, "one")
    assert seen.violations == ["partition 0 of the group has two owners in generation 2: other, one"]


def test_an_offset_that_goes_back_is_noticed() -> None:
    seen = history()
    seen.committed(0, 7, 1)
    seen.found(0, 7, (7, 1))
    seen.found(0, 9, (7, 1))
    assert seen.violations == []
    seen.found(0, 6, (7, 1))
    assert seen.violations == ["the group's offset of partition 0 went back from 7 to 6"]


def test_only_an_unanswered_commit_of_the_same_generation_may_come_late() -> None:
    seen = history()
    seen.unanswered[0] = [(5, 1), (6, 2)]
    seen.committed(0, 7, 2)
    seen.found(0, 6, (7, 2))
    assert seen.violations == []
    seen.found(0, 5, (7, 2))
    assert seen.violations == ["the group's offset of partition 0 went back from 7 to 5"]


def test_members_share_the_partitions_commit_and_survive_a_crash() -> None:
    with BrokerCluster(brokers=3, seed=3) as cluster:
        cluster.start_all()
        cluster.create("t", 2)
        group = Group("t", 2, ("b1", "b2", "b3"))
        for place in (0, 1):
            cluster.world.spawn("client", lambda node, place=place: group.take_place(node, place))
        cluster.until(lambda: len(group.members) == 2 and group.is_settled and group.history.commits > 4)
        crashed: Member = group.members[0]
        crashed.crashed = True
        cluster.world.spawn("client", lambda node: group.take_place(node, 0))
        cluster.until(lambda: group.members[0] is not crashed and group.is_settled)
        commits = group.history.commits
        cluster.until(lambda: group.history.commits > commits + 4)
        assert cluster.world.run("client", group.read_at_last)
        assert group.history.violations == []
