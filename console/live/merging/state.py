"""The cluster as `live` knows it: facts in, changed values and events out. Pure: no I/O, `now_ms` is an argument.

Whatever changed marks a key dirty; `take` recomputes the dirty ones only, so work is proportional to change. Keys are those of the
snapshot and the websocket: `cluster`, `broker/1`, `topic/orders`, `partition/orders/3`, `group/g`, `lag/g/orders/3`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from broker_core.contract import feed
from broker_core.contract.live import Feed
from broker_core.contract.stored import Registration, Topic
from console.live.events import happened as events
from console.live.events.bursts import Bursts
from console.live.events.changes import topic_changes
from console.live.events.happened import Happened
from console.live.events.told_by_brokers import ToldByBrokers
from console.live.merging import summaries
from console.live.merging.feed_freshness import FeedWatch
from console.live.merging.group_book import GroupBook
from console.live.merging.partition import Brokers
from console.live.merging.partition_book import PartitionBook
from console.live.merging.questions import Questions
from console.live.merging.rates import RateBook
from console.live.merging.unsafe_partitions import Troubled
from console.live.owner.predecessor import Predecessor
from console.rules.rhythm import Rhythm
from console.rules.words import counted
from console.snapshot import keys
from console.snapshot.freshness import STALE_MS, age
from console.snapshot.write import Value

STORE_AWAY_MS = 3_000
"""A connection that is back sooner is not worth a word."""
SETTLED_MS = 500
"""After a controller's death ZooKeeper tells of the next one before it tells of the death."""


