"""How much of the loop one connection gets before the next one's turn.

A request that needs nothing but the loop is answered without a pause, and thousands of them fit into what a client may send
ahead. So a connection serves a few, then stands in line again, also when nobody else does: timers and other sockets are
looked at between turns. Kafka reads one request of a connection at a time and gives the next handler the oldest of all.
"""

from __future__ import annotations

REQUESTS_MAX = 16
"""Enough for a client that pipelines small requests to lose under a hundredth of its pace to the turns of the loop between."""
TURN_MS = 2.0
"""A turn ends with the request that passes this, be it by work or by waiting: who waited has let the others go first."""


class Turn:
    """One turn, begun at `began_ms` (any monotonic clock)."""

    __slots__ = ("_began_ms", "_requests")

    def __init__(self, began_ms: float) -> None:
        self._began_ms = began_ms
        self._requests = 0

    def served(self, now_ms: float) -> bool:
        """Counts a request; whether there may be another one in this turn."""
        self._requests += 1
        return self._requests < REQUESTS_MAX and now_ms - self._began_ms < TURN_MS
