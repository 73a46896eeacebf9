"""Which partitions of `__consumer_offsets` this broker coordinates, and their groups. Pure.

A partition is loading from the moment its leadership is taken until its log has been read, then owned. Elections and resignations may
arrive in any order: what carries a lower leader epoch than one already seen is late and has no effect (KAFKA-10614).
"""

from __future__ import annotations

from collections.abc import Collection

from broker_core.groups.group import Group


class LoadTicket:
    """Names one load of a partition; a load whose ticket is no longer current must stop."""


class HostedPartitions:
    """`groups` has all groups of owned partitions. `_by_topic` lists those that have offsets of a topic, for when it is deleted."""

    def __init__(self) -> None:
        self.epochs: dict[int, int] = {}
        self.groups: dict[str, Group] = {}
        self._by_topic: dict[str, dict[str, None]] = {}
        self._owned: dict[int, dict[str, Group]] = {}
        self._loading: dict[int, LoadTicket] = {}

    @property
    def is_loading_any(self) -> bool:
        return bool(self._loading)

    @property
    def owned(self) -> list[int]:
        return sorted(self._owned)

    def is_loading(self, partition: int) -> bool:
        return partition in self._loading

    def is_owned(self, partition: int) -> bool:
        return partition in self._owned

    def elected(self, partition: int, epoch: int) -> LoadTicket | None:
        """A ticket when the partition now has to be loaded; None when that is late, under way or already done."""
        if epoch < self.epochs.get(partition, epoch):
            return None
        self.epochs[partition] = epoch
        if partition in self._owned or partition in self._loading:
            return None
        self._loading[partition] = LoadTicket()
        return self._loading[partition]

    def is_current(self, partition: int, ticket: LoadTicket) -> bool:
        return self._loading.get(partition) is ticket

    def loaded(self, partition: int, groups: list[Group]) -> None:
        """The load is complete: requests for these groups are answered from now on."""
        del self._loading[partition]
        self._owned[partition] = {group.group_id: group for group in groups}
        self.groups.update(self._owned[partition])
        for group in groups:
            self.list_topics(group, group.offsets.topics)

    def resigned(self, partition: int, epoch: int | None) -> list[Group]:
        """Gives the partition up and returns its groups, in order. Without an epoch the partition itself is gone."""
        if epoch is None:
            self.epochs.pop(partition, None)
        elif epoch < self.epochs.get(partition, epoch):
            return []
        else:
            self.epochs[partition] = epoch
        self._loading.pop(partition, None)
        groups = self._owned.pop(partition, {})
        for group in groups.values():
            self._unlist(group)
        return list(groups.values())

    def add(self, partition: int, group: Group) -> None:
        self._owned[partition][group.group_id] = group
        self.groups[group.group_id] = group

    def discard(self, partition: int, group: Group) -> None:
        """Forgets a group that has ended."""
        if self.groups.get(group.group_id) is group:
            self._unlist(group)
            self._owned[partition].pop(group.group_id, None)

    def _unlist(self, group: Group) -> None:
        """Two partitions have had a group of this name where the topic has grown: the other one may be listed."""
        if self.groups.get(group.group_id) is not group:
            return
        del self.groups[group.group_id]
        for topic in group.offsets.topics:
            self._forget(topic, group.group_id)

    def list_topics(self, group: Group, topics: Collection[str]) -> None:
        """Lists the group under those of the topics that it has offsets of now, and no longer under the others."""
        if self.groups.get(group.group_id) is not group:
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

    def groups_with(self, topic: str) -> list[Group]:
        """The groups that have offsets of this topic, those of commits under way included."""
        return [self.groups[group_id] for group_id in self._by_topic.get(topic, {})]
