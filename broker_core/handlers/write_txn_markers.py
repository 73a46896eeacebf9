"""WriteTxnMarkers v0–1: a coordinator ends producers' transactions in partitions that this broker leads (spec G5).

Answered once the replicas have the markers; then groups whose offsets were committed in such a transaction see them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from broker_core.errors import ErrorCode
from broker_core.handlers.common import code_rows, partitions_of
from broker_core.handlers.registry import Answer, Operation, Request, handler, on_cluster
from broker_core.model import CONSUMER_OFFSETS, TopicPartition
from broker_core.protocol.api import ApiKey
from broker_core.records.markers import end_marker
from broker_core.replication.appending import Begun
from broker_core.replication.partition import ACKS_ALL
from broker_core.storage.log import AppendOrigin


@handler(ApiKey.WRITE_TXN_MARKERS, versions=range(0, 2), needs=on_cluster(Operation.CLUSTER_ACTION))
async def handle(request: Request) -> Answer:
    """All markers are appended before the replicas of the first are waited for."""
    begun = [(marker, await _begin(request, marker)) for marker in request.body.markers]
    return {"markers": [await _finished(request, marker, append) for marker, append in begun]}


async def _begin(request: Request, marker: Any) -> Begun:
    broker = request.broker
    batch = end_marker(
        marker.producer_id,
        marker.producer_epoch,
        commit=marker.transaction_result,
        coordinator_epoch=marker.coordinator_epoch,
        now_ms=broker.node.clock.now_ms(),
    )
    return await broker.replicas.appending.begin(
        dict.fromkeys(partitions_of(marker.topics), batch),
        acks=ACKS_ALL,
        timeout_ms=broker.config.current.request_timeout_ms,
        origin=AppendOrigin.COORDINATOR,
    )


async def _finished(request: Request, marker: Any, begun: Begun) -> dict[str, Any]:
    if begun.replicated is not None:
        await begun.replicated
    codes = {tp: result.error_code for tp, result in begun.finished().items()}
    _tell_groups(request, marker, codes)
    return {"producer_id": marker.producer_id, "topics": code_rows(codes)}


def _tell_groups(request: Request, marker: Any, codes: Mapping[TopicPartition, ErrorCode]) -> None:
    for tp, code in codes.items():
        if tp.topic == CONSUMER_OFFSETS and code is ErrorCode.NONE:
            request.broker.groups.transaction_ended(tp.partition, marker.producer_id, commit=marker.transaction_result)
