"""The owner of one cluster's live state: its tasks, and nothing they decide (that is `ClusterState`)."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence

from msgspec import convert

from broker_core.contract.feed import Answer
from broker_core.contract.live import Point
from broker_core.contract.record_times import Asked, RecordTime
from broker_core.contract.stored import Registration, Topic
from console.clock import now_ms
from console.gateway.connection import Connection
from console.gateway.errors import GatewayError
from console.gateway.kafka_cluster import KafkaCluster
from console.live.events.happened import Happened
from console.live.merging.state import ClusterState
from console.live.merging.summaries import broker_value, cluster_value
from console.live.owner.cancelling import end_all
from console.live.owner.publisher import Publisher
from console.live.sampling.samples import Record, samples
from console.rules.settings.model import HIDDEN, Owner

log = logging.getLogger(__name__)
FEED_RETRY_S = 0.5
FEED_RETRY_MAX_S = 3.0
TICK_S = 1.0
PROCESSES_S = 1.0
POINT_S = 10.0
DEFAULTS_S = 30.0
ASKED_MOST = 100
"""Brokers whose settings are asked for."""
DEFAULT_KEYS = ("min.insync.replicas", "unclean.leader.election.enable")
GC_THRESHOLD = (100_000, 20, 100)
"""Values are trees that replace each other: with Python's own threshold a change of 10 000 partitions is mostly collections."""
TIMES_S = 3.0
TIMES_LIMIT = 100
"""Rows whose record's time is asked for in one round."""
AskTimes = Callable[[str, int, Sequence[Asked]], Awaitable[Mapping[Asked, RecordTime]]]
Feed = Callable[[str, int], AsyncIterator[Answer]]


