"""When a fault is over: what clients are told may be older than what ZooKeeper is about to do.

After a pause, sessions end seconds later, and a broker that was cut off still tells of ISRs as they were. A fault that began then would be
a second one beside the first: a disk that loses its pages under the last member of an ISR loses records, with Kafka as here.
"""

from __future__ import annotations

import json
import time

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient
from kazoo.client import KazooClient
from kazoo.exceptions import KazooException
from kazoo.handlers.threading import KazooTimeoutError

from broker_core.local.layout import BROKER_IDS
from tests.chaos.witness import LOOK_SECONDS

SESSION_SECONDS = 6.0
ANSWER_SECONDS, STORE_SECONDS = 10.0, 60.0


class Stillness:
    """`holds` once every partition is whole for clients and in the store, and no broker has registered anew for longer than a session."""

    def __init__(self, admin: AdminClient, zookeeper: str) -> None:
        self._admin = admin
        self._begun = False
        self._store = KazooClient(zookeeper)
        self._registered: dict[str, int] = {}
        self._since = time.monotonic()

    def close(self) -> None:
        self._store.stop()
        self._store.close()

    def holds(self) -> bool:
        time.sleep(LOOK_SECONDS)
        try:
            return self._is_settled() and self._is_whole_for_clients() and self._is_whole_in_store()
        except (KafkaException, KazooException, KazooTimeoutError):
            return False

    def _connect(self) -> None:
        """Once: later the client comes back by itself, and one that is started while it does may wait for itself without an end."""
        if not self._begun:
            self._begun = True
            self._store.start(STORE_SECONDS)
        if not self._store.connected:
            raise KazooTimeoutError("the store is away")

    def _is_settled(self) -> bool:
        self._connect()
        found = {broker: self._store.get(f"/brokers/ids/{broker}")[1].czxid for broker in self._store.get_children("/brokers/ids")}
        if found != self._registered:
            self._registered, self._since = found, time.monotonic()
        return len(found) == len(BROKER_IDS) and time.monotonic() - self._since > SESSION_SECONDS

    def _is_whole_for_clients(self) -> bool:
        found = self._admin.list_topics(timeout=ANSWER_SECONDS)
        partitions = [p for topic in found.topics.values() for p in topic.partitions.values()]
        return len(found.brokers) == len(BROKER_IDS) and all(p.leader > 0 and set(p.isrs) == set(p.replicas) for p in partitions)

    def _is_whole_in_store(self) -> bool:
        going = set(self._store.get_children("/admin/delete_topics"))
        for topic in set(self._store.get_children("/brokers/topics")) - going:
            replicas = json.loads(self._store.get(f"/brokers/topics/{topic}")[0])["partitions"]
            asked = {number: self._store.get_async(f"/brokers/topics/{topic}/partitions/{number}/state") for number in replicas}
            states = {number: json.loads(answer.get(timeout=ANSWER_SECONDS)[0]) for number, answer in asked.items()}
            if any(state["leader"] < 0 or set(state["isr"]) != set(replicas[number]) for number, state in states.items()):
                return False
        return True
