"""The id of a broker that is given none (`broker.id=-1`): the one that its data folder has, else the next that ZooKeeper counts.

As in Kafka `/brokers/seqid` is written to, which nobody reads: the version that it has then is a number of nobody else's, and ids made
so lie above `reserved.broker.max.id`, those below being given by hand.
"""

from __future__ import annotations

import re
from dataclasses import replace

from broker_core.config import BrokerConfig
from broker_core.config.broker import BROKER_ID, NODE_ID
from broker_core.coordination.layout import ensure_layout
from broker_core.coordination.store import Store
from broker_core.seams import Disk
from broker_core.storage.folder.data_folder import META_LIMIT_BYTES
from broker_core.storage.folder.names import META_PROPERTIES

SEQUENCE = "/brokers/seqid"
_ID = re.compile(rb"^\s*broker\.id\s*=\s*(\d{1,10})\s*$", re.MULTILINE)


async def with_broker_id(config: BrokerConfig, disk: Disk, store: Store) -> BrokerConfig:
    """The settings with an id of the broker's own; `ConnectionLoss` where one would have to be made and the store does not answer."""
    if config.broker_id >= 0:
        return config
    broker_id = _id_of_folder(disk, f"{config.log_dir}/{META_PROPERTIES}")
    if broker_id is None:
        await store.connect(config.store_connection_timeout_ms)
        await ensure_layout(store, ("/brokers", SEQUENCE))
        broker_id = config.reserved_broker_max_id + (await store.set(SEQUENCE, b"")).version
    return replace(config, broker_id=broker_id, given=config.given - {BROKER_ID, NODE_ID})


def _id_of_folder(disk: Disk, path: str) -> int | None:
    found = _ID.search(disk.read_bytes(path, limit_bytes=META_LIMIT_BYTES)) if disk.exists(path) else None
    return None if found is None else int(found[1])
