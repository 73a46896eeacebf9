"""The coordination store on a real ZooKeeper, through kazoo."""

from broker_core.coordination.zookeeper.store import ZooKeeperStore

__all__ = ["ZooKeeperStore"]
