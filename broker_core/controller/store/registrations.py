"""Who is registered, read straight from the store: what a broker needs to know that is not the controller."""

from __future__ import annotations

from broker_core.coordination.layout import BROKER_IDS, broker_path
from broker_core.coordination.store import Malformed, NoNode, Store, Watcher
from broker_core.coordination.znode_data import decode_broker
from broker_core.model import BrokerInfo


async def registered(store: Store, watch: Watcher | None = None) -> dict[int, BrokerInfo]:
    """None of them where one cannot be read: whether that one acts before sessions end is not known."""
    brokers: dict[int, BrokerInfo] = {}
    for name in await store.children(BROKER_IDS, watch):
        try:
            data, stat = await store.get(broker_path(int(name)), watch)
            brokers[int(name)] = decode_broker(int(name), data, stat.czxid)
        except NoNode:
            continue
        except (Malformed, ValueError):
            return {}
    return brokers
