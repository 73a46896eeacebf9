"""All quotas of a broker's clients, as ZooKeeper has them: each change of a znode below `/config/users`, `clients` or `ips` comes here."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Mapping

from broker_core.config import BrokerConfig, ConfigHolder
from broker_core.config.key import INT_MAX
from broker_core.quotas.connection_quota import ConnectionQuota, normal
from broker_core.quotas.entities import (
    CONNECTION_CREATION_RATE,
    CONSUMER_BYTE_RATE,
    CONTROLLER_MUTATION_RATE,
    IP,
    PRODUCER_BYTE_RATE,
    REQUEST_PERCENTAGE,
    Entity,
    entity_at,
)
from broker_core.quotas.mutation_quota import MutationQuota
from broker_core.quotas.rate import Windows
from broker_core.quotas.rate_quota import RateQuota
from broker_core.quotas.toll import FREE, Toll
from broker_core.seams import ConnectionThrottled

log = logging.getLogger(__name__)

VALUE_CHARS = 400


class ClientQuotas:
    """`is_set` is all that a request costs while no client has a quota.

    The windows are those of the start (Kafka's are not dynamic either); `max.connection.creation.rate` may change.
    """

    def __init__(self, config: ConfigHolder, protected_listener: str | None = None) -> None:
        windows = windows_of(config.static)
        static = config.static
        self.is_set = False
        self.produce = RateQuota(windows)
        self.fetch = RateQuota(windows)
        self.request = RateQuota(windows, most_ms=windows.size_ms)
        self.mutations = MutationQuota(Windows(static.controller_quota_window_num, static.controller_quota_window_size_seconds * 1000.0))
        self.connections = ConnectionQuota(windows, lambda: config.current.max_connection_creation_rate, protected_listener)
        self.throttled: dict[str, int] = dict.fromkeys((*self._quotas(), CONNECTION_CREATION_RATE), 0)
        """How often each quota has made somebody wait."""
        self.throttled_ms = 0
        """How long clients were told to wait, in all."""

    def _quotas(self) -> dict[str, RateQuota | MutationQuota]:
        return {
            PRODUCER_BYTE_RATE: self.produce,
            CONSUMER_BYTE_RATE: self.fetch,
            REQUEST_PERCENTAGE: self.request,
            CONTROLLER_MUTATION_RATE: self.mutations,
        }

    def toll(self, principal: str, client_id: str | None, monotonic_ms: Callable[[], float], spent_ms: Callable[[], float]) -> Toll:
        """What one request costs its client. `spent_ms`: how long it has been handled, without waiting."""
        if not self.is_set:
            return FREE
        return Toll(self, principal.partition(":")[2], client_id or "", monotonic_ms, spent_ms)

    def changed(self, path: str, values: Mapping[str, str]) -> None:
        """All that is set for an entity, by its path below `/config`. What somebody wrote past Kafka's checks is logged and left out."""
        entity = entity_at(path)
        if entity is None:
            log.error("a quota in ZooKeeper is nobody's", extra={"path": path})
        elif IP in entity:
            address = entity[IP]
            limit = _number(path, CONNECTION_CREATION_RATE, values)
            self.connections.put(
                address if address is None else normal(address), None if limit is None else int(max(0.0, min(limit, INT_MAX)))
            )
        else:
            self._client_changed(path, entity, values)

    def _client_changed(self, path: str, entity: Entity, values: Mapping[str, str]) -> None:
        changed = False
        for key, quota in self._quotas().items():
            changed |= quota.limits.put(entity, _number(path, key, values))
            quota.changed()
        self.is_set = any(quota.limits for quota in self._quotas().values())
        if changed:
            log.info("quota changed", extra={"path": path, "limits": {key: values[key] for key in self._quotas() if key in values}})

    def opened(self, listener: str, host: str, now_ms: float) -> float:
        """When the requests of a new connection are served (`ConnectionQuota.opened`)."""
        try:
            return self.connections.opened(listener, host, now_ms)
        except ConnectionThrottled:
            self.throttled[CONNECTION_CREATION_RATE] += 1
            raise

    def count(self, key: str, throttled_ms: int) -> None:
        self.throttled[key] += 1
        self.throttled_ms += throttled_ms


def windows_of(config: BrokerConfig) -> Windows:
    return Windows(config.quota_window_num, config.quota_window_size_seconds * 1000.0)


def _number(path: str, key: str, values: Mapping[str, str]) -> float | None:
    text = values.get(key)
    if text is None:
        return None
    try:
        if len(text) > VALUE_CHARS:
            raise ValueError("too long")
        number = float(text)
        if math.isnan(number):
            raise ValueError("not a number")
    except ValueError:
        log.error("a quota in ZooKeeper is no number", extra={"path": path, "key": key, "value": text})
        return None
    return number
