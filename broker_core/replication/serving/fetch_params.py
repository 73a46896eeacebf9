"""A fetch request apart from its partitions."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from broker_core.model import NO_EPOCH
from broker_core.storage.log import PartitionLog

NO_REPLICA = -1
FOLLOWERS_SERVE_SINCE = 11
SOFT_LIMITS_SINCE = 3


class FetchParams(Struct):
    """`replica_id` is -1 for a consumer; `replica_epoch` is the follower's broker epoch, -1 below v15.

    `held_back` is asked once, when a consumer's answer is there, with its bytes: whether its client has to wait for its quota first and
    gets nothing for now.
    `leader_only`: followers replicate from the leader; consumers below v11 cannot be sent to a follower, so none serves them.
    """

    version: int
    max_wait_ms: int
    min_bytes: int
    max_bytes: int
    replica_id: int = NO_REPLICA
    replica_epoch: int = NO_EPOCH
    read_committed: bool = False
    rack: str = ""
    held_back: Callable[[int], bool] | None = None
    from_follower: bool = False
    leader_only: bool = False

    def __post_init__(self) -> None:
        self.from_follower = self.replica_id >= 0
        self.leader_only = self.from_follower or self.version < FOLLOWERS_SERVE_SINCE

    @property
    def first_batch_whatever_its_size(self) -> bool:
        """From v3 on a batch larger than the limits is sent alone; before, the client had to raise its limits."""
        return self.version >= SOFT_LIMITS_SINCE

    def bound(self, log: PartitionLog) -> int:
        """The exclusive offset up to which this client may read."""
        if self.from_follower:
            return log.log_end_offset
        return log.last_stable_offset if self.read_committed else log.high_watermark
