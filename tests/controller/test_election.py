"""The elections and the state tables, without a store."""

from __future__ import annotations

from itertools import product

import pytest
from msgspec import structs

from broker_core.controller.context import ControllerContext, Leadership
from broker_core.controller.deciders import partition_states, replica_states
from broker_core.controller.deciders.balance import imbalance_ratios, partitions_to_move
from broker_core.controller.deciders.election import Strategy, elect, first_leader
from broker_core.controller.deciders.membership import compare
from broker_core.controller.deciders.partition_states import PartitionState
from broker_core.controller.deciders.reassignment import ReplicaAssignment
from broker_core.controller.deciders.replica_states import ReplicaState, without_replica
from broker_core.model import BrokerInfo, Endpoint, LeaderAndIsr, TopicPartition

T0 = TopicPartition("t", 0)


def info(broker_id: int, epoch: int = 1, port: int = 9092) -> BrokerInfo:
    return BrokerInfo(broker_id, (Endpoint("PLAINTEXT", "h", port),), None, epoch)


def context(replicas: tuple[int, ...], live: tuple[int, ...], shutting_down: tuple[int, ...] = ()) -> ControllerContext:
    made = ControllerContext(1, 0, brokers={broker_id: info(broker_id) for broker_id in live}, shutting_down=set(shutting_down))
    made.set_assignment(T0, ReplicaAssignment(replicas))
    return made


def outcome(
    made: ControllerContext, isr: tuple[int, ...], strategy: Strategy, *, unclean: bool = False
) -> tuple[int, tuple[int, ...]] | None:
    election = elect(made, T0, LeaderAndIsr(9, 4, isr, 2), strategy, unclean=unclean)
    if election is None:
        return None
    assert (election.state.leader_epoch, election.state.zk_version) == (5, 2)
    return election.state.leader, election.state.isr


@pytest.mark.spec("R8")
def test_first_leader_is_the_first_live_replica() -> None:
    """And the ISR is all live assigned replicas, epoch 0."""
    election = first_leader(context((3, 1, 2), live=(1, 2)), T0)
    assert election is not None
    assert (election.state, election.recipients) == (LeaderAndIsr(1, 0, (1, 2)), (1, 2))
    assert first_leader(context((3,), live=(1,)), T0) is None


@pytest.mark.spec("R8")
@pytest.mark.parametrize(
    ("isr", "live", "unclean", "expected"),
    [
        ((0, 1, 2), (1, 2), False, (1, (1, 2))),
        ((2, 1), (0, 1, 2), False, (1, (2, 1))),
        ((0,), (1, 2), False, None),
        ((0,), (1, 2), True, (1, (1,))),
        ((2,), (0, 1, 2), True, (2, (2,))),
        ((0,), (), True, None),
    ],
)
def test_offline(isr: tuple[int, ...], live: tuple[int, ...], unclean: bool, expected: object) -> None:
    """Assignment order among live ISR members; unclean only where no ISR member lives."""
    assert outcome(context((0, 1, 2), live), isr, Strategy.OFFLINE, unclean=unclean) == expected


def test_a_replica_in_a_failed_folder_does_not_lead() -> None:
    made = context((0, 1), live=(0, 1))
    made.offline_dirs[0] = {T0}
    assert outcome(made, (0, 1), Strategy.OFFLINE) == (1, (1,))


@pytest.mark.spec("R8", "O3")
@pytest.mark.parametrize(
    ("isr", "live", "expected"),
    [((1, 0), (0, 1), (0, (1, 0))), ((1,), (0, 1), None), ((0, 1), (1,), None)],
)
def test_preferred(isr: tuple[int, ...], live: tuple[int, ...], expected: object) -> None:
    """The assignment's head if it lives and is in the ISR, which stays as it is."""
    assert outcome(context((0, 1), live), isr, Strategy.PREFERRED) == expected


def test_controlled_shutdown_takes_the_leaver_out_of_the_isr() -> None:
    made = context((0, 1, 2), live=(0, 1, 2), shutting_down=(0,))
    assert outcome(made, (0, 1, 2), Strategy.CONTROLLED_SHUTDOWN) == (1, (1, 2))
    assert outcome(made, (0,), Strategy.CONTROLLED_SHUTDOWN) is None


