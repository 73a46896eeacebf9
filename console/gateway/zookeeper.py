"""What ZooKeeper says of a cluster, read only: controller and epoch, registered brokers and who of them counts as gone, topics,
assignments, partition states and what is to be deleted.

One task owns the watches: a watch only puts its path into a queue, and the path is then read again with a new watch. So work is
proportional to what changed, and a burst of changes to one znode is one read. Paths are read in the order they changed; partitions
that follow each other, of which a dead broker changes thousands, are read many at once.

Nothing here is believed to be true because nobody said otherwise. Every second ZooKeeper is asked something: its answer proves that all
changes before it were told, so what was read is true as of then, or as of the oldest change that still waits. Where no answer comes, or a
change waits too long, the session is given up and everything read anew. Every half minute the znodes themselves are looked at.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable, Mapping
from typing import Protocol

from broker_core.contract.stored import Assignment, Registration, Topic
from broker_core.coordination.layout import DELETE_TOPICS, SUSPICIONS
from broker_core.coordination.store import ConnectionLoss, Malformed, NoNode, SessionExpired, SessionState, Store, StoreError, WatchEvent
from broker_core.coordination.suspicions import Suspicion, gone_by, suspicions
from broker_core.coordination.znode_data import (
    decode_broker,
    decode_config,
    decode_controller,
    decode_partition_state,
    decode_topic,
    topic_id_text,
)
from broker_core.coordination.zookeeper import ZooKeeperStore
from broker_core.model import BrokerInfo, TopicPartition
from console.clock import now_ms
from console.gateway.watched import Watched

log = logging.getLogger(__name__)
CONNECT_TIMEOUT_MS = 10_000.0
SESSION_TIMEOUT_MS = 6_000.0
RETRY_S = 1.0
PULSE_S = 1.0
ANSWER_S = 15.0
STUCK_MS = 60_000
CHECK_S = 30.0
EXPIRED = "expired"
"""Beside paths in the queue, which begin with a slash."""
SMALL_NUMBER = re.compile("[0-9]{1,9}")
STATE_PATH = re.compile(r"/brokers/topics/([^/]+)/partitions/(\d+)/state")
TOPIC_PATH = re.compile(r"/brokers/topics/([^/]+)")
CONFIG_PATH = re.compile(r"/config/topics/([^/]+)")


def open_store(hosts: str) -> Store:
    """A client of the ZooKeeper at `host:port,…`; `ZooKeeperView.run` connects it."""
    return ZooKeeperStore(hosts, SESSION_TIMEOUT_MS)


class Sink(Protocol):
    """Takes what was read; `ClusterState` behind the owner's lock-free loop."""

    def controller(self, broker: int | None, epoch: int | None) -> None: ...

    def brokers(self, brokers: Mapping[int, Registration]) -> None: ...

    def topic(self, name: str, topic: Topic) -> None: ...

    def partition(self, topic: str, partition: int, leader: int, leader_epoch: int, isr: list[int]) -> None: ...

    def topic_gone(self, name: str) -> None: ...

    def deleting(self, names: set[str]) -> None:
        """All topics that are to be deleted now."""
        ...

    def store(self, answers: bool) -> None:
        """Whether ZooKeeper answers now."""
        ...

    def store_true(self, at_ms: int) -> None:
        """All that was told was so at that moment (ms since 1970)."""
        ...

    def mended(self, paths: list[str]) -> None:
        """These znodes had changed and no watch had told; they are read again now."""
        ...

    def loaded(self) -> None:
        """Everything was read once in this session."""
        ...


