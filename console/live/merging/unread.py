"""How many records of each topic its groups have not read, kept by difference so that no list has to add up. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from broker_core.contract.groups import Reader


class Unread:
    def __init__(self) -> None:
        self._sums: dict[str, tuple[int, int]] = {}
        """(groups whose lag is known, their records) by topic."""
        self._changed: set[str] = set()

    def of(self, topic: str) -> int | None:
        """Summed over its groups; None where no group's lag is known."""
        groups, records = self._sums.get(topic, (0, 0))
        return records if groups else None

    def replace(self, before: Mapping[str, Reader], after: Mapping[str, Reader]) -> None:
        """One group's lags by topic, as they were and as they are."""
        for topic in before.keys() | after.keys():
            old, new = before.get(topic), after.get(topic)
            if old != new:
                self._add(topic, old, -1)
                self._add(topic, new, 1)
                self._changed.add(topic)

    def _add(self, topic: str, reader: Reader | None, sign: int) -> None:
        if reader is None or reader.lag is None:
            return
        groups, records = self._sums.get(topic, (0, 0))
        if groups + sign:
            self._sums[topic] = (groups + sign, records + sign * reader.lag)
        else:
            del self._sums[topic]

    def take_changed(self) -> set[str]:
        """Topics whose sum, or whose groups, are others since it was asked last."""
        changed, self._changed = self._changed, set()
        return changed
