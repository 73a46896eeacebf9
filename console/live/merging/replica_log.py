"""What is known of one replica's log: its own words, the leader's sight of it, or what either last knew. Pure.

1. A replica that is heard speaks for itself; of one that is silent but still fetches, the leader knows the log end.
2. Else the last known figures are told with `last_seen_ms`, the time they were last true: the replica's own last words or the
   leader's last sight of it, whichever is later; after a restart of `live`, what the snapshot before had.
3. A high watermark much older than the log end beside it is not told: it would be taken for one of the same moment.
"""

from __future__ import annotations

from dataclasses import dataclass

from broker_core.contract.feed import Follower, Replica

FETCHES_MS = 2_000
"""A follower that has not fetched for this long is no longer seen by its leader."""
SAME_MOMENT_MS = 3_000


@dataclass(frozen=True, slots=True)
class ReplicaLog:
    """Offsets of a replica; `last_seen_ms` is None while they are current, and where nothing was ever known."""

    log_end_offset: int | None = None
    high_watermark: int | None = None
    last_seen_ms: int | None = None


NEVER = ReplicaLog()


def last_words(row: Replica | None, heard_at_ms: int | None, predecessor: ReplicaLog | None) -> ReplicaLog:
    """What a silent broker last said: its feed told every change up to `heard_at_ms`."""
    if row is None or heard_at_ms is None:
        return NEVER if predecessor is None or heard_at_ms is not None else predecessor
    return ReplicaLog(row.log_end_offset, row.high_watermark, heard_at_ms)


def known_log(own: ReplicaLog, seen: Follower | None, fetch_age_ms: int | None, now_ms: int, *, alive: bool) -> ReplicaLog:
    """Of a replica that is not heard; `seen` is the row its leader has of it, `fetch_age_ms` how old that is."""
    end = seen.log_end_offset if seen else None
    if end is None or fetch_age_ms is None:
        return own if own.log_end_offset is not None else NEVER
    seen_ms = now_ms - fetch_age_ms
    if alive and fetch_age_ms <= FETCHES_MS:
        return ReplicaLog(end, _of_the_moment(own, seen_ms), None)
    if own.last_seen_ms is not None and own.log_end_offset is not None and own.last_seen_ms >= seen_ms:
        return own
    return ReplicaLog(end, _of_the_moment(own, seen_ms), seen_ms)


def _of_the_moment(own: ReplicaLog, at_ms: int) -> int | None:
    return own.high_watermark if own.last_seen_ms is not None and at_ms - own.last_seen_ms <= SAME_MOMENT_MS else None
