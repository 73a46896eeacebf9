"""In which version brokers send each other requests, by `inter.broker.protocol.version` as Kafka 3.9 does."""

from __future__ import annotations

from broker_core.config.inter_broker import LEAST, InterBrokerProtocol
from broker_core.protocol.api import ApiKey

_SINCE: dict[ApiKey, tuple[tuple[str, int], ...]] = {
    ApiKey.LEADER_AND_ISR: (("3.4-IV0", 7), ("3.2-IV0", 6), ("2.8-IV1", 5), (LEAST, 4)),
    ApiKey.UPDATE_METADATA: (("3.4-IV0", 8), ("2.8-IV1", 7), (LEAST, 6)),
    ApiKey.STOP_REPLICA: (("3.4-IV0", 4), (LEAST, 3)),
    ApiKey.CONTROLLED_SHUTDOWN: ((LEAST, 3),),
    ApiKey.FETCH: (("3.9-IV0", 17), ("3.7-IV4", 16), ("3.5-IV1", 15), ("3.5-IV0", 14), ("3.1-IV0", 13), (LEAST, 12)),
    ApiKey.LIST_OFFSETS: (("3.9-IV0", 9), ("3.5-IV0", 8), ("3.0-IV1", 7), ("2.8-IV0", 6), (LEAST, 5)),
    ApiKey.WRITE_TXN_MARKERS: (("2.8-IV0", 1), (LEAST, 0)),
    # Kafka asks the controller which versions it serves; one that is of the step serves at least this.
    ApiKey.ALTER_PARTITION: (("3.5-IV1", 3), ("3.3-IV3", 2), ("3.2-IV0", 1), ("2.7-IV2", 0)),
}
"""For each request the steps since which a version of it is sent, the latest first."""


def version_between_brokers(protocol: InterBrokerProtocol, key: ApiKey) -> int:
    """The version of a request to another broker; `ValueError` for one that is not sent in this protocol."""
    for since, version in _SINCE.get(key, ()):
        if protocol.is_at_least(since):
            return version
    raise ValueError(f"{key.name} is not sent between brokers of this protocol")
