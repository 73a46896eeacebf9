"""Faults of several steps, each aimed at one rule of replication; all need a healthy cluster to begin with.

They only do to the world what the single faults do: cut, delay, kill, start. `busy` is how long they hold every broker.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine
from typing import Any

from broker_core.controller.leader_elections import ElectionType
from broker_core.errors import KafkaError
from broker_core.model import TopicPartition
from broker_core.seams import Node
from tests.simulation.kernel.life import STORE
from tests.support.broker_cluster import BrokerCluster

BOUNCE_MS = 6_000.0
BOUNCE_HEALS_MS = (400.0, 1_500.0)
VICTIM_STORE_LAG_MS = 400.0
FAILOVER_MS = 10_000.0
STORE_LAG_MS = 1_500.0
ANSWER_LAG_MS = 300.0
ALONE_MS = (100.0, 1_500.0)
"""Less than replica.lag.time.max.ms: its followers stay in the ISR."""
ALONE_BUSY_MS = 4_000.0
LOOK_EVERY_MS = 20.0
PATIENCE_MS = 5_000.0


def stored_state(cluster: BrokerCluster, tp: TopicPartition) -> tuple[int, tuple[int, ...]]:
    """(leader, ISR) as the coordination store has them; nobody of a partition that is not there yet."""
    znode = cluster.world.ensemble.tree.find(f"/brokers/topics/{tp.topic}/partitions/{tp.partition}/state")
    state = json.loads(znode.data) if znode is not None else {"leader": -1, "isr": []}
    return state["leader"], tuple(state["isr"])


def start_if_down(cluster: BrokerCluster, name: str) -> None:
    if not cluster.world.is_up(name):
        cluster.world.start(name)


def bounce(cluster: BrokerCluster, tp: TopicPartition) -> bool:
    """spec B11: a broker loses power and is back at once while it is told, in its former life, to lead.

    The order to lead waits at a cut; the controller hears late of the new life and repeats the order to it. That one's own
    way to the store is slow too, so the order may come before it has registered. False when there is no such broker.
    """
    world = cluster.world
    active = [broker_id for broker_id, broker in cluster.brokers.items() if broker.services.controller.is_active]
    leader, isr = stored_state(cluster, tp)
    victims = [broker_id for broker_id in isr if broker_id not in (leader, *active)]
    if len(active) != 1 or not victims:
        return False
    victim, controller = f"b{victims[0]}", f"b{active[0]}"
    world.cut(controller, victim)
    world.spawn(controller, _make_leader(cluster, active[0], tp, [victims[0], *(each for each in isr if each != victims[0])]))
    world.at(300, lambda: world.delay(controller, STORE, STORE_LAG_MS))
    world.at(300, lambda: world.lose_power(victim) and None)
    restart_ms, lag_ms = world.random.uniform(50, 200), world.random.uniform(0, VICTIM_STORE_LAG_MS)
    world.at(300, lambda: world.delay(victim, STORE, lag_ms))
    world.at(300 + restart_ms, lambda: start_if_down(cluster, victim))
    world.at(world.random.uniform(*BOUNCE_HEALS_MS), lambda: world.heal(controller, victim))
    world.at(BOUNCE_MS - 2_000, lambda: world.delay(controller, STORE, 0))
    world.at(BOUNCE_MS - 2_000, lambda: world.delay(victim, STORE, 0))
    return True


def _make_leader(
    cluster: BrokerCluster, controller: int, tp: TopicPartition, replicas: list[int]
) -> Callable[[Node], Coroutine[Any, Any, None]]:
    """The first of `replicas` becomes the preferred leader, and the leader."""
    active = cluster.brokers[controller].services.controller

    async def act(node: Node) -> None:
        try:
            await active.alter_reassignments({tp: replicas})
            await active.elect_leaders([tp], ElectionType.PREFERRED)
        except KafkaError:
            return

    return act


def failover_at_join(cluster: BrokerCluster, tp: TopicPartition) -> bool:
    """spec B4: the leader dies when its ISR takes in a follower that was left behind.

    Both followers bounce and stay cut off, one after the other, so that the first one lacks what was committed with the
    second; the leader bounces too and comes back with the high watermark of its last checkpoint. The first follower
    returns, and once the store names it in the ISR the leader's answers are held up and the leader bounces again.
    """
    world = cluster.world
    leader, isr = stored_state(cluster, tp)
    others = [f"b{broker_id}" for broker_id in isr if broker_id != leader]
    if leader < 0 or len(others) != 2:
        return False
    main, (first, second) = f"b{leader}", others
    for start_ms, name in ((0.0, first), (1_000.0, second)):
        world.at(start_ms, lambda name=name: world.cut(main, name))  # type: ignore[misc]
        _bounce_at(cluster, start_ms, name)
    _bounce_at(cluster, 1_500, main)
    world.at(1_700, lambda: world.delay(main, first, ANSWER_LAG_MS))
    world.at(1_700, lambda: world.heal(main, first))
    world.at(1_700, lambda: _kill_at_join(cluster, tp, leader, first, PATIENCE_MS))
    world.at(FAILOVER_MS - 500, lambda: world.delay(main, first, 0))
    for name in others:
        world.at(FAILOVER_MS - 500, lambda name=name: world.heal(main, name))  # type: ignore[misc]
    return True


def die_unfollowed(cluster: BrokerCluster, tp: TopicPartition) -> bool:
    """The leader takes writes that no follower gets, as they are cut off, and bounces: one of them leads, without these writes."""
    world = cluster.world
    leader, isr = stored_state(cluster, tp)
    if leader < 0 or len(isr) < 2:
        return False
    alone_ms = world.random.uniform(*ALONE_MS)
    _bounce_at(cluster, alone_ms, f"b{leader}")
    for follower in (each for each in isr if each != leader):
        world.cut(f"b{leader}", f"b{follower}")
        world.at(alone_ms, lambda follower=follower: world.heal(f"b{leader}", f"b{follower}"))  # type: ignore[misc]
    return True


def _bounce_at(cluster: BrokerCluster, after_ms: float, name: str) -> None:
    world = cluster.world
    world.at(after_ms, lambda: world.kill(name) if world.is_up(name) else None)
    world.at(after_ms + world.random.uniform(50, 150), lambda: start_if_down(cluster, name))


def _kill_at_join(cluster: BrokerCluster, tp: TopicPartition, leader: int, first: str, left_ms: float) -> None:
    """Looks at the store until the follower is in the ISR or patience ends."""
    world, name = cluster.world, f"b{leader}"
    found, isr = stored_state(cluster, tp)
    if left_ms <= 0:
        return
    if found == leader and int(first[1:]) in isr:
        world.cut(name, first, both_ways=False)
        _bounce_at(cluster, 0, name)
    else:
        world.at(LOOK_EVERY_MS, lambda: _kill_at_join(cluster, tp, leader, first, left_ms - LOOK_EVERY_MS))
