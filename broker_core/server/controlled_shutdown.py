"""Controlled shutdown, the broker's side: asks the controller to move its leaderships away before it stops (spec Z5)."""

from __future__ import annotations

import logging
from typing import Any

from broker_core.errors import ErrorCode, KafkaError, ProtocolViolation
from broker_core.handlers.services import BrokerServices
from broker_core.model import TopicPartition
from broker_core.protocol.api import ApiKey
from broker_core.protocol.inter_broker import version_between_brokers

log = logging.getLogger(__name__)

PURPOSE = "shutdown"
ANSWER_WITHIN_MS = 2_500
"""The controller goes on with what it was asked, so the next attempt finds less left to do."""


async def hand_over(services: BrokerServices) -> bool:
    """Whether nothing is led here any more; gives up after `controlled.shutdown.max.retries` attempts."""
    current = services.config.current
    for attempt in range(1, current.controlled_shutdown_max_retries + 1):
        if all(broker.broker_id == services.broker_id for broker in services.metadata.live_brokers()):
            log.info("no other broker lives to take leaderships over")
            return False
        try:
            remaining = await _ask(services)
        except (KafkaError, ConnectionError, TimeoutError, ProtocolViolation) as error:
            log.warning("controlled shutdown was not answered", extra={"attempt": attempt, "error": str(error)})
        else:
            if not remaining:
                log.info("leaderships handed over", extra={"attempt": attempt})
                return True
            log.info("partitions still led here", extra={"attempt": attempt, "count": len(remaining), "first": str(remaining[0])})
        if attempt < current.controlled_shutdown_max_retries:
            await services.node.clock.sleep(current.controlled_shutdown_retry_backoff_ms)
    log.warning("stopping with leaderships that nobody took over")
    return False


async def _ask(services: BrokerServices) -> list[TopicPartition]:
    """The partitions still led here, as the controller says."""
    epoch = services.broker_epoch()
    if services.controller.is_active:
        ours = services.controller.controlled_shutdown(services.broker_id, epoch)
        return await services.node.clock.wait_for(ours, ANSWER_WITHIN_MS)
    controller = services.metadata.broker(services.controller.controller_id)
    if controller is None:
        raise KafkaError(ErrorCode.BROKER_NOT_AVAILABLE, "no controller is known")
    endpoint = controller.inter_broker(services.config.static.inter_broker_listener_name)
    channel = services.channels.channel(endpoint.host, endpoint.port, PURPOSE)
    payload = {"broker_id": services.broker_id, "broker_epoch": epoch}
    version = version_between_brokers(services.config.static.inter_broker_protocol, ApiKey.CONTROLLED_SHUTDOWN)
    return _remaining(await channel.request(ApiKey.CONTROLLED_SHUTDOWN, version, payload, ANSWER_WITHIN_MS))


def _remaining(answer: Any) -> list[TopicPartition]:
    if answer.error_code != ErrorCode.NONE:
        raise KafkaError(ErrorCode(answer.error_code), "the controller refused the shutdown")
    return [TopicPartition(row.topic_name, row.partition_index) for row in answer.remaining_partitions]
