"""All connections of one broker: makes their handlers and keeps their number within `max.connections` (SOURCES N1)."""

from __future__ import annotations

import logging

from broker_core.config import ConfigHolder
from broker_core.handlers.registry import ConnectionInfo
from broker_core.handlers.services import BrokerServices
from broker_core.seams import FrameHandler, Peer
from broker_core.server.connection import Connection
from broker_core.telemetry.metrics import BrokerMetrics

log = logging.getLogger(__name__)


class Connections:
    """`accept` raises `ConnectionRefusedError` for a connection too many; the listener closes it."""

    def __init__(self, config: ConfigHolder, metrics: BrokerMetrics) -> None:
        self._config = config
        self._metrics = metrics
        self._open: dict[int, str] = {}
        self._by_host: dict[str, int] = {}

    def accept(self, services: BrokerServices, listener: str, peer: Peer) -> FrameHandler:
        self._check(peer)
        self._metrics.connections_total += 1
        connection_id = self._metrics.connections_total
        self._open[connection_id] = peer.host
        self._by_host[peer.host] = self._by_host.get(peer.host, 0) + 1
        self._metrics.connections = len(self._open)
        return Connection(services, ConnectionInfo(connection_id, peer, listener), self._metrics, self._closed)

    def _check(self, peer: Peer) -> None:
        current = self._config.current
        if len(self._open) >= current.max_connections:
            raise ConnectionRefusedError(f"max.connections={current.max_connections} are open")
        if self._by_host.get(peer.host, 0) >= current.max_connections_per_ip:
            raise ConnectionRefusedError(f"max.connections.per.ip={current.max_connections_per_ip} of {peer.host} are open")

    def _closed(self, connection_id: int) -> None:
        host = self._open.pop(connection_id, None)
        if host is None:
            return
        self._by_host[host] -= 1
        if not self._by_host[host]:
            del self._by_host[host]
        self._metrics.connections = len(self._open)
