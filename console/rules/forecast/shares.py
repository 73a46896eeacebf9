"""What the other brokers would have to carry: leaderships before and after, and what is known of their traffic and disks.

Brokers tell their own traffic; what one partition has of it nobody tells. So of what would come to a broker the bounds are said: what it
would be were every leadership of the stopped broker alike, and the most it can be, all of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated

from msgspec import Meta, Struct

from broker_core.contract.live import Broker, Count, Figure
from console.rules.words import size

NO_COPIES = "Nothing is copied to other brokers by a stop: their disks fill no faster than they do now."


class Share(Struct, frozen=True, kw_only=True, gc=False):
    """A broker that stays; figures are null where they are not known."""

    broker_id: int
    leaders: Count
    leaders_then: Count
    gains: int
    in_per_s: Annotated[Figure, Meta(description="bytes a second that producers write to it now")]
    in_if_even: Annotated[Figure, Meta(description="then, if each leadership of the stopped broker had as much as the others")]
    in_at_most: Annotated[Figure, Meta(description="then, if what comes to it had all the traffic of the stopped broker")]
    out_per_s: Annotated[Figure, Meta(description="bytes a second that are read from it now")]
    out_if_even: Figure
    out_at_most: Figure
    idle_percent: Figure
    free_bytes: Annotated[Count, Meta(description="of its fullest data folder's disk")]


def shares(stopped: Broker, others: Iterable[Broker], gains: Mapping[int, int]) -> tuple[Share, ...]:
    return tuple(_share(stopped, other, gains.get(other.broker_id, 0)) for other in others if other.broker_id != stopped.broker_id)


def _share(stopped: Broker, other: Broker, gains: int) -> Share:
    in_even, in_most = _bounds(other.bytes_in_per_s, stopped.bytes_in_per_s, gains, stopped.leaders)
    out_even, out_most = _bounds(other.bytes_out_per_s, stopped.bytes_out_per_s, gains, stopped.leaders)
    free = [f.free_bytes for f in (other.log_dir, *other.other_log_dirs) if f is not None and f.free_bytes is not None]
    return Share(
        broker_id=other.broker_id,
        leaders=other.leaders,
        leaders_then=None if other.leaders is None else other.leaders + gains,
        gains=gains,
        in_per_s=other.bytes_in_per_s,
        in_if_even=in_even,
        in_at_most=in_most,
        out_per_s=other.bytes_out_per_s,
        out_if_even=out_even,
        out_at_most=out_most,
        idle_percent=other.idle_percent,
        free_bytes=min(free, default=None),
    )


def _bounds(own: float | None, coming: float | None, gains: int, leaderships: int | None) -> tuple[float | None, float | None]:
    """(if all leaderships were alike, at most)."""
    if not gains:
        return own, own
    if own is None or coming is None:
        return None, None
    return (own + coming * min(gains / leaderships, 1) if leaderships else None), own + coming


def traffic_words(stopped: Broker, moved: int) -> str:
    """What has to be carried by others, and what of that is not known."""
    if not moved:
        return f"No traffic would come to other brokers. {NO_COPIES}"
    if stopped.bytes_in_per_s is None or stopped.bytes_out_per_s is None:
        unknown = f"How much is written to and read from broker {stopped.broker_id} is not known, so neither is what would come to others."
        return f"{unknown} {NO_COPIES}"
    return (
        f"{size(stopped.bytes_in_per_s)}/s are written to broker {stopped.broker_id} and {size(stopped.bytes_out_per_s)}/s read from it. "
        f"What each partition has of that, and what a broker can carry at most, is not known: below is what others would have if all were "
        f"alike, and the most it can be. {NO_COPIES}"
    )
