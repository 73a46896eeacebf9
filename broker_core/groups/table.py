"""The groups of one partition of `__consumer_offsets`, by id and by the topics they have offsets of. Pure."""

from __future__ import annotations

from collections.abc import Collection

from broker_core.groups.group import Group


class GroupTable:
    """`_by_topic` lists the groups that have offsets of a topic, those of commits under way included, for when it is deleted.

    `_by_producer` lists those with commits in a producer's transaction, for when that ends.
    """

    def __init__(self) -> None:
        self.by_id: dict[str, Group] = {}
        self._by_topic: dict[str, dict[str, None]] = {}
        self._by_producer: dict[int, dict[str, None]] = {}

    def add(self, group: Group) -> None:
        self.by_id[group.group_id] = group
        self.list_topics(group, group.offsets.topics)
        for producer_id in group.offsets.producers:
            self.list_producer(group, producer_id)

    def list_producer(self, group: Group, producer_id: int) -> None:
        """The group has commits in that producer's transaction."""
        self._by_producer.setdefault(producer_id, {})[group.group_id] = None

    def take_producer(self, producer_id: int) -> list[Group]:
        """The groups with commits in that producer's transaction, which has ended."""
        listed = self._by_producer.pop(producer_id, {})
        return [self.by_id[group_id] for group_id in listed if group_id in self.by_id]

    def discard(self, group: Group) -> None:
        """Forgets a group that has ended."""
        if self.by_id.get(group.group_id) is group:
            del self.by_id[group.group_id]
            for topic in group.offsets.topics:
                self._forget(topic, group.group_id)

    def list_topics(self, group: Group, topics: Collection[str]) -> None:
        """Lists the group under those of the topics that it has offsets of now, and no longer under the others."""
        if self.by_id.get(group.group_id) is not group:
            return
        held = group.offsets.having(topics)
        for topic in topics:
            if topic in held:
                self._by_topic.setdefault(topic, {})[group.group_id] = None
            else:
                self._forget(topic, group.group_id)

    def _forget(self, topic: str, group_id: str) -> None:
        listed = self._by_topic.get(topic, {})
        listed.pop(group_id, None)
        if not listed:
            self._by_topic.pop(topic, None)

    def with_offsets_of(self, topic: str) -> list[Group]:
        return [self.by_id[group_id] for group_id in self._by_topic.get(topic, {})]
