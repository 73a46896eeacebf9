"""TxnOffsetCommit v0–4: a group's offsets as a part of a producer's transaction (spec G5), from v3 on with the member it writes for."""

from __future__ import annotations

from collections.abc import Iterable

from broker_core.errors import ErrorCode, KafkaError
from broker_core.groups.messages import NO_GENERATION, UNKNOWN_MEMBER
from broker_core.groups.records import OffsetCommit
from broker_core.handlers.common import code_rows, failure
from broker_core.handlers.registry import Action, Answer, Operation, Request, Resource, handler
from broker_core.handlers.txn_codes import known_to, unverified
from broker_core.model import TopicPartition
from broker_core.protocol.api import ApiKey
from broker_core.protocol.codec import field
from broker_core.transactions.transaction import Producer

ABORTABLE_SINCE = 4
LOADING_SINCE = 1
"""Version 0 knows no COORDINATOR_LOAD_IN_PROGRESS."""
UNSET = -1


def _needs(request: Request) -> Iterable[Action]:
    body = request.body
    yield Action(Operation.WRITE, Resource.TRANSACTIONAL_ID, body.transactional_id)
    yield Action(Operation.READ, Resource.GROUP, body.group_id)
    yield from (Action(Operation.READ, Resource.TOPIC, topic.name) for topic in body.topics)


@handler(ApiKey.TXN_OFFSET_COMMIT, versions=range(0, 5), needs=_needs)
async def handle(request: Request) -> Answer:
    commits = _commits(request)
    known = {tp: commit for tp, commit in commits.items() if request.broker.metadata.partition(tp) is not None}
    outcomes = dict.fromkeys(commits, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    if known:
        try:
            outcomes |= await _staged(request, known)
        except KafkaError as error:
            outcomes |= dict.fromkeys(known, failure(error)[0])
    return {"topics": code_rows({tp: _known_to(request.version, code) for tp, code in outcomes.items()})}


def _commits(request: Request) -> dict[TopicPartition, OffsetCommit]:
    now_ms = request.broker.node.clock.now_ms()
    return {
        TopicPartition(topic.name, row.partition_index): OffsetCommit(
            row.committed_offset, field(row, "committed_leader_epoch", UNSET), row.committed_metadata or "", now_ms
        )
        for topic in request.body.topics
        for row in topic.partitions
    }


async def _staged(request: Request, commits: dict[TopicPartition, OffsetCommit]) -> dict[TopicPartition, ErrorCode]:
    body, groups = request.body, request.broker.groups
    producer = Producer(body.producer_id, body.producer_epoch)
    partition = TopicPartition(groups.topic.name, groups.topic.partition_for(body.group_id))
    for code in (await request.broker.verifier.refused(body.transactional_id, producer, [partition])).values():
        knows_abortable = request.version >= ABORTABLE_SINCE
        told = unverified(code, unheard=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, knows_abortable=knows_abortable)
        return dict.fromkeys(commits, told)
    return await groups.commit_in_transaction(
        body.group_id,
        field(body, "member_id", UNKNOWN_MEMBER),
        field(body, "group_instance_id", None),
        field(body, "generation_id", NO_GENERATION),
        producer=producer,
        commits=commits,
    )


def _known_to(version: int, code: ErrorCode) -> ErrorCode:
    if version < LOADING_SINCE and code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    return known_to(version, code)
