"""OffsetCommit v0–9: consumers commit how far they have come (spec G3); version 0 into ZooKeeper (spec Z7), all others to the group.

v1 may carry the time of a commit, v2–4 how long it is to be kept, v6 the leader epoch, v7 the instance id.
"""

from __future__ import annotations

from typing import Any

from broker_core.config.key import LONG_MAX
from broker_core.coordination.store import StoreError
from broker_core.errors import ErrorCode, KafkaError
from broker_core.groups.offset_service import java_length
from broker_core.groups.records import OffsetCommit
from broker_core.groups.zookeeper_offsets import write_offset
from broker_core.handlers.common import code_rows, failure
from broker_core.handlers.registry import Answer, Operation, Request, both, handler, on_group, on_topics
from broker_core.model import TopicPartition
from broker_core.protocol.api import ApiKey
from broker_core.protocol.codec import field, millis

UNSET = -1


@handler(ApiKey.OFFSET_COMMIT, versions=range(0, 10), needs=both(on_group(Operation.READ), on_topics(Operation.READ)))
async def handle(request: Request) -> Answer:
    commits = _commits(request)
    metadata = request.broker.metadata
    known = {tp: commit for tp, commit in commits.items() if metadata.partition(tp) is not None}
    outcomes = dict.fromkeys(commits, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    if known:
        outcomes |= await (_to_zookeeper(request, known) if request.version == 0 else _to_group(request, known))
    return {"topics": code_rows(outcomes)}


def _commits(request: Request) -> dict[TopicPartition, OffsetCommit]:
    now_ms = request.broker.node.clock.now_ms()
    retention_ms = millis(field(request.body, "retention_time", UNSET))
    expire_ms = None if retention_ms == UNSET else min(now_ms + retention_ms, LONG_MAX)
    return {
        TopicPartition(topic.name, entry.partition_index): _commit(entry, now_ms, expire_ms)
        for topic in request.body.topics
        for entry in topic.partitions
    }


def _commit(entry: Any, now_ms: int, expire_ms: int | None) -> OffsetCommit:
    commit_ms = millis(field(entry, "commit_timestamp", UNSET))
    return OffsetCommit(
        entry.committed_offset,
        field(entry, "committed_leader_epoch", UNSET),
        entry.committed_metadata or "",
        now_ms if commit_ms == UNSET else commit_ms,
        expire_ms,
    )


async def _to_group(request: Request, commits: dict[TopicPartition, OffsetCommit]) -> dict[TopicPartition, ErrorCode]:
    body = request.body
    return await request.broker.groups.commit_offsets(
        body.group_id, body.member_id, field(body, "group_instance_id", None), body.generation_id_or_member_epoch, commits
    )


async def _to_zookeeper(request: Request, commits: dict[TopicPartition, OffsetCommit]) -> dict[TopicPartition, ErrorCode]:
    limit = request.broker.config.current.offset_metadata_max_bytes
    outcomes = {}
    for tp, commit in commits.items():
        too_long = java_length(commit.metadata) > limit
        outcomes[tp] = ErrorCode.OFFSET_METADATA_TOO_LARGE if too_long else await _write(request, tp, commit.offset)
    return outcomes


async def _write(request: Request, tp: TopicPartition, offset: int) -> ErrorCode:
    try:
        await write_offset(request.broker.node.store, request.body.group_id, tp, offset)
    except KafkaError as error:
        return failure(error)[0]
    except StoreError:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    return ErrorCode.NONE