class ClusterState:
    questions: Questions | None = None
    """What a cluster without state feeds is asked (`AskedState`)."""
    gone_why = "its registration in ZooKeeper ended"
    """With its session, or taken by the process that follows it."""

    def __init__(self, cluster_id: str, predecessor: Predecessor | None = None, rhythms: Mapping[str, Rhythm] | None = None) -> None:
        """`predecessor` is what an owner before knew of the replicas, `rhythms` what it had learnt of groups."""
        self.cluster_id = cluster_id
        self._recalled = predecessor or {}
        self.controller: tuple[int | None, int | None] = (None, None)
        self.registered: dict[int, Registration] | None = None
        self.topics: dict[str, Topic] = {}
        self.deleting: set[str] = set()
        self.partitions = PartitionBook(self.topics.get, self._partition_changed)
        self.values, self.counts = self.partitions.values, self.partitions.counts
        self.groups = GroupBook(self.values.get, rhythms or {}, self)
        self.troubled = Troubled()
        self.feeds = FeedWatch()
        self.folders: dict[int, feed.LogDir] = {}
        self._own_words = ToldByBrokers()
        self.rates = RateBook()
        self.said: dict[int, feed.Broker] = {}
        self.processes: dict[int, str] = {}
        self.broker_settings: dict[int, dict[str, str]] = {}
        """What is set for a broker while it runs, as it last told."""
        self.since_ms: dict[int, int] = {}
        self._dirty_topics: set[str] = set()
        self._dirty_brokers: set[int] = set()
        self._dirty_cluster = True
        self._gone_topics: set[str] = set()
        self._events: list[Happened] = []
        self._bursts = Bursts()
        self._last_controller: int | None = None
        self._controller_since: int | None = None
        self._store_silent_ms: int | None = None
        self._store_true_ms: int | None = None
        self._silent: set[int] = set()

    def _partition_changed(self, tp: tuple[str, int]) -> None:
        self.groups.partition_changed(tp)

    # --- what the brokers' feeds say

    def apply_batch(self, batch: feed.Answer, now_ms: int) -> None:
        broker = batch.broker.id
        self.feeds.heard(broker, now_ms)
        self._note_silence(now_ms)
        if batch.kind == "full":
            self.partitions.forget_claims(broker, {(row.topic, row.partition) for row in batch.partitions})
        for row in batch.partitions:
            self.partitions.claim(broker, row, batch.now_ms, now_ms)
        for gone in batch.removed:
            self.partitions.drop_claim(broker, (gone.topic, gone.partition))
        if batch.kind == "full":
            self.groups.keep_only(broker, {row.group for row in batch.groups})
        for group in batch.groups:
            self.groups.take(group, broker, now_ms)
        for name in batch.removed_groups:
            self.groups.drop(name, broker)
        self._events += self._own_words.take(broker, batch.events, now_ms)
        self._broker_said(broker, batch.broker, now_ms)

    def feed_cut(self, broker: int, now_ms: int) -> None:
        """The connection to a broker's feed broke, or could not be had."""
        self.feeds.cut(broker)
        self._note_silence(now_ms)
        self._dirty_brokers.add(broker)

    def _note_silence(self, now_ms: int) -> None:
        """Of what a broker leads nobody knows the state while it is silent."""
        silent = set(self.silent(now_ms))
        turned, self._silent = silent ^ self._silent, silent
        if turned:
            self.partitions.leaders_turned(turned)
            self.groups.coordinators_turned(turned)
            self._dirty_cluster = True

    def silent(self, now_ms: int) -> dict[int, int | None]:
        """Brokers that are registered and not heard now, for how many ms; None for who never was."""
        return self.feeds.silent(self.alive(), now_ms)

    def is_heard(self, broker: int) -> bool:
        """It is registered, and tells of itself."""
        return broker in self.alive() and broker not in self._silent

    def says_it_leads(self, broker: int, tp: tuple[str, int]) -> bool:
        facts = self.partitions.facts.get(tp)
        claim = facts.claims.get(broker) if facts else None
        return claim is not None and claim.row.role == "leader"

    def _broker_said(self, broker: int, said: feed.Broker, now_ms: int) -> None:
        turned = events.folder_events(self.said.get(broker), said, now_ms)
        self._events += turned
        self._dirty_topics |= self.deleting & self.topics.keys() if turned else set()
        self.said[broker] = said
        self.rates.add_broker(said, now_ms)
        if self.registered is None and said.controller_id is not None and (said.controller_epoch or 0) >= (self.controller[1] or 0):
            self.set_controller(said.controller_id, said.controller_epoch, now_ms)
        self._dirty_brokers.add(broker)

    # --- what the coordination store, or a foreign cluster's metadata, says

    def set_controller(self, broker: int | None, epoch: int | None, now_ms: int) -> None:
        if (broker, epoch) == self.controller:
            return
        if self.registered is None or self._last_controller is None:
            self._last_controller = broker
        elif broker is not None and self._controller_since is None:
            self._controller_since = now_ms
        self._dirty_brokers |= {b for b in (self.controller[0], broker) if b is not None}
        self.controller = (broker, epoch)
        self._dirty_cluster = True

    def _tell_controller(self, now_ms: int) -> None:
        """Only now it is known whether the one before died."""
        if self._controller_since is None or now_ms - self._controller_since < SETTLED_MS:
            return
        broker = self.controller[0]
        told = self._controller_event(self._last_controller, self._controller_since)
        self._events += [told] if told else []
        self._controller_since = None
        self._last_controller = self._last_controller if broker is None else broker

    def _controller_event(self, before: int | None, at_ms: int) -> Happened | None:
        return events.controller_event(before, *self.controller, self.alive(), at_ms)

    def set_brokers(self, brokers: Mapping[int, Registration], now_ms: int) -> None:
        """Those registered now, with those whose process counts as gone."""
        before, after = self.registered, dict(brokers)
        if before is not None:
            self._events += events.broker_events(before, after, now_ms, self.gone_why)
        were = self.alive() if before is not None else set()
        self.registered = after
        changed = self.alive() ^ were
        for broker in changed:
            self.since_ms[broker] = now_ms
        for broker in [b for b, known in after.items() if known.gone_by and b in changed]:
            self.processes.pop(broker, None)  # what was seen of its process before is true no more
        for broker, now in after.items():
            if before is None or broker not in before or now.epoch != before[broker].epoch:
                self.feeds.cut(broker)
        self._dirty_topics |= self.deleting
        self._dirty_brokers |= set(before or {}) | set(after)
        self.partitions.brokers_changed(changed, now_ms)
        self.groups.coordinators_turned(changed)
        self._note_silence(now_ms)
        self._dirty_cluster = True

    def set_topic(self, name: str, topic: Topic, now_ms: int) -> None:
        before = self.topics.get(name)
        if before is not None and None not in (before.topic_id, topic.topic_id) and before.topic_id != topic.topic_id:
            self.drop_topic(name, now_ms)
            before = None
        if before is None and self.registered is not None and (self.values or self._store_true_ms is not None):
            text = f"topic {name} was created with {counted(len(topic.partitions), 'partition')}."
            self._events.append(Happened("topic_created", "notice", text, now_ms, topic=name))
        self.topics[name] = topic
        if before and before.topic_id == topic.topic_id:
            self._events += topic_changes(name, before, topic, now_ms)
        for partition, assigned in topic.partitions.items():
            self.partitions.of((name, partition)).assigned = assigned
        self._dirty_topics.add(name)
        self._recall(name)

    def _recall(self, name: str) -> None:
        """Only for the same topic: one created anew under the name has no past."""
        topic_id, known = self._recalled.pop(name, (None, {}))
        if topic_id != self.topics[name].topic_id:
            return
        for partition, replicas in known.items():
            if facts := self.partitions.facts.get((name, partition)):
                facts.predecessor = replicas

    def set_partition(self, topic: str, partition: int, leader: int, leader_epoch: int, isr: list[int]) -> None:
        self.partitions.of((topic, partition)).set_store(leader, leader_epoch, isr)

    def drop_topic(self, name: str, now_ms: int) -> None:
        if self.topics.pop(name, None) is None:
            return
        self._events.append(Happened("topic_deleted", "warn", f"topic {name} was deleted.", now_ms, topic=name))
        self.partitions.drop_topic(name)
        self.rates.forget("topic", name)
        self._gone_topics.add(name)
        self._dirty_topics.discard(name)

    def set_deleting(self, names: set[str], now_ms: int) -> None:
        """The topics that are to be deleted, those whose deletion waits included."""
        changed = names ^ self.deleting
        begun = sorted((names - self.deleting) & self.topics.keys())
        self.deleting = set(names)
        if self.values:
            for name in begun:
                text = summaries.deletion(self, name).sentence
                self._events.append(Happened("topic_deleting", "notice", f"topic {text}", now_ms, topic=name))
        self._dirty_topics |= changed & self.topics.keys()
        self.partitions.again([tp for tp in self.values if tp[0] in changed])
        self._dirty_cluster = True

    def set_store(self, answers: bool, now_ms: int) -> None:
        """Whether the coordination store answers: without it what was read of it stays as it is."""
        self._store_silent_ms = None if answers else self._store_silent_ms or now_ms
        self._dirty_cluster = True

    def store_was_true(self, at_ms: int) -> None:
        """All that is known of the coordination store was so at `at_ms`: it has been read as a whole, a topic that is told from then on is
        a new one."""
        self._store_true_ms = max(at_ms, self._store_true_ms or 0)

    def store_mended(self, paths: list[str], now_ms: int) -> None:
        """What was known of these znodes was not what they hold, and nobody had told: they were read again."""
        some = ", ".join(paths[:3]) + (", …" if len(paths) > 3 else "")
        text = f"the view of ZooKeeper differed from {counted(len(paths), 'znode')} without word of a change ({some}): read anew."
        self._events.append(Happened("view_mended", "warn", text, now_ms))

    def store_is_away(self, now_ms: int) -> bool:
        return self._store_silent_ms is not None and now_ms - self._store_silent_ms >= STORE_AWAY_MS

    def tell(self, told: Sequence[Happened]) -> None:
        """Events that others have found."""
        self._events += told

    def set_processes(self, processes: Mapping[int, str]) -> None:
        """`{id: running|paused|stopped}` of local brokers."""
        for broker in processes.keys() | self.processes.keys():
            if processes.get(broker) != self.processes.get(broker):
                self._dirty_brokers.add(broker)
        if processes != self.processes:
            self.partitions.processes_changed()
        self.processes = dict(processes)

    # --- time

    def tick(self, now_ms: int) -> None:
        """Once a second: ages, rates and lag in seconds move although nothing was said."""
        told, turned = self.feeds.tick(self.alive(), now_ms)
        self._events += told
        self._note_silence(now_ms)
        self._tell_controller(now_ms)
        if turned:
            self.partitions.again([tp for tp, facts in self.partitions.facts.items() if turned & facts.claims.keys()])
        self._look(now_ms)
        self.partitions.tick()
        self.groups.tick(now_ms)
        self._dirty_brokers |= self.known_brokers()
        self._dirty_cluster = True

    def _look(self, now_ms: int) -> None:
        """Once a second at what the logs hold."""
        self._count_records(now_ms)

    def _count_records(self, at_ms: int) -> None:
        """Rates from where the logs end now."""
        count = self.counts.get
        for name in self.topics:
            measured = count("topic", name, "partitions") - count("topic", name, "unmeasured")
            if self.rates.add("topic", name, at_ms, count("topic", name, "end_sum"), measured):
                self._dirty_topics.add(name)

    def untimed(self, limit: int) -> dict[tuple[str, int], list[tuple[str, tuple[str, int], int]]]:
        """(group, partition, offset) of rows whose record's time is wanted, by the address of the leader that has it."""
        found: dict[tuple[str, int], list[tuple[str, tuple[str, int], int]]] = {}
        for row in self.groups.untimed(limit):
            partition = self.values.get(row[1])
            leader = (self.registered or {}).get(partition.leader) if partition and partition.leader is not None else None
            if leader is not None:
                found.setdefault((leader.host, leader.port), []).append(row)
        return found

    # --- views of it

    def alive(self) -> set[int]:
        """Those registered whose process does not count as gone."""
        if self.registered is None:
            return self.feeds.believed()
        return {broker for broker, known in self.registered.items() if not known.gone_by}

    def known_brokers(self) -> set[int]:
        return self.alive() | set(self.feeds.heard_ms) | set(self.processes) | set(self.since_ms)

    def parts(self, now_ms: int) -> Feed:
        """When each part of what is known was last known true; `store` is None where nothing is read of one."""
        store = None if self.registered is None else age(self._store_true_ms, now_ms)
        return self.feeds.summary(self.alive(), store, now_ms)

    def due_ms(self, now_ms: int) -> int:
        """After when the first part of what is known is stale."""
        return self.oldest_ms(now_ms) + STALE_MS

    def oldest_ms(self, now_ms: int) -> int:
        """When the oldest part was last known true; of a broker never heard, since when it should have been."""
        times = [self.feeds.heard_ms.get(b) or self.since_ms.get(b, now_ms) for b in self.alive()]
        if self.registered is not None:
            times.append(self._store_true_ms or min(self.since_ms.values(), default=now_ms))
        return min([now_ms, *times])

    def take(self, now_ms: int, limit: int | None = None) -> tuple[dict[str, Value | None], list[Happened]]:
        """What changed since the last take: absolute values by key (None = gone), and events. At most `limit` partitions: then
        `has_more` says whether others wait."""
        partitions, told = self.partitions.take(self._brokers(), self.deleting, self._is_known, now_ms, limit)
        changed: dict[str, Value | None] = {keys.partition(*tp): value for tp, value in partitions.items()}
        self._dirty_topics |= self.troubled.note(partitions)
        changed |= {keys.topic(name): None for name in self._gone_topics}
        self._gone_topics = set()
        self._touch()
        told += self.groups.take_moves()
        for key, value, event in self.groups.take_changes(now_ms):
            changed[key] = value
            told += [event] if event else []
        self._dirty_topics |= self.groups.unread.take_changed()
        for topic in sorted(self._dirty_topics):
            if topic in self.topics or self.counts.get("topic", topic, "partitions"):
                changed[keys.topic(topic)] = summaries.topic_value(self, topic)
        for broker in sorted(self._dirty_brokers & self.known_brokers()):
            changed[keys.broker(broker)] = summaries.broker_value(self, broker, now_ms)
        if self._dirty_cluster or self._dirty_topics or self._dirty_brokers:
            changed[keys.CLUSTER] = summaries.cluster_value(self, now_ms)
        self._dirty_topics, self._dirty_brokers, self._dirty_cluster = set(), set(), False
        told, self._events = self._events + told, []
        return changed, self._bursts.tell(told, now_ms)

    def everything(self, now_ms: int) -> dict[str, Value]:
        """All values, for a reader that knows nothing."""
        values: dict[str, Value] = {keys.partition(*tp): value for tp, value in self.values.items()}
        names = self.topics.keys() | {topic for topic, _ in self.values}
        values |= {keys.topic(name): summaries.topic_value(self, name) for name in sorted(names)}
        values |= {keys.broker(b): summaries.broker_value(self, b, now_ms) for b in self.known_brokers()}
        values |= {keys.group(group): value for group, value in self.groups.values.items()}
        values |= self.groups.readers()
        values |= self.groups.learnt.everything()
        values |= {keys.lag(group, *tp): row for group, rows in self.groups.rows.items() for tp, row in rows.items()}
        return {**values, keys.CLUSTER: summaries.cluster_value(self, now_ms)}

    def _brokers(self) -> Brokers:
        alive = self.alive()
        return Brokers(alive, self.feeds.believed() & alive, self.feeds.heard_ms, self._silent, self.processes)

    def _is_known(self, topic: str) -> bool:
        """The store, where there is one, knows the topic."""
        return self.registered is None or topic in self.topics

    def has_more(self, now_ms: int) -> bool:
        return self.partitions.has_more(now_ms)

    def _touch(self) -> None:
        for scope, identity in self.partitions.touched:
            if scope in ("topic", "leads"):
                self._dirty_topics.add(identity if scope == "topic" else identity[0])
            elif scope == "broker":
                self._dirty_brokers.add(identity)
            else:
                self._dirty_cluster = True
        self.partitions.touched = set()
