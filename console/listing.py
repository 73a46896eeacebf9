"""Lists of all topics and all groups: filtered and in order by the indexes of the snapshot, so that only the rows of a page are read.

A filter is a set of names that some index has (or a text in the name itself); what is left of a column's order is cut into pages. Pages
are counted from the front; REST's cursors go on after a row's score and name.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, fields
from functools import reduce
from typing import Literal, get_args

from broker_core.contract.partitions import PartitionState
from console.queries import BadCursor, BadQuery, cursor, known_choice, page_of, read_cursor
from console.snapshot.ordered import Mark
from console.snapshot.read import Snapshot
from console.snapshot.sorting import COLUMNS, GROUP_STATES, NAME, STATE_RANK, Kind, falls

Order = Literal["", "asc", "desc"]
PAGE_ROWS = 50
SCORE = re.compile(r"-?\d{1,40}(\.\d{1,20})?(e[+-]?\d{1,3})?")
CHUNK = 1_000
"""Names read at a time while rows for a filter are looked for."""
ORDERS = get_args(Order)[1:]
STARS = ("first", "only")
STATES: dict[Kind, tuple[str, ...]] = {"topic": get_args(PartitionState), "group": GROUP_STATES}


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is wanted of a list; empty where it does not matter. `q` is a part of the name in any case of letters; `internal` is `0` or
    `1`; `lag` `1`: only with lag; `troubled` `1`: only topics with a partition that is not safe; `group`: only topics that it reads;
    `topic`: only groups that read it; `stars`: a person's favourites `first` or `only`."""

    kind: Kind
    q: str = ""
    state: str = ""
    troubled: str = ""
    internal: str = ""
    lag: str = ""
    group: str = ""
    topic: str = ""
    stars: str = ""
    sort: str = ""
    order: str = ""

    @property
    def column(self) -> str:
        return self.sort or ("state" if self.troubled else NAME)

    @property
    def falling(self) -> bool:
        """Whether the order is descending."""
        return falls(self.kind, self.column) if not self.order else self.order == "desc"

    @property
    def turned(self) -> bool:
        return self.falling != falls(self.kind, self.column)

    def checked(self) -> Wanted:
        """Itself; `BadQuery` for a value that is none of those known."""
        for name, choices in self.choices().items():
            known_choice(name, getattr(self, name), choices)
        if self.order and not self.sort:
            raise BadQuery("order", "order says which way sort goes: give sort, too.")
        return self

    def choices(self) -> dict[str, Sequence[str]]:
        """Of the fields that take only some values: which."""
        once = ("1",)
        own: dict[str, Sequence[str]] = {"stars": STARS}
        own |= {"troubled": once, "internal": ("0", "1")} if self.kind == "topic" else {}
        return {"state": STATES[self.kind], "lag": once, "sort": (NAME, *COLUMNS[self.kind]), "order": ORDERS, **own}

    def asked(self) -> dict[str, str]:
        """What is not left out, as an address has it."""
        return {field.name: value for field in fields(self) if field.name != "kind" and (value := getattr(self, field.name))}

    def filters(self) -> dict[str, str]:
        """Those of them that hide rows."""
        return {
            name: value for name, value in self.asked().items() if name not in ("sort", "order") and (name, value) != ("stars", "first")
        }


# --- filters


def _sets(snapshot: Snapshot, wanted: Wanted) -> Iterator[set[str]]:
    """Names that each filter leaves, but for the ones that look at the name itself."""
    kind = wanted.kind
    if wanted.state:
        yield snapshot.scored(kind, "state", *_state_scores(wanted))
    if wanted.troubled:
        yield set(snapshot.troubled_topics())
    if wanted.lag:
        yield snapshot.scored(kind, "lag", float("-inf"), -1)
    if wanted.group:
        found = snapshot.group(wanted.group)
        yield set(found.topics) if found else set()
    if wanted.topic:
        yield snapshot.reader_names(wanted.topic)


