"""How many records of each topic its groups have not read, kept by difference so that no list has to add up. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from console.live.merging.groups import Reading


class Unread:
    def __init__(self) -> None:
        self._sums: dict[str, tuple[int, int, int]] = {}
        """(groups whose lag is known, their records, groups of which nobody knows it) by topic."""
        self._changed: set[str] = set()

    def of(self, topic: str) -> int | None:
        """Summed over its groups; None where no group's lag is known, or that of one cannot be."""
        groups, records, unknown = self._sums.get(topic, (0, 0, 0))
        return records if groups and not unknown else None

    def replace(self, before: Mapping[str, Reading], after: Mapping[str, Reading]) -> None:
        """One group's lags by topic, as they were and as they are."""
        for topic in before.keys() | after.keys():
            old, new = before.get(topic), after.get(topic)
            if old != new:
                self._add(topic, old, -1)
                self._add(topic, new, 1)
                self._changed.add(topic)

    def _add(self, topic: str, reading: Reading | None, sign: int) -> None:
        if reading is None or (reading.reader.lag is None and not reading.is_unknown):
            return
        groups, records, unknown = self._sums.get(topic, (0, 0, 0))
        if reading.is_unknown:
            unknown += sign
        else:
            groups, records = groups + sign, records + sign * (reading.reader.lag or 0)
        if groups or unknown:
            self._sums[topic] = (groups, records, unknown)
        else:
            del self._sums[topic]

    def take_changed(self) -> set[str]:
        """Topics whose sum, or whose groups, are others since it was asked last."""
        changed, self._changed = self._changed, set()
        return changed
