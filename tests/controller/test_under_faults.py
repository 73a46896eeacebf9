"""Operators and faults at random, then peace: the controller must bring everything to its end.

Each seed runs topics being created, grown, moved, cancelled and deleted while brokers are killed, paused, cut off and lose
sessions or replies of the store. Afterwards all faults are healed, and the store, the metadata of all brokers and their
replicas have to agree: nothing is left half done.
"""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from msgspec.structs import replace

from broker_core.coordination import layout
from broker_core.coordination.store import NoNode, StoreError
from broker_core.coordination.znode_data import decode_partition_state, decode_topic, encode_topic
from broker_core.errors import KafkaError
from broker_core.model import LeaderAndIsr, TopicPartition
from tests.support.broker_cluster import BrokerCluster
from tests.support.controller_world import topic_data

pytestmark = pytest.mark.spec("B11", "B12", "B13", "B14")

STEPS = 30
TOPICS = ("a", "b", "c")
PEACE_MS = 180_000


class Chaos:
    def __init__(self, cluster: BrokerCluster, seed: int) -> None:
        self.cluster = cluster
        self.world = cluster.world
        self.chance = random.Random(seed)
        self.done: list[str] = []
        self.steps: list[Callable[[], object]] = [
            self.create,
            self.grow,
            self.move,
            self.move,
            self.cancel,
            self.elect,
            self.delete,
            self.kill,
            self.start,
            self.start,
            self.pause,
            self.resume,
            self.isolate,
            self.rejoin,
            self.expire,
            self.lose_reply,
        ]

    def run(self) -> None:
        for _ in range(STEPS):
            step = self.chance.choice(self.steps)
            self.done.append(step.__name__)
            step()
            self.world.run_for(self.chance.choice((1, 20, 300, 3_000, 8_000)))

    def heal(self) -> None:
        for broker_id in self.cluster.ids:
            name = f"b{broker_id}"
            self.world.rejoin(name)
            if self.world.is_paused(name):
                self.world.resume(name)
            if not self.world.is_up(name):
                self.world.start(name)

    # What operators do. Calls go to whichever broker holds the office; nobody waits for the answer.

    def create(self) -> None:
        self._admin("create", lambda admin, topic: admin.create(topic, self.chance.sample(self.cluster.ids, 3), 3))

    def grow(self) -> None:
        self._admin("grow", lambda admin, topic: admin.grow(topic, self.chance.sample(self.cluster.ids, 3)))

    def delete(self) -> None:
        self._admin("delete", lambda admin, topic: admin.delete(topic))

    def move(self) -> None:
        tp = TopicPartition(self.chance.choice(TOPICS), self.chance.randrange(3))
        target = tuple(self.chance.sample(self.cluster.ids, self.chance.choice((2, 3))))
        self._call(lambda controller: controller.alter_reassignments({tp: target}))

    def cancel(self) -> None:
        tp = TopicPartition(self.chance.choice(TOPICS), self.chance.randrange(3))
        self._call(lambda controller: controller.alter_reassignments({tp: None}))

    def elect(self) -> None:
        self._call(lambda controller: controller.elect_leaders(None, 0))

    def _call(self, work: Callable[..., object]) -> None:
        for broker_id, broker in list(self.cluster.brokers.items()):
            if self.world.is_up(f"b{broker_id}") and broker.services.controller.is_active:
                controller = broker.services.controller

                async def ask(_node: object, controller: object = controller) -> None:
                    try:
                        await work(controller)  # type: ignore[misc]
                    except KafkaError as error:
                        self.done.append(error.code.name)

                self.world.spawn(f"b{broker_id}", ask)
                return

    def _admin(self, name: str, change: Callable[[Admin, str], object]) -> None:
        topic = self.chance.choice(TOPICS)
        admin = Admin(self.cluster)
        try:
            change(admin, topic)
        except NoNode:
            self.done.append(f"no {name}")

    # Faults.

    def _victim(self) -> str | None:
        """At most one broker is down, so topics of three replicas keep two."""
        if any(not self._healthy(f"b{broker_id}") for broker_id in self.cluster.ids):
            return None
        return f"b{self.chance.choice(self.cluster.ids)}"

    def _healthy(self, name: str) -> bool:
        started = self.world.is_up(name) and int(name[1:]) in self.cluster.brokers
        return started and not self.world.is_paused(name) and name not in self.isolated

    isolated: frozenset[str] = frozenset()

    def kill(self) -> None:
        victim = self._victim()
        if victim is not None:
            self.world.kill(victim)
            self.cluster.brokers.pop(int(victim[1:]), None)

    def start(self) -> None:
        for broker_id in self.cluster.ids:
            if not self.world.is_up(f"b{broker_id}"):
                self.world.start(f"b{broker_id}")

    def pause(self) -> None:
        victim = self._victim()
        if victim is not None:
            self.world.pause(victim)

    def resume(self) -> None:
        for broker_id in self.cluster.ids:
            if self.world.is_paused(f"b{broker_id}"):
                self.world.resume(f"b{broker_id}")

    def isolate(self) -> None:
        victim = self._victim()
        if victim is not None:
            self.world.isolate(victim)
            self.isolated = frozenset({victim})

    def rejoin(self) -> None:
        for name in sorted(self.isolated):
            self.world.rejoin(name)
        self.isolated = frozenset()

    def expire(self) -> None:
        name = f"b{self.chance.choice(self.cluster.ids)}"
        if self._healthy(name):
            self.world.expire_session(name)

    def lose_reply(self) -> None:
        name = f"b{self.chance.choice(self.cluster.ids)}"
        if self._healthy(name):
            self.world.lose_store_reply(name, self.chance.choice(("multi", "get", "children", None)))


