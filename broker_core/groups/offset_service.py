"""Commits, fetches and deletions of offsets (spec G3)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from broker_core.config import ConfigHolder
from broker_core.coordinator_runtime.partition_writer import COORDINATOR_ERRORS
from broker_core.errors import ErrorCode, KafkaError
from broker_core.groups.bounds import MAX_STRING_BYTES, MAX_UTF8_BYTES
from broker_core.groups.group import Group
from broker_core.groups.offsets import Committed
from broker_core.groups.records import OffsetCommit, offset_records
from broker_core.groups.shard import GroupShard
from broker_core.groups.states import GroupState
from broker_core.groups.subscription import CONSUMER_PROTOCOL_TYPE
from broker_core.model import TopicPartition
from broker_core.seams import Node
from broker_core.storage.log import AppendInfo

log = logging.getLogger(__name__)

Commits = Mapping[TopicPartition, OffsetCommit]
Outcomes = dict[TopicPartition, ErrorCode]

COMMIT_ERRORS: Mapping[ErrorCode, ErrorCode] = MappingProxyType(
    dict(COORDINATOR_ERRORS)
    | {
        ErrorCode.MESSAGE_TOO_LARGE: ErrorCode.INVALID_COMMIT_OFFSET_SIZE,
        ErrorCode.RECORD_LIST_TOO_LARGE: ErrorCode.INVALID_COMMIT_OFFSET_SIZE,
    }
)
"""What a client that commits offsets is told of a failed append."""


class FetchedOffset(NamedTuple):
    """`offset` is -1 where nothing is committed."""

    error: ErrorCode
    offset: int = -1
    leader_epoch: int = -1
    metadata: str = ""


class OffsetService:
    def __init__(self, node: Node, config: ConfigHolder) -> None:
        self._node = node
        self._config = config

    async def commit(self, shard: GroupShard, group: Group, commits: Commits) -> Outcomes:
        """Each partition's outcome, once all in-sync replicas have the commit. Texts that are too long fail alone."""
        limit = self._config.current.offset_metadata_max_bytes
        accepted = {tp: commit for tp, commit in commits.items() if _fits(commit.metadata, limit)}
        error = await self._store(shard, group, accepted) if accepted else ErrorCode.NONE
        return {tp: error if tp in accepted else ErrorCode.OFFSET_METADATA_TOO_LARGE for tp in commits}

    async def _store(self, shard: GroupShard, group: Group, commits: Commits) -> ErrorCode:
        """The wait goes on without the client: the cache must learn how the append ended."""
        try:
            info = shard.writer.append(offset_records(group.group_id, commits))
        except KafkaError as error:
            return COMMIT_ERRORS.get(error.code, error.code)
        group.offsets.prepare(commits)
        shard.groups.list_topics(group, _topics(commits))
        return await asyncio.shield(self._node.spawn(self._finish(shard, group, commits, info), name="offset-commit"))

    async def _finish(self, shard: GroupShard, group: Group, commits: Commits, info: AppendInfo) -> ErrorCode:
        error = await shard.replicated(info)
        for tp, commit in commits.items():
            if error is ErrorCode.NONE:
                group.offsets.succeeded(tp, commit, info.first_offset)
            else:
                group.offsets.failed(tp, commit)
        shard.groups.list_topics(group, _topics(commits))
        shard.tell(group)
        expiries = [commit.expire_ms for commit in commits.values() if commit.expire_ms is not None]
        if error is ErrorCode.NONE and expiries and group.state is not GroupState.DEAD:
            shard.watch_retention_by(group, min(expiries))
        return COMMIT_ERRORS.get(error, error)

    async def stage(self, shard: GroupShard, group: Group, producer: tuple[int, int], commits: Commits) -> Outcomes:
        """The same in a transaction of the producer (id, epoch): what is committed so counts once its marker is in the log."""
        limit = self._config.current.offset_metadata_max_bytes
        accepted = {tp: commit for tp, commit in commits.items() if _fits(commit.metadata, limit)}
        error = await self._stage(shard, group, producer, accepted) if accepted else ErrorCode.NONE
        return {tp: error if tp in accepted else ErrorCode.OFFSET_METADATA_TOO_LARGE for tp in commits}

    async def _stage(self, shard: GroupShard, group: Group, producer: tuple[int, int], commits: Commits) -> ErrorCode:
        """Staged from the append on, whatever is known of the replicas: a marker is in the log only after these, and if that counts a
        reload would count them."""
        try:
            info = shard.writer.append(offset_records(group.group_id, commits), producer)
        except KafkaError as error:
            return COMMIT_ERRORS.get(error.code, error.code)
        producer_id, _ = producer
        group.offsets.stage(producer_id, {tp: Committed(info.first_offset, commit) for tp, commit in commits.items()})
        shard.groups.list_producer(group, producer_id)
        shard.groups.list_topics(group, _topics(commits))
        error_code = await asyncio.shield(self._node.spawn(shard.replicated(info), name="offset-commit"))
        return COMMIT_ERRORS.get(error_code, error_code)

    def transaction_ended(self, shard: GroupShard, producer_id: int, *, commit: bool) -> None:
        """A producer's marker is in the shard's partition."""
        for group in shard.groups.take_producer(producer_id):
            ended = group.offsets.end_transaction(producer_id, commit=commit)
            shard.groups.list_topics(group, _topics(ended))
            shard.tell(group)
            if group.state is not GroupState.DEAD:
                shard.watch_retention(group)

    def fetch(
        self, group: Group | None, partitions: Sequence[TopicPartition] | None, *, require_stable: bool
    ) -> dict[TopicPartition, FetchedOffset]:
        """All committed offsets, or those of the given partitions; the group's state does not matter."""
        if group is None:
            return dict.fromkeys(partitions or (), FetchedOffset(ErrorCode.NONE))
        wanted = [tp for tp, _ in group.offsets] if partitions is None else partitions
        return {tp: self._fetch_one(group, tp, require_stable) for tp in wanted}

    def _fetch_one(self, group: Group, tp: TopicPartition, require_stable: bool) -> FetchedOffset:
        if require_stable and group.offsets.is_unstable(tp):
            return FetchedOffset(ErrorCode.UNSTABLE_OFFSET_COMMIT)
        commit = group.offsets.get(tp)
        if commit is None:
            return FetchedOffset(ErrorCode.NONE)
        return FetchedOffset(ErrorCode.NONE, commit.offset, commit.leader_epoch, commit.metadata)

    async def delete(self, shard: GroupShard, group: Group, partitions: Sequence[TopicPartition]) -> Outcomes:
        """Offsets of topics that a member subscribes to stay. Raises NON_EMPTY_GROUP for active groups other than consumers'."""
        if group.state is not GroupState.EMPTY and group.protocol_type != CONSUMER_PROTOCOL_TYPE:
            raise KafkaError(ErrorCode.NON_EMPTY_GROUP, f"group {group.group_id!r} has members")
        used = [tp for tp in partitions if _is_used(group, tp.topic)]
        kept = dict.fromkeys(used)
        known = dict.fromkeys(group.offsets.known())
        error = await self.bury(shard, group, [tp for tp in dict.fromkeys(partitions) if tp in known and tp not in kept])
        return {tp: ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC if tp in kept else error for tp in partitions}

    async def bury(self, shard: GroupShard, group: Group, partitions: Sequence[TopicPartition]) -> ErrorCode:
        """Removes these offsets, and the group if nothing is left of it; the outcome once the tombstones are replicated."""
        try:
            info = shard.bury(group, partitions)
        except KafkaError as error:
            return COMMIT_ERRORS.get(error.code, error.code)
        outcome = ErrorCode.NONE if info is None else await shard.replicated(info)
        return COMMIT_ERRORS.get(outcome, outcome)

    def topics_deleted(self, shard: GroupShard, partitions: Sequence[TopicPartition]) -> None:
        """Partitions were deleted with their topics: nobody will ask for their offsets again."""
        for topic in _topics(partitions):
            for group in shard.groups.with_offsets_of(topic):
                known = dict.fromkeys(group.offsets.known())
                try:
                    shard.bury(group, [tp for tp in partitions if tp in known])
                except KafkaError as error:
                    log.warning("offsets of a deleted topic stay", extra={"group": group.group_id, "error": error.code.name})


def _topics(partitions: Iterable[TopicPartition]) -> dict[str, None]:
    return dict.fromkeys(tp.topic for tp in partitions)


def java_length(text: str) -> int:
    """What Java calls its length: characters beyond 16 bits are two."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def _fits(text: str, limit_chars: int) -> bool:
    """Within `offset.metadata.max.bytes` (which counts Java's characters, as in Kafka) and within what a record can carry."""
    return java_length(text) <= limit_chars and (len(text) <= MAX_STRING_BYTES // MAX_UTF8_BYTES or len(text.encode()) <= MAX_STRING_BYTES)


def _is_used(group: Group, topic: str) -> bool:
    """Whether members may need this topic's offsets; if their subscriptions cannot be read, to be safe, they do."""
    if group.state is GroupState.EMPTY:
        return False
    return group.subscribed is None or topic in group.subscribed
