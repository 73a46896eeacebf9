"""Tells the controller that this broker's data folder is offline: a sequential znode in `/log_dir_event_notification`.

The controller then asks the broker about all its replicas by LeaderAndIsr, learns from KAFKA_STORAGE_ERROR which are offline,
elects others and deletes the znode. A second znode after a lost reply only makes it ask again.
"""

from __future__ import annotations

import logging

from broker_core.coordination.layout import LOG_DIR_EVENTS
from broker_core.coordination.store import StoreError
from broker_core.coordination.znode_data import encode_log_dir_event
from broker_core.seams import Node

log = logging.getLogger(__name__)

RETRY_MS = 500


async def announce_log_dir_failure(node: Node, broker_id: int) -> None:
    """Tries until the store has taken it: until then the controller sees a live broker with its leaderships."""
    while True:
        try:
            await node.store.create(f"{LOG_DIR_EVENTS}/log_dir_event_", encode_log_dir_event(broker_id), sequence=True)
        except StoreError as error:
            log.warning("the offline data folder could not be announced, will retry", extra={"error": repr(error)})
            await node.clock.sleep(RETRY_MS)
        else:
            log.warning("the offline data folder is announced to the controller", extra={"broker": broker_id})
            return