class Admin:
    """Writes to the store as an administrator's broker does, by a session of its own."""

    def __init__(self, cluster: BrokerCluster) -> None:
        self.cluster = cluster

    def create(self, topic: str, replicas: list[int], partitions: int) -> None:
        rows = [replicas[turn % 3 :] + replicas[: turn % 3] for turn in range(partitions)]
        self._write(topic, topic_data(rows, self.cluster.world.scheduler.now_us), new=True)

    def grow(self, topic: str, replicas: list[int]) -> None:
        assignment = decode_topic(topic, self.cluster.world.ensemble.tree.get(layout.topic_path(topic)).data)
        wider = {**assignment.partitions, len(assignment.partitions): tuple(replicas)}
        self._write(topic, encode_topic(replace(assignment, partitions=wider)), new=False)

    def delete(self, topic: str) -> None:
        self._store(lambda store: store.create(layout.deletion_path(topic), b""))

    def _write(self, topic: str, data: bytes, *, new: bool) -> None:
        path = layout.topic_path(topic)
        self._store(lambda store: store.create(path, data) if new else store.set(path, data))

    def _store(self, work: Callable[..., object]) -> None:
        async def one(node: object) -> None:
            store = node.store  # type: ignore[attr-defined]
            if not store.session_id:
                await store.connect(10_000)
            try:
                await work(store)  # type: ignore[misc]
            except StoreError:
                return

        self.cluster.world.run("client", one)


class Verdict:
    """Whether store, metadata and replicas agree; `why` is the first thing that is not right."""

    def __init__(self, cluster: BrokerCluster) -> None:
        self.cluster = cluster
        self.tree = cluster.world.ensemble.tree
        self.why = ""

    def agreed(self) -> bool:
        self.why = self._first_problem()
        return not self.why

    def _first_problem(self) -> str:
        active = [broker_id for broker_id, broker in self.cluster.brokers.items() if broker.services.controller.is_active]
        if len(self.cluster.brokers) < len(self.cluster.ids) or len(active) != 1:
            return f"controllers: {active}"
        if self.tree.children(layout.DELETE_TOPICS):
            return f"still to delete: {self.tree.children(layout.DELETE_TOPICS)}"
        for topic in self.tree.children(layout.TOPICS):
            assignment = decode_topic(topic, self.tree.get(layout.topic_path(topic)).data)
            if assignment.adding or assignment.removing:
                return f"{topic} is still being moved: {assignment}"
            for partition, replicas in assignment.partitions.items():
                problem = self._problem(TopicPartition(topic, partition), replicas)
                if problem:
                    return problem
        return ""

    def _problem(self, tp: TopicPartition, replicas: tuple[int, ...]) -> str:
        try:
            znode = self.tree.get(layout.state_path(tp))
        except NoNode:
            return f"{tp} never had a leader"
        state, _ = decode_partition_state(tp, znode.data, znode.version)
        if state.leader not in state.isr or set(state.isr) != set(replicas):
            return f"{tp}: {state} of replicas {replicas}"
        for broker_id, broker in self.cluster.brokers.items():
            known = broker.services.metadata.partition(tp)
            if known is None or (known.leader, known.leader_epoch, tuple(known.replicas)) != (state.leader, state.leader_epoch, replicas):
                return f"broker {broker_id} knows {tp} as {known}, it is {state}"
        return self._replica_problem(tp, state, replicas)

    def _replica_problem(self, tp: TopicPartition, state: LeaderAndIsr, replicas: tuple[int, ...]) -> str:
        for broker_id in replicas:
            hosted = self.cluster.brokers[broker_id].services.replicas.partitions.get(tp)
            if hosted is None or hosted.is_leader != (broker_id == state.leader):
                return f"broker {broker_id} is wrong about its replica of {tp}"
        return ""


@pytest.mark.parametrize("seed", range(4))
def test_everything_comes_to_its_end(seed: int) -> None:
    with BrokerCluster(brokers=4, seed=seed, **{"auto.leader.rebalance.enable": "false"}) as cluster:
        cluster.start_all()
        chaos = Chaos(cluster, seed)
        chaos.run()
        chaos.heal()
        verdict = Verdict(cluster)
        assert cluster.world.run_until(verdict.agreed, PEACE_MS), (verdict.why, chaos.done)