def _state_scores(wanted: Wanted) -> tuple[float, float]:
    if wanted.kind == "group":
        return (GROUP_STATES.index(wanted.state),) * 2
    first = 2 * next(rank for state, rank in STATE_RANK.items() if state == wanted.state)
    return first, first + 1


class _Filter:
    def __init__(self, snapshot: Snapshot, wanted: Wanted, favourites: Collection[str] = ()) -> None:
        sets = list(_sets(snapshot, wanted))
        if wanted.stars == "only":
            sets.append(set(favourites))
        self._names = reduce(set.intersection, sets) if sets else None
        self._text = wanted.q.lower()
        self._internal = wanted.internal

    @property
    def is_open(self) -> bool:
        return self._names is None and not self._text and not self._internal

    def keeps(self, name: str) -> bool:
        if self._names is not None and name not in self._names:
            return False
        if self._internal and name.startswith("__") != (self._internal == "1"):
            return False
        return self._text in name.lower()


# --- pages


@dataclass(frozen=True, slots=True)
class Names:
    """The names on a page, its number and the last one's, and how many there are on all."""

    names: Sequence[str]
    page: int
    last: int
    total: int


def page_of_names(snapshot: Snapshot, wanted: Wanted, page: int, size: int = PAGE_ROWS, favourites: Collection[str] = ()) -> Names:
    kept = _Filter(snapshot, wanted, favourites)
    are_first = wanted.stars == "first" and bool(favourites)
    if kept.is_open and not are_first:
        total = snapshot.how_many(wanted.kind)
        _, page, last = page_of(range(total), page, size)
        marks = snapshot.ordered(wanted.kind, wanted.column, (page - 1) * size, size, turned=wanted.turned)
        return Names([mark.name for mark in marks], page, last, total)
    every = snapshot.ordered(wanted.kind, wanted.column, turned=wanted.turned)
    names = [mark.name for mark in every if kept.keeps(mark.name)]
    if are_first:
        names.sort(key=lambda name: name not in favourites)
    shown, page, last = page_of(names, page, size)
    return Names(shown, page, last, len(names))


# --- cursors


def names_after(snapshot: Snapshot, wanted: Wanted, text: str | None, limit: int) -> tuple[list[str], str | None]:
    """Up to `limit` names from after the cursor on, and the next cursor; None where the list is at its end."""
    kept, found = _Filter(snapshot, wanted), list[Mark]()
    for mark in _walk(snapshot, wanted, text, limit + 1 if kept.is_open else CHUNK):
        if kept.keeps(mark.name):
            found.append(mark)
        if len(found) > limit:
            return [one.name for one in found[:limit]], _cursor_at(wanted, found[limit - 1])
    return [one.name for one in found], None


def _walk(snapshot: Snapshot, wanted: Wanted, text: str | None, chunk: int) -> Iterator[Mark]:
    after = _mark_of(wanted, text) if text else None
    while True:
        if after is None:
            some = snapshot.ordered(wanted.kind, wanted.column, 0, chunk, turned=wanted.turned)
        else:
            some = snapshot.ordered_after(wanted.kind, wanted.column, after, chunk, turned=wanted.turned)
        yield from some
        if len(some) < chunk:
            return
        after = some[-1]


def _cursor_at(wanted: Wanted, mark: Mark) -> str:
    return cursor(json.dumps([wanted.column, wanted.falling, *mark]))


def _mark_of(wanted: Wanted, text: str) -> Mark:
    """The row that the cursor was made at; `BadCursor` for one of a list in another order."""
    try:
        column, falling, score, name = json.loads(read_cursor(text))
        name.encode()
        is_ours = SCORE.fullmatch(score) is not None
    except (ValueError, TypeError, AttributeError) as error:
        raise BadCursor from error
    if not is_ours or (column, falling) != (wanted.column, wanted.falling):
        raise BadCursor
    return Mark(score, name)
