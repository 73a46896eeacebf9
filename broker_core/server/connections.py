"""All connections of one broker: makes their handlers and counts them (limits are the listener's, spec N1)."""

from __future__ import annotations

from broker_core.handlers.registry import ConnectionInfo
from broker_core.handlers.services import BrokerServices
from broker_core.seams import Clock, FrameHandler, Peer
from broker_core.server.connection import Connection
from broker_core.server.strangers import Strangers
from broker_core.telemetry.metrics import BrokerMetrics


class Connections:
    """`accept` is what a listener calls for each new connection."""

    def __init__(self, metrics: BrokerMetrics, clock: Clock) -> None:
        self._metrics = metrics
        self._strangers = Strangers(clock)

    def accept(self, services: BrokerServices, listener: str, peer: Peer) -> FrameHandler:
        self._metrics.connections_total += 1
        self._metrics.connections += 1
        info = ConnectionInfo(self._metrics.connections_total, peer, listener)
        return Connection(services, info, self._metrics, self._strangers, self._closed)

    def _closed(self) -> None:
        self._metrics.connections -= 1
