"""Where the high watermark of a led partition may stand: the offset below which every record is committed.

It is the least log end offset over the leader, every member of the maximal ISR, and every other live follower that was
caught up within the lag time: such a follower is about to join, and would never reach a mark that runs ahead of it.
While the ISR is smaller than the minimum the mark stands still (KAFKA-15583). It never falls; the log holds that part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from broker_core.replication.follower_state import FollowerState


def effective_min_isr(min_insync_replicas: int, replica_count: int) -> int:
    """The minimum in force: a topic with fewer replicas than `min.insync.replicas` needs all it has."""
    return min(min_insync_replicas, replica_count)


def committable_offset(
    leader_leo: int,
    followers: Iterable[FollowerState],
    maximal_isr: tuple[int, ...],
    *,
    now_ms: float,
    lag_max_ms: float,
    is_alive: Callable[[int], bool],
) -> int:
    """The highest offset that the replicas allow; below the present mark where one of them is still unknown."""
    offset = leader_leo
    for follower in followers:
        if follower.log_end_offset >= offset:
            continue
        if follower.broker_id in maximal_isr or (follower.is_caught_up(leader_leo, now_ms, lag_max_ms) and is_alive(follower.broker_id)):
            offset = follower.log_end_offset
    return offset
