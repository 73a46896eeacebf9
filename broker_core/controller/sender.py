"""Control requests over the network, one connection per broker for nothing else."""

from __future__ import annotations

from typing import Any

from broker_core.client.pool import ChannelPool
from broker_core.config import ConfigHolder
from broker_core.controller.requests import ControlRequest
from broker_core.errors import ProtocolViolation
from broker_core.model import BrokerInfo

PURPOSE = "control"


class ChannelSender:
    """A `ControlSender` over the broker's pool of channels."""

    def __init__(self, channels: ChannelPool, config: ConfigHolder) -> None:
        self._channels = channels
        self._config = config

    async def send(self, info: BrokerInfo, request: ControlRequest) -> Any:
        """The decoded response; an unreadable one counts as none."""
        endpoint = info.inter_broker(self._config.static.inter_broker_listener_name)
        channel = self._channels.channel(endpoint.host, endpoint.port, PURPOSE)
        timeout_ms = self._config.current.controller_socket_timeout_ms
        try:
            return await channel.request(request.api_key, request.version, request.payload, timeout_ms)
        except ProtocolViolation as error:
            raise ConnectionError(f"broker {info.broker_id} answered what cannot be read: {error}") from error

    def hang_up(self, info: BrokerInfo) -> None:
        endpoint = info.inter_broker(self._config.static.inter_broker_listener_name)
        self._channels.close(endpoint.host, endpoint.port, PURPOSE)
