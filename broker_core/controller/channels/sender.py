"""Control requests over the network, one connection per broker for nothing else.

UpdateMetadata names a topic's partitions all at once: where they are thousands, they are encoded in slices between which others
have their turn.
"""

from __future__ import annotations

from typing import Any

from broker_core.client.pool import ChannelPool
from broker_core.config import ConfigHolder
from broker_core.controller.backlog import slices
from broker_core.controller.channels.requests import UPDATE_METADATA_KEY, ControlRequest, Payload
from broker_core.errors import ProtocolViolation
from broker_core.model import BrokerInfo
from broker_core.protocol.schema import Side
from broker_core.protocol.writer import EncodedItems, items_writer
from broker_core.seams import Node
from broker_core.storage.slices import Slices

PURPOSE = "control"


class ChannelSender:
    """A `ControlSender` over the broker's pool of channels."""

    def __init__(self, node: Node, channels: ChannelPool, config: ConfigHolder) -> None:
        self._node = node
        self._channels = channels
        self._config = config

    async def send(self, info: BrokerInfo, request: ControlRequest) -> Any:
        """The decoded response; an unreadable one counts as none."""
        payload = await self._in_pieces(request)
        endpoint = info.inter_broker(self._config.static.controller_listener_name)
        channel = self._channels.channel(endpoint.host, endpoint.port, PURPOSE)
        timeout_ms = self._config.current.controller_socket_timeout_ms
        try:
            return await channel.request(request.api_key, request.version, payload, timeout_ms)
        except ProtocolViolation as error:
            raise ConnectionError(f"broker {info.broker_id} answered what cannot be read: {error}") from error

    def hang_up(self, info: BrokerInfo) -> None:
        endpoint = info.inter_broker(self._config.static.controller_listener_name)
        self._channels.close(endpoint.host, endpoint.port, PURPOSE)

    async def _in_pieces(self, request: ControlRequest) -> Payload:
        """The payload, partitions of UpdateMetadata encoded already. All other requests are small."""
        if request.api_key != UPDATE_METADATA_KEY:
            return request.payload
        write = items_writer(request.api_key, request.version, Side.REQUEST, "topic_states", "partition_states")
        breath, topics = Slices(self._node), []
        for topic in request.payload["topic_states"]:
            out = bytearray()
            for part in slices(topic["partition_states"]):
                write(out, part)
                await breath.breathe(heavy=True)
            topics.append({**topic, "partition_states": EncodedItems(len(topic["partition_states"]), out)})
        return {**request.payload, "topic_states": topics}