class ZooKeeperView:
    def __init__(self, store: Store, sink: Sink, defaults: Callable[[], Mapping[str, str]]) -> None:
        """`defaults` gives the brokers' own min.insync.replicas and unclean.leader.election.enable for topics without overrides."""
        self._store, self._sink, self._defaults = store, sink, defaults
        self._watched = Watched(now_ms)
        self._changed = asyncio.Event()
        self._topics: dict[str, tuple[str | None, dict[int, Assignment]]] = {}
        """Topic id and partitions by name."""
        self._overrides: dict[str, dict[str, str]] = {}
        self._controller: int | None = None
        self._registered: dict[int, BrokerInfo] = {}
        self._suspicions: list[Suspicion] = []
        self._loop = asyncio.get_running_loop()
        store.add_listener(self._session)

    async def run(self) -> None:
        """Reads everything, then follows; starts over with each new session."""
        while True:
            try:
                await self._store.connect(CONNECT_TIMEOUT_MS)
                await self._read_all()
                self._sink.loaded()
                async with asyncio.TaskGroup() as tasks:
                    for work in (self._follow, self._run_pulse, self._run_checks):
                        tasks.create_task(work())
            except* (SessionExpired, ConnectionLoss) as lost:
                log.warning("ZooKeeper is lost: %s", lost.exceptions[0])
                await asyncio.sleep(RETRY_S)

    async def _run_pulse(self) -> None:
        while True:
            await self.pulse()
            await asyncio.sleep(PULSE_S)

    async def pulse(self) -> None:
        """Tells as of when everything read is true; `SessionExpired` where that cannot be known any more."""
        true_ms = self._watched.true_ms()
        try:
            async with asyncio.timeout(ANSWER_S):
                await self._store.exists("/brokers/ids")
        except TimeoutError:
            await self._store.close()
            raise SessionExpired(f"ZooKeeper did not answer for {ANSWER_S:.0f} s") from None
        if now_ms() - true_ms > STUCK_MS:
            await self._store.close()
            raise SessionExpired(f"a change waits for more than {STUCK_MS // 1000} s")
        self._sink.store_true(min(true_ms, self._watched.true_ms()))

    async def _run_checks(self) -> None:
        while True:
            await asyncio.sleep(CHECK_S)
            await self.check()

    async def check(self) -> None:
        """Has read again, and tells, what differs from the znodes themselves."""
        differing = await self._watched.differing(self._store)
        if differing:
            log.warning("%d znodes had changed untold: %s", len(differing), ", ".join(differing[:5]))
            for path in differing:
                self._queue(path)
            self._sink.mended(differing)

    def refresh_defaults(self) -> None:
        """The brokers' defaults may have changed: topics without overrides say so."""
        for name in self._topics:
            self._tell_topic(name)

    def _session(self, state: SessionState) -> None:
        self._sink.store(state is SessionState.CONNECTED)
        if state is SessionState.EXPIRED:
            self._queue(EXPIRED)

    def _watch(self, _event: WatchEvent, path: str) -> None:
        self._queue(path)

    def _queue(self, path: str) -> None:
        self._watched.queue(path)
        self._changed.set()

    async def _follow(self) -> None:
        while True:
            await self._changed.wait()
            self._changed.clear()
            while not self._watched.is_idle():
                if self._watched.waits(EXPIRED):
                    raise SessionExpired("the session ended")
                await asyncio.gather(*map(self._read, self._watched.begin(STATE_PATH.fullmatch)))
                self._watched.done()

    async def _read_all(self) -> None:
        self._watched.clear()
        self._registered = {}
        await self._read_controller()
        self._suspicions = suspicions(await self._children(SUSPICIONS))
        await self._read_brokers()
        await self._read_topics(again=True)
        await self._read_deletions()

    async def _read(self, path: str) -> None:
        if path in ("/controller", "/controller_epoch"):
            await self._read_controller()
        elif path == "/brokers/ids":
            await self._read_brokers()
        elif path == SUSPICIONS:
            await self._read_suspicions()
        elif path == DELETE_TOPICS:
            await self._read_deletions()
        elif path == "/brokers/topics":
            await self._read_topics(again=False)
        elif match := STATE_PATH.fullmatch(path):
            await self._read_state(match[1], int(match[2]))
        elif match := TOPIC_PATH.fullmatch(path):
            await self._read_topic(match[1])
        elif match := CONFIG_PATH.fullmatch(path):
            await self._read_config(match[1])

    async def _read_if_there(self, path: str) -> tuple[bytes, int, int] | None:
        """(data, version, czxid), watched whether it exists or not."""
        while True:
            try:
                data, stat = await self._store.get(path, self._watch)
                self._watched.saw(path, stat.mzxid)
                return data, stat.version, stat.czxid
            except NoNode:
                if await self._store.exists(path, self._watch) is None:
                    self._watched.saw(path, None)
                    return None

    async def _children(self, path: str) -> list[str]:
        """Watched whether the znode exists or not; one that is made between the two questions is asked for again."""
        while True:
            try:
                names = await self._store.children(path, self._watch)
            except NoNode:
                if await self._store.exists(path, self._watch) is not None:
                    continue
                names = []
            self._watched.saw_children(path, names)
            return names

    async def _read_controller(self) -> None:
        found = await self._read_if_there("/controller")
        counted = await self._read_if_there("/controller_epoch")
        try:
            broker, epoch = decode_controller(found[0]) if found else None, int(counted[0]) if counted else None
        except (StoreError, ValueError) as error:
            log.warning("the controller is not understood: %s", error)
            broker, epoch = None, None
        before, self._controller = self._gone(), broker
        self._tell_gone(before)
        self._sink.controller(broker, epoch)

    async def _read_brokers(self) -> None:
        found: dict[int, BrokerInfo] = {}
        for name in await self._children("/brokers/ids"):
            try:
                data, stat = await self._store.get(f"/brokers/ids/{name}")
                found[int(name)] = decode_broker(int(name), data, stat.czxid)
            except NoNode:
                continue
            except (Malformed, ValueError) as error:
                log.warning("broker %s is not understood: %s", name, error)
        self._registered = found
        self._tell_brokers()

    async def _read_suspicions(self) -> None:
        before = self._gone()
        self._suspicions = suspicions(await self._children(SUSPICIONS))
        self._tell_gone(before)

    def _gone(self) -> dict[int, tuple[int, ...]]:
        return gone_by(self._registered, self._suspicions, self._controller)

    def _tell_gone(self, before: dict[int, tuple[int, ...]]) -> None:
        if self._gone() != before:
            self._tell_brokers()

    def _tell_brokers(self) -> None:
        gone = self._gone()
        found = {}
        for broker_id, info in self._registered.items():
            first = info.endpoints[0]
            found[broker_id] = Registration(first.host, first.port, info.rack, info.epoch, gone.get(broker_id, ()))
        self._sink.brokers(found)

    async def _read_topics(self, *, again: bool) -> None:
        names = set(await self._children("/brokers/topics"))
        for gone in sorted(self._topics.keys() - names):
            del self._topics[gone]
            self._overrides.pop(gone, None)
            self._watched.forget(f"/brokers/topics/{gone}", f"/config/topics/{gone}")
            self._sink.topic_gone(gone)
        for name in sorted(names if again else names - self._topics.keys()):
            await self._read_config(name, tell=False)
            await self._read_topic(name, states_too=again)

    async def _read_deletions(self) -> None:
        self._sink.deleting(set(await self._children(DELETE_TOPICS)))

    async def _read_topic(self, name: str, *, states_too: bool = False) -> None:
        found = await self._read_if_there(f"/brokers/topics/{name}")
        if found is None:
            return
        try:
            assignment = decode_topic(name, found[0])
        except StoreError as error:
            log.warning("topic %s is not understood: %s", name, error)
            return
        known = self._topics[name][1] if name in self._topics and not states_too else {}
        partitions = {
            p: Assignment(tuple(r), tuple(assignment.adding.get(p, ())), tuple(assignment.removing.get(p, ())))
            for p, r in assignment.partitions.items()
        }
        self._topics[name] = (topic_id_text(assignment.topic_id) if assignment.topic_id else None, partitions)
        self._tell_topic(name)
        await asyncio.gather(*(self._read_state(name, p) for p in sorted(partitions.keys() - known.keys())))

    def _tell_topic(self, name: str) -> None:
        settings = {**self._defaults(), **self._overrides.get(name, {})}
        least = settings.get("min.insync.replicas", "")
        unclean = settings.get("unclean.leader.election.enable")
        topic_id, partitions = self._topics[name]
        topic = Topic(
            topic_id,
            internal=name.startswith("__"),
            min_insync_replicas=int(least) if SMALL_NUMBER.fullmatch(least) else None,
            unclean=None if unclean is None else unclean == "true",
            partitions=partitions,
            settings=self._overrides.get(name),
        )
        self._sink.topic(name, topic)

    async def _read_state(self, topic: str, partition: int) -> None:
        found = await self._read_if_there(f"/brokers/topics/{topic}/partitions/{partition}/state")
        if found is None:
            return
        try:
            state, _ = decode_partition_state(TopicPartition(topic, partition), found[0], found[1])
        except StoreError as error:
            log.warning("%s-%s is not understood: %s", topic, partition, error)
            return
        self._sink.partition(topic, partition, state.leader, state.leader_epoch, list(state.isr))

    async def _read_config(self, name: str, *, tell: bool = True) -> None:
        found = await self._read_if_there(f"/config/topics/{name}")
        try:
            self._overrides[name] = dict(decode_config(found[0])) if found else {}
        except StoreError as error:
            log.warning("the settings of topic %s are not understood: %s", name, error)
            self._overrides.setdefault(name, {})
        if tell and name in self._topics:
            self._tell_topic(name)
