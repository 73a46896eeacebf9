"""Whole brokers on simulated machines, and a client that speaks the protocol to them.

    with BrokerCluster(brokers=3) as cluster:
        cluster.start_all()
        cluster.ask(1, ApiKey.CREATE_TOPICS, 7, {...})

Broker N listens on machine `bN`, port 9092; `ask` runs on a machine of its own and decodes the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from broker_core.client.request import BrokerChannel
from broker_core.config import BrokerConfig
from broker_core.coordination.store import ConnectionLoss
from broker_core.errors import ErrorCode
from broker_core.model import TopicPartition
from broker_core.protocol.api import ApiKey
from broker_core.records.batch import Record, build_batch, iter_headers, read_records
from broker_core.replication.flaws import NO_FLAWS, Flaws
from broker_core.seams import Node
from broker_core.server.broker import Broker
from tests.simulation.kernel.world import World

PORT = 9092
START_AGAIN_MS = 2_000.0


class BrokerCluster:
    """`brokers` are the present lives; a failed start is kept in `failures`."""

    def __init__(self, *, brokers: int = 3, seed: int = 1, flaws: Flaws = NO_FLAWS, **settings: str) -> None:
        self.world = World(seed)
        self.flaws = flaws
        self.settings = {
            "log.dirs": "/data",
            "zookeeper.session.timeout.ms": "6000",
            "replica.lag.time.max.ms": "4000",
            "default.replication.factor": str(min(brokers, 3)),
            "offsets.topic.num.partitions": "3",
            "offsets.topic.replication.factor": str(min(brokers, 3)),
            "group.initial.rebalance.delay.ms": "100",
            "controlled.shutdown.retry.backoff.ms": "200",
            **settings,
        }
        self.ids = tuple(range(1, brokers + 1))
        self.brokers: dict[int, Broker] = {}
        self.failures: list[Exception] = []
        self.unusable: dict[int, dict[str, OSError]] = {}
        """Data folders that a broker cannot lock at its next start, and why."""
        self.world.add("client", start=True)
        for broker_id in self.ids:
            self.world.add(f"b{broker_id}", self._main(broker_id))

    def __enter__(self) -> BrokerCluster:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        problems = self.world.problems
        self.world.close()
        if kind is None:
            assert not problems, problems

    def _main(self, broker_id: int) -> Callable[[Node], Coroutine[Any, Any, None]]:
        async def main(node: Node) -> None:
            node.disk.make_dirs("/data")
            listeners = f"PLAINTEXT://b{broker_id}:{PORT}"
            config = BrokerConfig.load({"broker.id": str(broker_id), "listeners": listeners, **self.settings})
            unusable = self.unusable.get(broker_id, {})
            broker = Broker(node, config, flaws=self.flaws, unusable=unusable, on_failure=self.failures.append)
            try:
                await broker.start()
            except ConnectionLoss:
                self._end_and_start_again(f"b{broker_id}")
                return
            self.brokers[broker_id] = broker

        return main

    def _end_and_start_again(self, name: str) -> None:
        """A broker that finds no store to start on ends, and whoever watches over it starts it again (`highwater up` does so)."""

        def start() -> None:
            if self.world.machines[name].life is None:
                self.world.start(name)

        self.world.at(0, lambda: self.world.kill(name))
        self.world.at(START_AGAIN_MS, start)

    def start(self, broker_id: int) -> None:
        self.brokers.pop(broker_id, None)
        self.world.start(f"b{broker_id}")
        self.until(lambda: broker_id in self.brokers)

    def start_all(self) -> None:
        for broker_id in self.ids:
            self.start(broker_id)
        self.until(lambda: all(len(broker.services.metadata.live_brokers()) == len(self.ids) for broker in self.brokers.values()))

    def kill(self, broker_id: int) -> None:
        self.world.kill(f"b{broker_id}")
        self.brokers.pop(broker_id)

    def stop(self, broker_id: int) -> None:
        """A controlled shutdown, then the machine is off."""
        broker = self.brokers[broker_id]
        self.world.run(f"b{broker_id}", lambda node: broker.shutdown())
        self.kill(broker_id)

    def until(self, condition: Callable[[], bool], timeout_ms: float = 60_000) -> None:
        assert self.world.run_until(condition, timeout_ms), "it did not come to that"

    def controller(self) -> int:
        """The id of the active controller."""
        self.until(lambda: any(broker.services.controller.is_active for broker in self.brokers.values()))
        return next(broker_id for broker_id, broker in self.brokers.items() if broker.services.controller.is_active)

    def ask(self, broker_id: int, key: ApiKey, version: int, payload: dict[str, Any], timeout_ms: float = 40_000) -> Any:
        async def one(node: Node) -> Any:
            channel = BrokerChannel(node, f"b{broker_id}", PORT, "test")
            try:
                return await channel.request(key, version, payload, timeout_ms)
            finally:
                channel.close()

        return self.world.run("client", one)

    # What scenarios do most.

    def create(self, topic: str, partitions: int = 1, factor: int | None = None, configs: dict[str, str] | None = None) -> None:
        rows = [{"name": name, "value": value} for name, value in (configs or {}).items()]
        wanted = {
            "name": topic,
            "num_partitions": partitions,
            "replication_factor": factor or len(self.ids),
            "assignments": [],
            "configs": rows,
        }
        answer = self.ask(self.controller(), ApiKey.CREATE_TOPICS, 7, {"topics": [wanted], "timeout": 30_000})
        assert answer.topics[0].error_code == ErrorCode.NONE, answer
        self.until(lambda: all(self.leads(topic, partition) for partition in range(partitions)))

    def leads(self, topic: str, partition: int = 0) -> bool:
        """Whether the leader knows by now that it is."""
        leader = self.known_leader(topic, partition)
        hosted = self.brokers[leader].services.replicas.partitions.get(TopicPartition(topic, partition)) if leader > 0 else None
        return hosted is not None and hosted.is_leader

    def known_leader(self, topic: str, partition: int = 0) -> int:
        """Who leads, as the metadata of a live broker says; -1 for nobody that lives."""
        for broker in self.brokers.values():
            state = broker.services.metadata.partition(TopicPartition(topic, partition))
            if state is not None and state.leader in self.brokers:
                return state.leader
        return -1

    def leader(self, topic: str, partition: int = 0) -> int:
        """The same, once there is one."""
        self.until(lambda: self.known_leader(topic, partition) > 0)
        return self.known_leader(topic, partition)

    def isr(self, broker_id: int, topic: str, partition: int = 0) -> tuple[int, ...]:
        """The ISR in that broker's metadata; empty while it knows none."""
        state = self.brokers[broker_id].services.metadata.partition(TopicPartition(topic, partition))
        return () if state is None else state.isr

    def produce(self, topic: str, *values: str, partition: int = 0, acks: int = -1, version: int = 11) -> Any:
        """One batch to the leader, once it knows that it is; returns the partition's row of the answer."""
        self.until(lambda: self.leads(topic, partition))
        now_ms = self.world.scheduler.wall_ms()
        records = [Record(index, now_ms, None, value.encode(), ()) for index, value in enumerate(values)]
        data = [{"index": partition, "records": build_batch(records)}]
        payload = {"transactional_id": None, "acks": acks, "timeout": 10_000, "topic_data": [{"name": topic, "partition_data": data}]}
        answer = self.ask(self.leader(topic, partition), ApiKey.PRODUCE, version, payload)
        return answer.responses[0].partition_responses[0]

    def produce_until_acked(self, topic: str, *values: str) -> None:
        """As a client with retries does, while leaderships move."""
        for _ in range(20):
            if self.produce(topic, *values).error_code == ErrorCode.NONE:
                return
            self.world.run_for(500)
        raise AssertionError(f"{values} were not acknowledged")

    def consume(self, topic: str, partition: int = 0, offset: int = 0) -> list[str]:
        """Values of all committed records from `offset` on."""
        row = {"partition": partition, "fetch_offset": offset, "partition_max_bytes": 1 << 20}
        payload = {
            "replica_id": -1,
            "max_wait": 0,
            "min_bytes": 0,
            "max_bytes": 1 << 20,
            "isolation_level": 0,
            "session_id": 0,
            "session_epoch": -1,
            "topics": [{"topic": topic, "partitions": [row]}],
            "forgotten_topics_data": [],
            "rack_id": "",
        }
        answer = self.ask(self.leader(topic, partition), ApiKey.FETCH, 11, payload)
        got = answer.responses[0].partitions[0]
        assert got.error_code == ErrorCode.NONE, got
        data = bytes(got.records or b"")
        found = [record for position, header in iter_headers(data) for record in read_records(data, position, header)]
        return [(record.value or b"").decode() for record in found if record.offset >= offset]
