"""What waits to be sent to one browser: one latest value per key, and whether it has to start over. Pure."""

from __future__ import annotations

from broker_core.contract.frames import Values
from console.live.browser.subscription import Subscription


class Outbox:
    """Between snapshot and changes: what a snapshot already contains (its seq or below) is not sent again."""

    def __init__(self, wanted: Subscription) -> None:
        self.wanted = wanted
        self.stale = True
        self.seq = 0
        self.round = 0
        self._values: Values = {}
        self._offered: dict[str, int] = {}

    def offer(self, seq: int, values: Values) -> bool:
        """Keeps what is wanted; True if there is now something to send."""
        wanted = {key: value for key, value in values.items() if self.wanted.wants(key)}
        for key, value in wanted.items():
            self._values[key] = value
            self._offered[key] = seq
        if not self.stale and self._values:
            self.seq = max(self.seq, seq)
        return bool(wanted) and not self.stale

    def change(self, wanted: Subscription) -> None:
        self.wanted = wanted
        self.start_over()

    def start_over(self) -> None:
        self.stale = True
        self.round += 1
        self._values.clear()
        self._offered.clear()

    def snapshot_taken(self, seq: int, asked_in_round: int) -> None:
        """The snapshot at `seq` was read: only what came after it is still to be sent. One asked for before the last
        `start_over` may lack something, so it does not count."""
        if asked_in_round != self.round:
            return
        for key in [key for key, offered in self._offered.items() if offered <= seq]:
            del self._values[key], self._offered[key]
        self.stale, self.seq = False, max([seq, *self._offered.values()])

    def take(self) -> tuple[int, Values]:
        values, self._values, self._offered = self._values, {}, {}
        return self.seq, values
