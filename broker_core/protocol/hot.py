"""Hand-made encoders for the messages that make up most of a cluster's traffic: fetches and produce responses.

They give the same bytes as the compiled codec, without a mapping per partition: a Fetch response of 100 partitions takes a
fifth of the codec's time. Heartbeat, OffsetCommit and ListOffsets responses are left to the codec, which needs 1 µs and
less than 1 µs a partition for them.
"""

from broker_core.protocol.hot_common import NodeEndpoint
from broker_core.protocol.hot_fetch import (
    FetchedTopic,
    FetchPartitionResult,
    FetchPosition,
    FollowerFetch,
    encode_fetch_request,
    encode_fetch_response,
)
from broker_core.protocol.hot_produce import ProducedPartition, encode_produce_response

__all__ = [
    "FetchPartitionResult",
    "FetchPosition",
    "FetchedTopic",
    "FollowerFetch",
    "NodeEndpoint",
    "ProducedPartition",
    "encode_fetch_request",
    "encode_fetch_response",
    "encode_produce_response",
]