@pytest.mark.spec("R9")
def test_going_offline_leaves_the_isr_but_for_the_last_member() -> None:
    """The last member alone has everything acknowledged, so it stays."""
    assert without_replica(LeaderAndIsr(0, 3, (0, 1)), 0) == LeaderAndIsr(-1, 4, (1,))
    assert without_replica(LeaderAndIsr(0, 3, (0, 1)), 1) == LeaderAndIsr(0, 4, (0,))
    assert without_replica(LeaderAndIsr(0, 3, (0,)), 0) == LeaderAndIsr(-1, 4, (0,))
    assert without_replica(LeaderAndIsr(0, 3, (0,)), 1) is None


def test_every_transition_of_a_partition() -> None:
    possible = {(a.value, b.value) for a, b in product(PartitionState, PartitionState) if partition_states.may_become(a, b)}
    assert possible == {
        ("non-existent", "new"),
        ("new", "online"),
        ("online", "online"),
        ("offline", "online"),
        ("new", "offline"),
        ("online", "offline"),
        ("offline", "offline"),
        ("offline", "non-existent"),
    }


def test_every_transition_of_a_replica() -> None:
    serving = ("new", "online", "offline", "deletion ineligible")
    possible = {(a.value, b.value) for a, b in product(ReplicaState, ReplicaState) if replica_states.may_become(a, b)}
    assert possible == {
        ("non-existent", "new"),
        *((state, "online") for state in serving),
        *((state, "offline") for state in serving),
        ("offline", "deletion started"),
        ("deletion started", "deletion successful"),
        ("offline", "deletion ineligible"),
        ("deletion started", "deletion ineligible"),
        ("deletion successful", "non-existent"),
    }


LISTING = [  # leader, replicas, isr: topic `iteblog` after broker 7 was restarted
    (1, (1, 4), (1, 4)),
    (3, (7, 3), (3, 7)),
    (5, (5, 7), (5, 7)),
    (6, (6, 1), (1, 6)),
    (4, (4, 2), (4, 2)),
    (2, (2, 5), (5, 2)),
    (3, (3, 6), (3, 6)),
]


def listing() -> ControllerContext:
    made = ControllerContext(1, 0, brokers={broker_id: info(broker_id) for broker_id in range(1, 8)})
    for partition, (leader, replicas, isr) in enumerate(LISTING):
        tp = TopicPartition("iteblog", partition)
        made.set_assignment(tp, ReplicaAssignment(replicas))
        made.leadership[tp] = Leadership(LeaderAndIsr(leader, 0, isr), 1)
    return made


@pytest.mark.spec("O3")
def test_o3_one_of_seven_partitions_moves_back_to_broker_7() -> None:
    """Broker 7 leads nothing though partition 1 prefers it; broker 3 leads two."""
    made = listing()
    assert made.imbalance_count() == 1
    assert imbalance_ratios(made) == {1: 0.0, 2: 0.0, 3: 0.0, 4: 0.0, 5: 0.0, 6: 0.0, 7: 1.0}
    assert partitions_to_move(made, 10) == [TopicPartition("iteblog", 1)]


@pytest.mark.spec("O3")
def test_o3_nothing_moves_while_it_must_not() -> None:
    """Not during a reassignment, not to a dead or lagging replica, not for a topic being deleted, not below the limit."""
    reassigning = listing()
    reassigning.being_reassigned.add(TopicPartition("iteblog", 0))
    dead = listing()
    del dead.brokers[7]
    lagging = listing()
    lagging.leadership[TopicPartition("iteblog", 1)] = Leadership(LeaderAndIsr(3, 0, (3,)), 1)
    deleting = listing()
    deleting.queued_for_deletion.add("iteblog")
    assert [partitions_to_move(made, 10) for made in (reassigning, dead, lagging, deleting)] == [[], [], [], []]
    assert partitions_to_move(listing(), 100) == []


def test_membership_changes() -> None:
    known = {1: info(1), 2: info(2), 3: info(3), 4: info(4)}
    change = compare(known, {2: info(2, epoch=9), 3: info(3), 4: info(4, port=1), 5: info(5)})
    assert (change.started, change.bounced, change.renewed, change.failed, change.moved) == ((5,), (2,), (), (1,), (4,))
    again = compare({2: info(2)}, {2: structs.replace(info(2, epoch=9), first_epoch=info(2).epoch)})
    assert (again.bounced, again.renewed) == ((), (2,))
    assert not compare(known, dict(known))
