"""What the page of moves is told by its form: all that was chosen so far comes back with each press of a button.

Topics and the plan's replicas stand in one field each, a line a topic or partition, as a form has at most 500 fields.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from console.errors import Invalid
from console.jobs.reassignment import Reassignment, parse_assignments
from console.listing import Wanted, page_of_names
from console.planning.model import AIMS, Goal
from console.snapshot.placed import Place
from console.snapshot.read import Snapshot

GOALS = ("to", "factor", "away", "leaders", "balance")
TOPICS_LIMIT = 5_000
FILE_BYTES_LIMIT = 1_000_000
Assignment = dict[str, Any]
REASSIGNMENT = Reassignment()


class Chosen(NamedTuple):
    """What is to move, and what is wanted; `partitions` only of one topic, none: all."""

    topics: list[str]
    partitions: list[int]
    kind: str
    to: tuple[int, ...]
    replication_factor: int | None
    away: int | None
    instead: int | None
    leaders: bool

    def goal(self) -> Goal:
        if self.kind == "leaders":
            return Goal(leaders=True)
        if self.kind == "balance":
            return Goal(aims=tuple(aim for aim in AIMS if aim != "traffic"))  # of which no partition's is known
        if self.kind == "away":
            if self.away is None:
                raise Invalid("away", "Choose the broker to be emptied.")
            return Goal(away=(self.away,), instead=self.instead, leaders=self.leaders)
        if self.kind == "factor":
            if self.replication_factor is None:
                raise Invalid("rf", "Say how many replicas each partition shall have, from 1 to 100.")
            return Goal(to=self.to, replication_factor=self.replication_factor, leaders=self.leaders)
        if not self.to:
            raise Invalid("to", "Choose the brokers to move to.")
        return Goal(to=self.to, leaders=self.leaders)

    def places(self) -> list[Place]:
        return [Place(self.topics[0], number) for number in self.partitions] if len(self.topics) == 1 else []


NOTHING = Chosen([], [], "to", (), None, None, None, leaders=False)


def chosen_of(request: Any) -> Chosen:
    form = request.POST if request.method == "POST" else request.GET
    kind = form.get("goal", "")
    return Chosen(
        topics=_topics(form),
        partitions=sorted(set(_numbers(form.getlist("partition")))),
        kind=kind if kind in GOALS else "to",
        to=tuple(sorted(set(_numbers(form.getlist("to"))))),
        replication_factor=_between(form.get("rf", ""), 1, 100),
        away=_number(form.get("away", "")),
        instead=_number(form.get("instead", "")),
        leaders=form.get("leaders") == "1",
    )


def _topics(form: Any) -> list[str]:
    """Those chosen before and now, without what was taken out."""
    if form.get("clear"):
        return []
    names = dict.fromkeys([*form.get("chosen", "").split(), *form.getlist("topic")])
    names.pop(form.get("drop", ""), None)
    if len(names) > TOPICS_LIMIT:
        raise Invalid("topics", f"Choose at most {TOPICS_LIMIT} topics at a time.")
    return sorted(names)


def matching(snapshot: Snapshot, q: str) -> list[str]:
    """All topics with that in their names; `Invalid` where they are too many."""
    found = page_of_names(snapshot, Wanted(kind="topic", q=q), 1, TOPICS_LIMIT)
    if found.total > TOPICS_LIMIT:
        raise Invalid("topics", f"{found.total} topics match: narrow the search to {TOPICS_LIMIT}.")
    return list(found.names)


def _numbers(texts: Iterable[str]) -> list[int]:
    return [number for text in texts if (number := _number(text)) is not None]


def _number(text: str) -> int | None:
    return _between(text, 0, 2**31 - 1)


def _between(text: str, least: int, most: int) -> int | None:
    text = text.strip()
    found = int(text) if text.isascii() and text.isdigit() and len(text) < 11 else None
    return found if found is not None and least <= found <= most else None


# --- the plan


def uploaded(request: Any) -> list[Assignment]:
    """Of a file, or of what was pasted; `Invalid` says what is wrong with it."""
    file = request.FILES.get("file")
    if file is None:
        return checked(request.POST.get("assignments", ""))
    if file.size > FILE_BYTES_LIMIT:
        raise Invalid("assignments", "The file is larger than 1 MB.")
    try:
        return checked(file.read().decode())
    except UnicodeDecodeError as error:
        raise Invalid("assignments", "The file is not text.") from error


def checked(text: str) -> list[Assignment]:
    return list(REASSIGNMENT.checked({"assignments": parse_assignments(text)})["assignments"])


def plan_text(rows: Iterable[Mapping[str, Any]]) -> str:
    return "\n".join(f"{row['topic']} {row['partition']} {','.join(map(str, row['replicas']))}" for row in rows)


def struck_of(request: Any) -> set[Place]:
    """The rows that were struck out, with the one that was struck out or put back now."""
    found = {_place(line) for line in request.POST.get("struck", "").splitlines() if line.strip()}
    if "strike" in request.POST:
        found.add(_place(request.POST["strike"]))
    if "unstrike" in request.POST:
        found.discard(_place(request.POST["unstrike"]))
    return found


def _place(text: str) -> Place:
    topic, _, number = text.strip().rpartition("/")
    return Place(topic, _number(number) or 0)


def edited(rows: Sequence[Assignment], request: Any) -> list[Assignment]:
    """With the replica put in or taken out, or put in front, that was pressed."""
    at, act, broker = _press(request)
    if at is None:
        return list(rows)
    return [{**row, "replicas": _pressed(row["replicas"], act, broker)} if (row["topic"], row["partition"]) == at else row for row in rows]


def edited_place(request: Any) -> Place | None:
    """The row that was edited now, which stays open."""
    return _press(request)[0]


def _press(request: Any) -> tuple[Place | None, str, int | None]:
    for act in ("toggle", "first"):
        if act in request.POST:
            place, _, broker = request.POST[act].rpartition("/")
            return _place(place), act, _number(broker)
    return None, "", None


def _pressed(replicas: list[int], act: str, broker: int | None) -> list[int]:
    """The last replica stays."""
    if broker is None:
        return replicas
    others = [one for one in replicas if one != broker]
    if act == "first":
        return [broker, *others] if broker in replicas else replicas
    return [*replicas, broker] if broker not in replicas else others or replicas
