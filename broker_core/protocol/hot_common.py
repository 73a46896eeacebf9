"""What the hand-made encoders of `hot_fetch` and `hot_produce` share: the tagged fields that tell a client where a leader is (KIP-951).

Made by hand are the messages of most of a cluster's traffic: fetches and produce responses. They are the same bytes as the compiled
codec's, without a mapping per partition: a Fetch response of 100 partitions takes a fifth of the codec's time. Heartbeat, OffsetCommit
and ListOffsets responses are left to the codec, which needs 1 µs and less than 1 µs a partition for them.
Read by hand (`by_hand`) are Produce and Fetch requests (`hot_produce_request`, `hot_fetch_request`) and, by followers, the answers to
theirs (`hot_fetched`).
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import NamedTuple

from broker_core.protocol.varint import unsigned

NO_LEADER_KNOWN = (-1, -1)
_TAG_ENDPOINTS = 0
_INT32 = struct.Struct(">i")
_LEADER_EPOCH = struct.Struct(">iiB")


class NodeEndpoint(NamedTuple):
    """Where a leader named in `current_leader` is reached; Fetch v16, Produce v10."""

    node_id: int
    host: str
    port: int
    rack: str | None


def leader_tag(tag: int, leader: tuple[int, int]) -> bytes:
    """A tagged (broker id, leader epoch)."""
    return bytes((tag, _LEADER_EPOCH.size)) + _LEADER_EPOCH.pack(*leader, 0)


def endpoints_section(endpoints: Sequence[NodeEndpoint]) -> bytes:
    """The tagged fields at the end of a response that may name leaders."""
    if not endpoints:
        return b"\0"
    body = bytearray(unsigned(len(endpoints) + 1))
    for endpoint in endpoints:
        host = endpoint.host.encode()
        rack = None if endpoint.rack is None else endpoint.rack.encode()
        body += _INT32.pack(endpoint.node_id) + unsigned(len(host) + 1) + host + _INT32.pack(endpoint.port)
        body += b"\0" if rack is None else unsigned(len(rack) + 1) + rack
        body.append(0)
    return bytes((1, _TAG_ENDPOINTS)) + unsigned(len(body)) + bytes(body)
