"""How many replicas brokers would have after partitions are added, and whether that is many. Pure.

Where the new replicas go is the controller's choice; it spreads them evenly, so a broker's share is told as "about".
"""

from __future__ import annotations

from collections.abc import Mapping

from console.rules.words import counted, whole

Load = dict[int, tuple[int, int]]
"""Replicas by broker: now, and about how many then."""


def load_after(now: Mapping[int, int], partitions: int, copies: int) -> Load:
    """`now` has the brokers that are online and their replicas; each of `partitions` new ones gets `copies`."""
    share = -(-partitions * copies // len(now)) if now else 0
    return {broker: (count, count + share) for broker, count in sorted(now.items())}


def load_risks(what: str, load: Load, limit: int) -> list[str]:
    """A sentence where a broker would have more than `limit` replicas and this adds to them; none for a limit of 0."""
    most = max((then for _, then in load.values()), default=0)
    if not limit or most <= limit or all(now == then for now, then in load.values()):
        return []
    rows = "; ".join(f"broker {broker} from {whole(now)} to about {whole(then)}" for broker, (now, then) in load.items())
    return [
        f"{what} gives brokers more than {counted(limit, 'replica')} (HIGHWATER_REPLICAS_WARN): {rows}. "
        "Each costs files, memory and time at every start and failover, and takes minutes to make; partitions cannot be taken away again."
    ]
