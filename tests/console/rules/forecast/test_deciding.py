"""The console's rule of who leads after a broker is gone is the controller's: both decide every case of up to four replicas alike."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, permutations, product

import pytest

from broker_core.controller.context import ControllerContext
from broker_core.controller.deciders.election import Strategy, elect
from broker_core.controller.deciders.reassignment import ReplicaAssignment
from broker_core.controller.deciders.replica_states import without_replica
from broker_core.model import NO_LEADER, BrokerInfo, LeaderAndIsr, TopicPartition
from console.rules.forecast.deciding import State, after_death, after_shutdown

pytestmark = pytest.mark.spec("R8")
TP = TopicPartition("t", 0)
REPLICAS = [(1,), (1, 2), (1, 2, 3), (1, 2, 3, 4)]


def cases(replicas: tuple[int, ...]) -> Iterator[tuple[int, State, frozenset[int], bool]]:
    """A broker that is gone, a state of the partition, which brokers of other replicas are online, and whether unclean is allowed."""
    isrs = [isr for count in range(1, len(replicas) + 1) for isr in permutations(replicas, count)]
    states = [State(leader, isr) for isr in isrs for leader in (*isr, None)]
    for broker in replicas:
        rest = [other for other in replicas if other != broker]
        online = [frozenset(some) for count in range(len(rest) + 1) for some in combinations(rest, count)]
        for state, others, unclean in product(states, online, (False, True)):
            yield broker, state, others, unclean


def controller(replicas: tuple[int, ...], online: frozenset[int], leaving: frozenset[int] = frozenset()) -> ControllerContext:
    made = ControllerContext(1, 0, brokers={b: BrokerInfo(b, (), None, 1) for b in online | leaving}, shutting_down=set(leaving))
    made.set_assignment(TP, ReplicaAssignment(replicas))
    return made


def stored(now: State) -> LeaderAndIsr:
    return LeaderAndIsr(NO_LEADER if now.leader is None else now.leader, 4, now.isr)


def seen(state: LeaderAndIsr, context: ControllerContext) -> State:
    return State(state.leader if context.is_online(state.leader, TP) else None, state.isr)


def died(broker: int, state: LeaderAndIsr, context: ControllerContext, *, unclean: bool, isr_first: bool = False) -> LeaderAndIsr:
    """As a controller in office does it, or `isr_first` one that takes the office up."""

    def leave(state: LeaderAndIsr) -> LeaderAndIsr:
        return without_replica(state, broker) or state

    state = leave(state) if isr_first else state
    if not context.is_online(state.leader, TP):
        election = elect(context, TP, state, Strategy.OFFLINE, unclean=unclean)
        state = election.state if election else state
    return leave(state)


@pytest.mark.parametrize("replicas", REPLICAS)
def test_a_death_is_decided_as_the_controller_does(replicas: tuple[int, ...]) -> None:
    for (broker, now, others, unclean), isr_first in product(cases(replicas), (False, True)):
        context = controller(replicas, others)
        expected = seen(died(broker, stored(now), context, unclean=unclean, isr_first=isr_first), context)
        found = after_death(broker, now, replicas, others | {broker}, unclean=unclean)
        assert (found.leader, set(found.isr)) == (expected.leader, set(expected.isr)), (broker, now, others, unclean, isr_first)


@pytest.mark.parametrize("replicas", REPLICAS)
def test_a_shutdown_is_decided_as_the_controller_does(replicas: tuple[int, ...]) -> None:
    for broker, now, others, unclean in cases(replicas):
        leaving = controller(replicas, others, frozenset({broker}))
        state: LeaderAndIsr | None = stored(now)
        if len(replicas) > 1:
            handed = elect(leaving, TP, stored(now), Strategy.CONTROLLED_SHUTDOWN) if now.leader == broker else None
            state = handed.state if handed else None if now.leader == broker else without_replica(stored(now), broker)
        gone = controller(replicas, others)
        expected = seen(died(broker, state or stored(now), gone, unclean=unclean), gone)
        found = after_shutdown(broker, now, replicas, others | {broker}, unclean=unclean)
        assert (found.leader, set(found.isr)) == (expected.leader, set(expected.isr)), (broker, now, others, unclean)


def test_an_orderly_stop_hands_over_what_a_death_takes() -> None:
    now = State(1, (1, 2, 3))
    assert after_death(1, now, (1, 3, 2), {1, 2, 3}, unclean=False) == State(3, (2, 3))
    assert after_shutdown(1, now, (1, 3, 2), {1, 2, 3}, unclean=False) == State(3, (2, 3))


def test_the_last_in_sync_stays_in_the_isr_and_nobody_leads() -> None:
    assert after_death(1, State(1, (1,)), (1, 2), {1, 2}, unclean=False) == State(None, (1,))
    assert after_death(1, State(1, (1,)), (1, 2), {1, 2}, unclean=True) == State(2, (2,))
