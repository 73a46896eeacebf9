"""Fetch v0–17: records for consumers and followers, from the segment files (spec R2, R7, P1, N1).

Versions 13 and later name topics by id. Sessions (v7+, KIP-227) belong to the replica manager. Records go out as file
ranges; only versions 0–3, which know the old message sets, have them converted here, in slices between which others are served.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from broker_core.errors import CorruptData, ErrorCode, KafkaError
from broker_core.handlers.common import leader_endpoints
from broker_core.handlers.registry import CLUSTER, Action, Answer, Frame, Operation, Request, Resource, handler
from broker_core.protocol.api import ApiKey
from broker_core.protocol.codec import field, millis
from broker_core.protocol.hot_common import NodeEndpoint
from broker_core.protocol.hot_fetch import FetchPartitionResult, encode_fetch_response
from broker_core.records.budget import Budget, BudgetSpent, refusal
from broker_core.records.legacy import down_converting
from broker_core.replication.serving.fetch_params import FetchParams
from broker_core.replication.serving.fetch_session import FINAL_EPOCH, NO_SESSION, PartitionKey, Reply, WantedPartition, partition_key
from broker_core.seams import FileRange, Part

TOPIC_IDS_SINCE = 13
BATCHES_SINCE = 4
ENDPOINTS_SINCE = 16
CONVERTED_BYTES_MAX = 1024 * 1024
READ_COMMITTED = 1
UNTOLD = -1


def _needs(request: Request) -> Iterable[Action]:
    """Of followers the leave to act for the cluster, of consumers that to read what they name."""
    if _replica_id(request.body) >= 0:
        return (Action(Operation.CLUSTER_ACTION, Resource.CLUSTER, CLUSTER),)
    names = (_topic(request, topic)[0] for topic in request.body.topics)
    return (Action(Operation.READ, Resource.TOPIC, name) for name in names if name is not None)


@handler(ApiKey.FETCH, versions=range(0, 18), needs=_needs)
async def handle(request: Request) -> Answer:
    """At once or after a while, see the replica manager; partitions of one topic that follow each other are grouped."""
    body, params = request.body, _params(request)
    reply = await request.broker.replicas.fetch(
        params,
        _wanted(request),
        session_id=field(body, "session_id", NO_SESSION),
        session_epoch=field(body, "session_epoch", FINAL_EPOCH),
        forgotten=_forgotten(request),
    )
    sent = sum(result.records_bytes for _, result, _ in reply.answers)
    request.broker.metrics.count_fetched(sent, by_follower=params.replica_id >= 0)
    if request.version < BATCHES_SINCE:
        await _convert_all(request, reply)
    return _encoded(request, reply)


def _params(request: Request) -> FetchParams:
    body = request.body
    state = field(body, "replica_state", None)
    replica_id, toll = _replica_id(body), request.toll
    max_bytes = field(body, "max_bytes", 2**31 - 1)
    min_bytes, held_back = body.min_bytes, None
    if replica_id >= 0:
        toll.exempt()
    elif not toll.is_free:
        max_bytes = max(0, int(min(max_bytes, toll.most_fetched_bytes())))
        min_bytes, held_back = min(min_bytes, max_bytes), toll.fetched
    return FetchParams(
        request.version,
        millis(body.max_wait),
        min_bytes,
        max_bytes if request.version >= BATCHES_SINCE else min(max_bytes, CONVERTED_BYTES_MAX),
        replica_id=replica_id,
        held_back=held_back,
        replica_epoch=state.replica_epoch if state is not None else -1,
        read_committed=field(body, "isolation_level", 0) == READ_COMMITTED,
        rack=field(body, "rack_id", ""),
    )


def _replica_id(body: Any) -> int:
    state = field(body, "replica_state", None)
    return state.replica_id if state is not None else field(body, "replica_id", -1)  # type: ignore[no-any-return]


def _wanted(request: Request) -> list[WantedPartition]:
    wanted = []
    for topic in request.body.topics:
        name, topic_id = _topic(request, topic)
        for row in topic.partitions:
            wanted.append(
                WantedPartition(
                    name,
                    topic_id,
                    row.partition,
                    row.fetch_offset,
                    row.partition_max_bytes,
                    field(row, "current_leader_epoch", -1),
                    field(row, "last_fetched_epoch", -1),
                    field(row, "log_start_offset", -1),
                )
            )
    return wanted


def _topic(request: Request, topic: Any) -> tuple[str | None, Any]:
    if request.version < TOPIC_IDS_SINCE:
        return topic.topic, None
    name = request.broker.metadata.topic_name(topic.topic_id)
    if name is None and _replica_id(request.body) >= 0:
        name = request.broker.replicas.partitions.topic_name(topic.topic_id)
    return name, topic.topic_id


def _forgotten(request: Request) -> list[PartitionKey]:
    rows = field(request.body, "forgotten_topics_data", ())
    return [
        partition_key(field(row, "topic", None), field(row, "topic_id", None), partition) for row in rows for partition in row.partitions
    ]


def _encoded(request: Request, reply: Reply) -> Frame:
    topics: list[tuple[str, Any, list[FetchPartitionResult]]] = []
    for wanted, result, _ in reply.answers:
        if not topics or (topics[-1][0], topics[-1][1]) != (wanted.topic or "", wanted.topic_id):
            topics.append((wanted.topic or "", wanted.topic_id, []))
        topics[-1][2].append(result)
    endpoints: list[NodeEndpoint] = []
    if request.version >= ENDPOINTS_SINCE:
        endpoints = leader_endpoints(request, [answer.result.current_leader for answer in reply.answers if answer.result.current_leader])
    version, correlation_id, error_code = request.version, request.header.correlation_id, int(reply.error_code)
    return lambda throttle_ms: encode_fetch_response(version, correlation_id, throttle_ms, error_code, reply.session_id, topics, endpoints)


async def _convert_all(request: Request, reply: Reply) -> None:
    """Converts partition by partition as far as the budget goes, and lets others run in between; the rest the client asks for again.

    All is read first, as the files may be cut meanwhile.
    """
    budget = request.broker.replicas.workbench.budget()
    stored = [(wanted, result, b"".join(map(_bytes_of, result.records))) for wanted, result, _ in reply.answers if result.records_bytes]
    for wanted, result, data in stored:
        try:
            converted = await _converted(request, wanted, data, budget)
            result.records, result.records_bytes = [converted], len(converted)
        except (KafkaError, CorruptData) as error:
            result.error_code = int(error.code if isinstance(error, KafkaError) else refusal(error).code)
            result.records, result.records_bytes, result.high_watermark = [], 0, UNTOLD


async def _converted(request: Request, wanted: WantedPartition, data: bytes, budget: Budget) -> bytes:
    """Batches as messages of magic 0 (v0–1) or 1 (v2–3); none where other partitions have left nothing of the budget."""
    if wanted.topic is None or not request.broker.config.topic(wanted.topic).message_downconversion_enable:
        raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, f"topic {wanted.topic} does not convert records for old consumers")
    was_fresh, magic = budget.is_fresh, 0 if request.version < 2 else 1
    try:
        return await request.broker.replicas.workbench.run(down_converting(data, magic, wanted.fetch_offset, budget), budget)
    except BudgetSpent:
        if was_fresh:
            raise
        return b""


def _bytes_of(part: Part) -> bytes:
    return part.file.pread(part.position, part.length) if isinstance(part, FileRange) else bytes(part)
