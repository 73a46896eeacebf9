"""The rhythms of groups (`console/rules/rhythm.py`), to be kept in the snapshot for the next owner: what a batch reader's lag is judged by
takes hours to learn. Pure.

A group that no broker names at present keeps its rhythm: it may be that its coordinator is starting, or that it has moved.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from console.rules.rhythm import Rhythm, to_keep
from console.snapshot import keys

ABSENT_LIMIT = 1_000
"""Groups that are named by nobody; those first that were longest so are forgotten."""


class Learnt:
    def __init__(self, recalled: Mapping[str, Rhythm]) -> None:
        self._absent: dict[str, Rhythm] = {}
        self._kept: dict[str, Rhythm] = {}
        self._changed: dict[str, Rhythm | None] = {}
        for group, rhythm in recalled.items():
            self.put_by(group, rhythm)

    def of(self, group: str) -> Rhythm:
        """Of a group that is named from now on."""
        return self._absent.pop(group, Rhythm())

    def put_by(self, group: str, rhythm: Rhythm) -> None:
        """Of a group that is not named any more."""
        self.note(group, rhythm)
        if group in self._kept:
            self._absent[group] = rhythm
        if len(self._absent) > ABSENT_LIMIT:
            longest = next(iter(self._absent))
            del self._absent[longest], self._kept[longest]
            self._changed[longest] = None

    def note(self, group: str, rhythm: Rhythm) -> None:
        """What is known of a group now."""
        kept = to_keep(rhythm)
        if kept is not None and kept != self._kept.get(group):
            self._kept[group] = self._changed[group] = kept

    def take_changes(self) -> Iterator[tuple[str, Rhythm | None]]:
        """(key, value) of those to be written; None of those forgotten."""
        changed, self._changed = self._changed, {}
        for group, rhythm in changed.items():
            yield keys.rhythm(group), rhythm

    def everything(self) -> dict[str, Rhythm]:
        return {keys.rhythm(group): rhythm for group, rhythm in self._kept.items()}
