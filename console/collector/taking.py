"""What a cluster answered, put into its live state. Pure: no I/O, `now_ms` is an argument."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace

from broker_core.contract import feed
from broker_core.contract.stored import Assignment, Registration, Topic
from console.collector.pace import HURRIES, PARTITIONS_LIMIT
from console.gateway.answers import (
    Controller,
    Folder,
    ListedGroup,
    Metadata,
    Move,
    PartitionMetadata,
    TopicMetadata,
    TopicPartition,
    TopicSettings,
)
from console.live.merging.asked_state import AskedState, Leadership
from console.live.merging.partition import Asked
from console.rules.words import counted, whole

NOTHING = TopicSettings({}, None, None)


class Taken:
    """What was answered last: who is to be asked what follows from it."""

    def __init__(self, state: AskedState) -> None:
        self.state = state
        self.metadata = Metadata({}, None, {})
        self.settings: dict[str, TopicSettings] = {}
        self.moves: Mapping[TopicPartition, Move] = {}
        self._doubtful: dict[str, int] = {}
        """Topics whose settings have changed, with how often they are still to be asked for."""
        self.beyond = 0
        """Partitions that are more than are looked at."""

    # --- metadata

    def take_metadata(self, told: Metadata, controller: Controller, now_ms: int) -> None:
        self.metadata = replace(told, topics=self._within_limit(told.topics))
        state = self.state
        state.set_brokers({broker: Registration(node.host, node.port, node.rack, None) for broker, node in told.brokers.items()}, now_ms)
        state.set_holders({broker for t in self.metadata.topics.values() for p in t.partitions.values() for broker in p.replicas})
        state.set_controller(controller.node_id, controller.epoch, now_ms)
        for name in [name for name in state.topics if name not in self.metadata.topics]:
            self.settings.pop(name, None)
            state.drop_topic(name, now_ms)
        for name, topic in self.metadata.topics.items():
            self._take_topic(name, topic, now_ms)

    def _within_limit(self, topics: Mapping[str, TopicMetadata]) -> dict[str, TopicMetadata]:
        kept: dict[str, TopicMetadata] = {}
        room, self.beyond = PARTITIONS_LIMIT, 0
        for name in sorted(topics):
            count = len(topics[name].partitions)
            if count <= room:
                kept[name], room = topics[name], room - count
            else:
                self.beyond += count
        return kept

    def _take_topic(self, name: str, told: TopicMetadata, now_ms: int) -> None:
        known, settings = self.state.topics.get(name), self.settings.get(name)
        if known is not None and known.topic_id != told.topic_id:
            self.settings.pop(name, None)
            settings = None
        assigned = {number: self._assigned((name, number), partition) for number, partition in told.partitions.items()}
        own, least, unclean = (settings.own, settings.min_insync_replicas, settings.unclean) if settings else (None, None, None)
        topic = Topic(told.topic_id, told.internal, least, unclean, assigned, own)
        if topic != known:
            self.state.set_topic(name, topic, now_ms)
            self.state.partitions.again([(name, number) for number in assigned])
        for number, partition in told.partitions.items():
            self.state.set_leadership(name, number, _leadership(partition))

    def _assigned(self, tp: TopicPartition, told: PartitionMetadata) -> Assignment:
        move = self.moves.get(tp)
        return Assignment(move.replicas, move.adding, move.removing) if move else Assignment(told.replicas)

    def missing(self, told: Metadata) -> bool:
        """Whether it lacks a topic that is known: a broker that has just started may not have heard of all."""
        return any(name not in told.topics for name in self.metadata.topics)

    def take_settings(self, asked: Sequence[str], found: Mapping[str, TopicSettings], now_ms: int) -> None:
        for name in asked:
            if self._doubtful.get(name, 0) > 1:
                self._doubtful[name] -= 1
            else:
                self._doubtful.pop(name, None)
            settings = found.get(name, NOTHING)
            if (topic := self.metadata.topics.get(name)) is not None and self.settings.get(name) != settings:
                self.settings[name] = settings
                self._take_topic(name, topic, now_ms)

    def forget_settings(self, topic: str) -> None:
        """They are shown as they were until they are told anew."""
        self._doubtful[topic] = HURRIES

    def unsettled(self) -> list[str]:
        """Topics whose settings were never told, or have changed since."""
        return [name for name in self.metadata.topics if name not in self.settings or name in self._doubtful]

    # --- whom to ask

    def led(self) -> dict[int, list[TopicPartition]]:
        """The partitions that each broker leads."""
        found: dict[int, list[TopicPartition]] = {broker: [] for broker in self.metadata.brokers}
        for name, topic in self.metadata.topics.items():
            for number, partition in topic.partitions.items():
                if partition.leader in found:
                    found[partition.leader].append((name, number))
        return found

    def held(self) -> dict[int, list[TopicPartition]]:
        """The partitions that each broker has a copy of."""
        found: dict[int, list[TopicPartition]] = {broker: [] for broker in self.metadata.brokers}
        for name, topic in self.metadata.topics.items():
            for number, partition in topic.partitions.items():
                for broker in partition.replicas:
                    if broker in found:
                        found[broker].append((name, number))
        return found

    def leader_of(self, tp: TopicPartition) -> int | None:
        """Where it is one that can be asked."""
        topic = self.metadata.topics.get(tp[0])
        partition = topic.partitions.get(tp[1]) if topic else None
        return partition.leader if partition and partition.leader in self.metadata.brokers else None

    # --- logs

    def take_logs(self, found: Mapping[TopicPartition, Asked]) -> None:
        for (topic, number), log in found.items():
            self.state.set_log(topic, number, log)

    def take_folders(self, broker: int, folders: Sequence[Folder], now_ms: int) -> None:
        """Sizes of the replicas that were asked for; of several folders the one that is worst off is told."""
        for folder in folders:
            for (topic, number), size in folder.sizes_bytes.items():
                self.state.set_size(topic, number, broker, size)
        if folders:
            self.state.set_folder(broker, self._worst(broker, folders, now_ms))

    def _worst(self, broker: int, folders: Sequence[Folder], now_ms: int) -> feed.LogDir:
        worst = min(folders, key=lambda f: (f.error is None, (f.free_bytes or 0) / f.total_bytes if f.total_bytes else 1.0, f.path))
        known = self.state.folders.get(broker)
        since = None
        if worst.error is not None:
            since = known.offline_since_ms if known and known.path == worst.path and known.offline_since_ms else now_ms
        return feed.LogDir(worst.path, since, worst.error, worst.free_bytes, worst.total_bytes)

    # --- groups

    def take_groups(self, claims: Iterable[feed.Group], coordinator: int, ends: Mapping[TopicPartition, int], at_ms: int) -> None:
        """`ends` are those of the logs that they read, asked for right after what they have committed."""
        for claim in claims:
            self.state.groups.take(claim, coordinator, at_ms, ends)


def _leadership(told: PartitionMetadata) -> Leadership:
    return Leadership(told.leader, told.leader_epoch, told.isr, told.offline)


def undescribed(listed: ListedGroup) -> feed.Group:
    """A group of a protocol that nobody here can describe: that it is there, and its state."""
    return feed.Group(listed.group, listed.state or "Unknown", f"{listed.kind}: not described", None, None, (), ())


def limit_words(beyond: int) -> str | None:
    if not beyond:
        return None
    return f"{counted(beyond, 'partition')} {'is' if beyond == 1 else 'are'} beyond the {whole(PARTITIONS_LIMIT)} that are looked at"
