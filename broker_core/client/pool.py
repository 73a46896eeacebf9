"""Channels by broker address and purpose, so that a slow fetch never delays a control request."""

from __future__ import annotations

from broker_core.client.request import CONNECT_TIMEOUT_MS, MAX_IN_FLIGHT, BrokerChannel
from broker_core.seams import Node

ChannelKey = tuple[str, int, str]


class ChannelPool:
    """Keeps one channel per (host, port, purpose) and replaces those that closed."""

    def __init__(
        self, node: Node, client_id: str, *, max_in_flight: int = MAX_IN_FLIGHT, connect_timeout_ms: float = CONNECT_TIMEOUT_MS
    ) -> None:
        self._node = node
        self._client_id = client_id
        self._max_in_flight = max_in_flight
        self._connect_timeout_ms = connect_timeout_ms
        self._channels: dict[ChannelKey, BrokerChannel] = {}

    def channel(self, host: str, port: int, purpose: str) -> BrokerChannel:
        """The open channel of that key, or a new one; what has closed meanwhile is forgotten."""
        key = (host, port, purpose)
        found = self._channels.get(key)
        if found is not None and not found.closed:
            return found
        self._channels = {each: channel for each, channel in self._channels.items() if not channel.closed}
        channel = BrokerChannel(
            self._node, host, port, self._client_id, max_in_flight=self._max_in_flight, connect_timeout_ms=self._connect_timeout_ms
        )
        self._channels[key] = channel
        return channel

    def close(self, host: str, port: int, purpose: str) -> None:
        channel = self._channels.pop((host, port, purpose), None)
        if channel is not None:
            channel.close()

    def close_all(self) -> None:
        for channel in self._channels.values():
            channel.close()
        self._channels = {}
