"""Requests of versions that Kafka 4.0 takes no more, by who sent them: what Kafka counts as DeprecatedRequestsPerSec (KIP-896), and from
where the last one came. Clients name themselves as they like: what is kept of their names, and of how many, has a limit."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

KEPT = 50
NAME_CHARACTERS = 100


class Sender(Struct, frozen=True, gc=False):
    """One sort of request of one client; `software` is what it says of itself in ApiVersions v3 or later, else `unknown`."""

    api: str
    api_version: int
    software: str
    software_version: str
    client_id: str


class Seen(Struct, gc=False):
    """How many came, and when (milliseconds since 1970) and from which host the last one did."""

    count: int
    last_ms: int
    host: str


class OldRequests:
    """Of one broker, since its start. Of more than `KEPT` senders the one that has been silent for longest makes room."""

    def __init__(self) -> None:
        self._seen: dict[Sender, Seen] = {}

    def note(self, sender: Sender, host: str, now_ms: int) -> None:
        before = self._seen.pop(sender, None)
        self._seen[sender] = Seen(1 if before is None else before.count + 1, now_ms, host)
        if len(self._seen) > KEPT:
            del self._seen[next(iter(self._seen))]

    def rows(self) -> Iterable[tuple[Sender, Seen]]:
        """The one heard of last comes last."""
        return self._seen.items()
