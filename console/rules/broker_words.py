"""What a broker's own page says of it first. Pure.

The sentence, first match wins: it is gone before its session ends; it is not registered; what is known of it is old; its data folder is
offline or fills up; replicas of it are out of sync; all of them are in sync.
"""

from __future__ import annotations

from broker_core.contract.live import Broker
from broker_core.contract.sentences import Level
from console.rules.partitions import brokers
from console.rules.words import counted

AWAY = "Broker {} is not registered: it does not run, or ZooKeeper has not heard of it for as long as its session lasts."
EARLY = "Broker {} is gone: {} see its port refuse. It is registered until its session ends."


def broker_sentence(broker: Broker) -> tuple[Level, str]:
    """The level, and the words, in which no figure changes by itself."""
    name, folder = f"Broker {broker.broker_id}", broker.log_dir
    if broker.state != "online":
        words = EARLY.format(broker.broker_id, brokers(broker.gone_by)) if broker.gone_by else AWAY.format(broker.broker_id)
        return "bad", words + _lying(broker.replicas)
    if broker.feed.state != "live":
        return "unknown", f"{name} is registered, but has not been heard: what is shown is what was last known."
    if folder is not None and folder.level in ("warn", "bad"):
        return folder.level, f"{name} runs. {folder.sentence}"
    if broker.out_of_sync:
        return "warn", f"{name} runs, and replicas of it are out of sync: they lack records that their leaders have."
    if broker.replicas == 0:
        return "ok", f"{name} runs. It has no replica."
    return "ok", f"{name} runs, and all its replicas are in sync."


def _lying(replicas: int | None) -> str:
    return f" {counted(replicas, 'replica')} {'lies' if replicas == 1 else 'lie'} on it." if replicas else ""
