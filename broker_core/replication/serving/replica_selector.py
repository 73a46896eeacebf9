"""Which replica a consumer should read from (KIP-392; spec R10).

Only followers that are in the ISR and hold the wanted offset are candidates. The leader stays the choice unless a rule
prefers a follower; the leader alone redirects, so that two followers never point at each other (KAFKA-13778).
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

RACK_AWARE = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
RANDOM = "highwater.RandomReplicaSelector"


class Candidate(Struct, frozen=True):
    """A replica that could serve the fetch; `behind_ms` is the time since it was caught up (0 for the leader)."""

    broker_id: int
    rack: str | None
    log_end_offset: int
    behind_ms: float


def by_rack(candidates: Sequence[Candidate], leader: Candidate, client_rack: str) -> int:
    """The leader if it stands in the client's rack, else the most caught-up candidate there, else the leader."""
    if not client_rack or leader.rack == client_rack:
        return leader.broker_id
    near = [candidate for candidate in candidates if candidate.rack == client_rack]
    if not near:
        return leader.broker_id
    return max(near, key=lambda replica: (replica.log_end_offset, -replica.behind_ms, -replica.broker_id)).broker_id


def at_random(candidates: Sequence[Candidate], leader: Candidate, draw: float) -> int:
    """Any of the leader and the candidates with equal chance, as MetaQ reads from its slaves; `draw` is in [0, 1)."""
    everyone = [leader, *candidates]
    return everyone[int(draw * len(everyone))].broker_id


def select(kind: str | None, candidates: Sequence[Candidate], leader: Candidate, client_rack: str, draw: float) -> int | None:
    """The follower to read from by the selector named `kind`; None means the leader."""
    if kind == RACK_AWARE:
        chosen = by_rack(candidates, leader, client_rack)
    elif kind == RANDOM:
        chosen = at_random(candidates, leader, draw)
    else:
        return None
    return None if chosen == leader.broker_id else chosen
