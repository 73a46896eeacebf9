"""What the active controller does about topics: created, grown, gone, or to be deleted (spec Z4)."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from itertools import islice
from uuid import UUID

from broker_core.controller import backlog as work
from broker_core.controller.context import ControllerContext
from broker_core.controller.events import DeletionRequested, PartitionChange, TopicChange
from broker_core.controller.state_changes import StateChanges
from broker_core.controller.store.watches import Watches
from broker_core.controller.store.znodes import Topic, Znodes
from broker_core.controller.topic_deletion_manager import TopicDeletionManager
from broker_core.coordination.layout import DELETE_TOPICS
from broker_core.coordination.store import BadVersion
from broker_core.model import TopicPartition
from broker_core.seams import Entropy

log = logging.getLogger(__name__)

TOPIC_ID_BYTES = 16


class Topics:
    """One term's topics."""

    def __init__(
        self,
        context: ControllerContext,
        znodes: Znodes,
        changes: StateChanges,
        deletions: TopicDeletionManager,
        backlog: work.Backlog,
        *,
        watches: Watches,
        entropy: Entropy,
        gives_ids: bool,
    ) -> None:
        self._context = context
        self._znodes = znodes
        self._changes = changes
        self._deletions = deletions
        self._backlog = backlog
        self._watches = watches
        self._entropy = entropy
        self._gives_ids = gives_ids

    async def load(self) -> None:
        """All topics and their leadership at the beginning of a term. Partitions without any wait in line for `create`, topics that were
        begun first; but for those that a former controller was reassigning: what it began with them goes on."""
        topics = await self._read(await self._znodes.topic_names(self._watches.to(TopicChange())))
        context = self._context
        context.leadership.update(await self._znodes.states(context.partitions()))
        context.being_reassigned.update(tp for tp in context.partitions() if context.assignment(tp).is_being_reassigned)
        without = [tp for tp in context.partitions() if tp not in context.leadership and tp not in context.being_reassigned]
        begun = {tp.topic for tp in context.leadership}
        context.uncreated.update(dict.fromkeys(sorted(without, key=lambda tp: tp.topic not in begun)))
        await self._withhold(topics)

    async def _withhold(self, topics: Sequence[Topic]) -> None:
        """The last controller was at some of these topics when it ended: the partitions that it gave leaders since the topic was made or
        has grown were told to nobody, and are not until the rest have leaders, too. Older ones are known to all."""
        unfinished = {tp.topic for tp in self._context.uncreated}
        for topic in topics:
            if topic.name in unfinished:
                led = [tp for tp in self._context.partitions_of(topic.name) if tp in self._context.leadership]
                self._context.withheld.update(dict.fromkeys(await self._znodes.states_since(led, topic.written_zxid)))

    async def listed(self) -> None:
        """`/brokers/topics` changed: new topics get their first leaders, vanished ones are forgotten."""
        names = await self._znodes.topic_names(self._watches.to(TopicChange()))
        for topic in sorted(set(self._context.assignments) - set(names)):
            self._watches.forget(PartitionChange(topic))
            self._context.remove_topic(topic)
        added = [name for name in names if name not in self._context.assignments]
        await self.create([tp for topic in await self._read(added) for tp in self._context.partitions_of(topic.name)])

    async def grown(self, name: str) -> None:
        """`/brokers/topics/T` changed: partitions that are not known yet are new; not in a topic that is being deleted."""
        topic = await self._znodes.topic(name, self._watches.to(PartitionChange(name)))
        known = self._context.assignments.get(name)
        if topic is None or known is None:
            return
        added = [partition for partition in topic.assignments if partition not in known]
        if added and name in self._context.queued_for_deletion:
            log.warning("Topic %s is being deleted, so partitions %s are not added", name, added)
            await self._restore(topic)
            return
        for partition in added:
            self._context.set_assignment(TopicPartition(name, partition), topic.assignments[partition])
        await self.create([TopicPartition(name, partition) for partition in added])

    async def to_delete(self) -> None:
        """`/admin/delete_topics` as it is now."""
        await self._deletions.enqueue(await self._znodes.store.children(DELETE_TOPICS, self._watches.to(DeletionRequested())))

    async def _read(self, names: Sequence[str]) -> list[Topic]:
        """Topics into the context; one that has no id gets one, where brokers go by them."""
        topics = await self._znodes.topics(names, lambda name: self._watches.to(PartitionChange(name)))
        for topic in topics:
            self._context.assignments[topic.name] = dict(topic.assignments)
            topic_id = topic.topic_id
            if topic_id is None and self._gives_ids:
                topic_id = await self._give_id(topic)
            if topic_id is not None:
                self._context.set_topic_id(topic.name, topic_id)
        return topics

    async def _give_id(self, topic: Topic) -> UUID:
        topic_id = UUID(bytes=self._entropy.bytes(TOPIC_ID_BYTES), version=4)
        try:
            await self._znodes.write_topic(topic.name, topic_id, topic.assignments, topic.version)
            return topic_id
        except BadVersion:
            again = await self._znodes.topic(topic.name)
            return topic_id if again is None else again.topic_id or await self._give_id(again)

    async def create(self, partitions: Sequence[TopicPartition]) -> None:
        """New partitions get their first leaders: a few at once, many as the brokers have room."""
        partitions = [tp for tp in partitions if not self._context.is_being_deleted(tp.topic)]
        if not partitions:
            return
        log.info("New partitions: %s and %d more", partitions[0], len(partitions) - 1)
        if len(partitions) <= work.PARTITIONS_PER_SLICE:
            await self._changes.create(partitions)
        else:
            self._context.uncreated.update(dict.fromkeys(partitions))
            self._backlog.add("create partitions", self._create_some)

    async def _create_some(self) -> bool:
        waiting = (tp for tp in self._context.uncreated if not self._context.is_being_deleted(tp.topic))
        partitions = list(islice(waiting, work.PARTITIONS_PER_STEP))
        await self._changes.create(partitions)
        return bool(partitions)

    async def _restore(self, topic: Topic) -> None:
        known = {partition: value for partition, value in topic.assignments.items() if partition in self._context.assignments[topic.name]}
        try:
            await self._znodes.write_topic(topic.name, topic.topic_id, known, topic.version)
        except BadVersion:
            log.info("Topic %s changed again meanwhile", topic.name)