class LiveOwner:
    """Takes facts from feeds, ZooKeeper and the local processes; pokes the publisher. All on one event loop."""

    def __init__(self, cluster_id: str, publisher: Publisher, state: ClusterState, feed: Feed | None = None) -> None:
        """`feed` opens a broker's state feed; None of a cluster that is asked instead."""
        self.cluster_id = cluster_id
        self.state = state
        self.publisher = publisher
        self._feed = feed
        self._feeds: dict[int, tuple[tuple[str, int, int | None], asyncio.Task[None]]] = {}
        self.broker_defaults: dict[str, str] = {}
        self.is_loaded = asyncio.Event()
        self._brokers_changed = asyncio.Event()

    # --- what ZooKeeper's view tells

    def controller(self, broker: int | None, epoch: int | None) -> None:
        self.state.set_controller(broker, epoch, now_ms())
        self.poke()

    def brokers(self, brokers: Mapping[int, Registration]) -> None:
        self.state.set_brokers(brokers, now_ms())
        self._follow_feeds(brokers)
        self._brokers_changed.set()
        self.poke()

    def topic(self, name: str, topic: Topic) -> None:
        self.state.set_topic(name, topic, now_ms())
        self.poke()

    def deleting(self, names: set[str]) -> None:
        self.state.set_deleting(names, now_ms())
        self.poke()

    def topic_gone(self, name: str) -> None:
        self.state.drop_topic(name, now_ms())
        self.poke()

    def partition(self, topic: str, partition: int, leader: int, leader_epoch: int, isr: list[int]) -> None:
        self.state.set_partition(topic, partition, leader, leader_epoch, isr)
        self.poke()

    def store_true(self, at_ms: int) -> None:
        self.state.store_was_true(at_ms)

    def mended(self, paths: list[str]) -> None:
        self.state.store_mended(paths, now_ms())
        self.poke()

    def store(self, answers: bool) -> None:
        self.state.set_store(answers, now_ms())
        self.poke()

    def loaded(self) -> None:
        self.is_loaded.set()
        self.poke()

    def poke(self) -> None:
        if self.is_loaded.is_set():
            self.publisher.poke()

    # --- feeds

    def _follow_feeds(self, brokers: Mapping[int, Registration]) -> None:
        """One task for each registered broker; a restarted broker (another epoch) gets a new connection at once."""
        if self._feed is None:
            return
        for broker_id in self._feeds.keys() - brokers.keys():
            self._feeds.pop(broker_id)[1].cancel()
        for broker_id, broker in brokers.items():
            address = (broker.host, broker.port, broker.epoch)
            known = self._feeds.get(broker_id)
            if known and known[0] == address:
                continue
            if known:
                known[1].cancel()
            task = asyncio.create_task(self._read_feed(self._feed, broker_id, broker.host, broker.port), name=f"feed-{broker_id}")
            self._feeds[broker_id] = (address, task)

    async def _read_feed(self, feed: Feed, broker_id: int, host: str, port: int) -> None:
        wait_s = FEED_RETRY_S
        while True:
            try:
                async for batch in feed(host, port):
                    self.state.apply_batch(batch, now_ms())
                    self.poke()
                    wait_s = FEED_RETRY_S
            except (OSError, TimeoutError) as error:
                log.info("feed of broker %d: %s", broker_id, error)
            except Exception:
                log.exception("feed of broker %d failed", broker_id)
            self.state.feed_cut(broker_id, now_ms())
            self.poke()
            await asyncio.sleep(wait_s)
            wait_s = min(wait_s * 2, FEED_RETRY_MAX_S)

    # --- time

    async def run_ticks(self) -> None:
        while True:
            await asyncio.sleep(TICK_S)
            self.state.tick(now_ms())
            self.poke()
            if self.is_loaded.is_set():
                await self.publisher.beat()

    async def run_processes(self, processes: Callable[[], Mapping[int, str]]) -> None:
        """Every second, and when a broker came or went: its process may have, too."""
        while True:
            self._brokers_changed.clear()
            self.state.set_processes(await asyncio.to_thread(processes))
            self.poke()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._brokers_changed.wait(), PROCESSES_S)

    async def run_record_times(self, ask: AskTimes) -> None:
        """The times of the records that groups are at: lag in time rests on them."""
        while True:
            await asyncio.sleep(TIMES_S)
            for address, rows in self.state.untimed(TIMES_LIMIT).items():
                try:
                    found = await ask(*address, [Asked(*tp, offset) for _, tp, offset in rows])
                except (OSError, TimeoutError) as error:
                    log.info("the times of records at %s:%d: %s", *address, error)
                    continue
                for group, tp, offset in rows:
                    if known := found.get(Asked(*tp, offset)):
                        self.state.groups.take_time(group, tp, known)
            self.poke()

    async def run_points(self) -> None:
        """The overview's plot: a point every 10 s."""
        while True:
            await asyncio.sleep(POINT_S)
            await self.publisher.add_point(convert(cluster_value(self.state, now_ms()), Point, from_attributes=True))

    async def run_defaults(self, connection: Connection, changed: Callable[[], None]) -> None:
        """The brokers' own defaults for topics, which ZooKeeper does not have."""
        while True:
            try:
                found = await asyncio.to_thread(broker_defaults, connection, self.state.alive())
            except GatewayError as error:
                log.info("the brokers' defaults are not known: %s", error)
                found = {}
            if found and found != self.broker_defaults:
                self.broker_defaults = found
                changed()
            self.state.broker_settings |= await asyncio.to_thread(dynamic_settings, connection, self.state.alive())
            await asyncio.sleep(DEFAULTS_S if self.broker_defaults else 2.0)

    def tell(self, told: list[Happened]) -> None:
        """Events that others have found."""
        self.state.tell(told)
        self.poke()

    def take_samples(self) -> list[Record]:
        rows = (row for group in self.state.groups.rows.values() for row in group.values())
        at_ms = now_ms()
        brokers = (broker_value(self.state, broker, at_ms) for broker in sorted(self.state.known_brokers()))
        return list(samples(self.cluster_id, self.state.values.values(), rows, brokers, at_ms))

    async def close(self) -> None:
        await end_all(task for _, task in self._feeds.values())
        await self.publisher.close()


def broker_defaults(connection: Connection, alive: set[int]) -> dict[str, str]:
    if not alive:
        return {}
    rows = KafkaCluster(connection).broker_configs(min(alive))
    return {row["name"]: row["value"] for row in rows if row["name"] in DEFAULT_KEYS and row["value"] is not None}


def dynamic_settings(connection: Connection, alive: set[int]) -> dict[int, dict[str, str]]:
    """What is set for each broker, or for all, while they run, without secrets; of those that answer."""
    kafka, found = KafkaCluster(connection), {}
    for broker in sorted(alive)[:ASKED_MOST]:
        try:
            told = kafka.settings(Owner("broker", str(broker)))
        except GatewayError as error:
            log.info("the settings of broker %d are not known: %s", broker, error)
            continue
        own = (one for one in told if one.set_for in ("this broker", "all brokers"))
        found[broker] = {one.name: HIDDEN if one.sensitive else one.value or "" for one in own}
    return found
