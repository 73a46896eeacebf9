"""Reassignment: each partition that is named gets the replicas that are named, under a throttle where one is given."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from typing import Annotated, Any, TypeGuard

from pydantic import Field, WithJsonSchema

from console.errors import Invalid
from console.jobs.kind import Form, Id, JobKind, Name, Parameters
from console.rules.move_window import AT_ONCE, AT_ONCE_MOST
from console.rules.words import counted, whole

ASSIGNMENTS_LIMIT = 1_000
"""Each step of a job reads and writes all its rows, and has to end within 10 s; the controller takes them in one request."""
UNITS = {"b": 1, "kib": 2**10, "mib": 2**20, "gib": 2**30, "kb": 10**3, "mb": 10**6, "gb": 10**9}
WHOLE = re.compile(r"[0-9]{1,10}")
RATE = re.compile(r"(?P<number>\d{1,12}(?:\.\d{1,6})?) ?(?P<unit>[kmg]i?b|b)?(?:/s)?", re.ASCII | re.IGNORECASE)


class Assignment(Parameters):
    topic: Name
    partition: Id
    replicas: list[Id] = Field(min_length=1, max_length=100)


RATE_SHAPE = {"type": "integer", "minimum": 1, "maximum": 2**63 - 1}
STEERED_SHAPE = {
    "type": "object",
    "properties": {"floor": RATE_SHAPE, "ceiling": RATE_SHAPE},
    "required": ["floor", "ceiling"],
    "additionalProperties": False,
}
THROTTLE_WORDS = (
    "Of a reassignment: bytes a second on each broker, or a floor and a ceiling between which it is steered as slows no one down"
)

AT_ONCE_WORDS = f"Partitions that a broker copies at a time, of a reassignment; {AT_ONCE}, and more where they are small"
AtOnce = Annotated[int | None, Field(strict=True, ge=1, le=AT_ONCE_MOST, description=AT_ONCE_WORDS)]
Throttle = Annotated[Any, WithJsonSchema({"anyOf": [RATE_SHAPE, STEERED_SHAPE, {"type": "null"}], "description": THROTTLE_WORDS})]


class ReassignmentParameters(Parameters):
    """What a throttle is refused for, `checked` says: the words for a choice of two types would name neither."""

    assignments: list[Assignment] | None = Field(default=None, min_length=1, max_length=ASSIGNMENTS_LIMIT)
    throttle: Throttle = None
    at_once: AtOnce = None


class Reassignment(JobKind):
    """Several may be active at a time, as long as they move different partitions and one of them throttles at most."""

    name = "reassignment"
    cancel_means = "Replicas being added are dropped again and each partition keeps those it had; finished moves stay, a throttle goes."
    pause_means = "Moves that are under way go on, no other begins; a throttle stays."
    parameters = ReassignmentParameters
    form = Form("move", "Type a reassignment…")
    names_brokers = True

    def checked(self, params: Mapping[str, Any]) -> dict[str, Any]:
        checked = {"throttle": checked_throttle(params.get("throttle")), "at_once": _at_once(params.get("at_once"))}
        return {"assignments": _assignments(params.get("assignments"))} | {name: value for name, value in checked.items() if value}

    def of_form(self, fields: Mapping[str, str]) -> dict[str, Any]:
        params = {"assignments": parse_assignments(fields.get("assignments", ""))}
        return params | of_pace(fields)

    def topics(self, params: Mapping[str, Any]) -> Collection[str]:
        return {row["topic"] for row in params["assignments"]}

    def absent(self, params: Mapping[str, Any], sizes: Mapping[str, int], online: Collection[int]) -> Invalid | None:
        for index, row in enumerate(params["assignments"]):
            topic, partition, field = row["topic"], row["partition"], f"assignments.{index}"
            if topic not in sizes:
                return Invalid(f"{field}.topic", f"There is no topic {topic}.")
            if partition >= sizes[topic]:
                return Invalid(f"{field}.partition", f"{topic} has no partition {partition}: it has {counted(sizes[topic], 'partition')}.")
            if absent := [broker for broker in row["replicas"] if broker not in online]:
                known = ", ".join(map(str, sorted(online))) or "none"
                return Invalid(f"{field}.replicas", f"{topic}-{partition}: broker {absent[0]} is not online. Online: {known}.")
        return None

    def clash(self, params: Mapping[str, Any], other: int, state: str, theirs: Mapping[str, Any]) -> str:
        if params.get("throttle") and theirs.get("throttle"):
            return f"Job {other} throttles brokers and is {state}: one throttle at a time, or one would undo the other."
        wanted = {(row["topic"], row["partition"]) for row in params["assignments"]}
        taken = next((row for row in theirs["assignments"] if (row["topic"], row["partition"]) in wanted), None)
        return "" if taken is None else f"{taken['topic']}-{taken['partition']} is being moved by job {other}, which is {state}."


def of_pace(fields: Mapping[str, str]) -> dict[str, Any]:
    """What a form says of how fast it goes."""
    found = {"throttle": parse_throttle(fields.get("throttle", "")), "at_once": _typed_at_once(fields.get("at_once", ""))}
    return {name: value for name, value in found.items() if value is not None}


def _typed_at_once(text: str) -> int | None:
    """As typed: what is no number is said to be none later on."""
    text = text.strip()
    return None if not text else int(text) if WHOLE.fullmatch(text) else 0


def _at_once(count: Any) -> int | None:
    if count is None:
        return None
    if not isinstance(count, int) or isinstance(count, bool) or not 1 <= count <= AT_ONCE_MOST:
        raise Invalid("at_once", f"Give how many partitions a broker copies at a time, from 1 to {whole(AT_ONCE_MOST)}, or nothing.")
    return count


def fastest(throttle: int | Mapping[str, int]) -> int:
    """Of a throttle as it is kept, fixed or steered."""
    return throttle if isinstance(throttle, int) else throttle["ceiling"]


def slowest(throttle: int | Mapping[str, int]) -> int:
    """The rate that it begins with, too."""
    return throttle if isinstance(throttle, int) else throttle["floor"]


def checked_throttle(rate: Any) -> int | dict[str, int] | None:
    if rate is None:
        return None
    if isinstance(rate, Mapping):
        return _steered(rate)
    if not isinstance(rate, int) or isinstance(rate, bool) or not 1 <= rate < 2**63:
        raise Invalid("throttle", "Give a throttle of at least 1 byte a second, or none.")
    return rate


def _steered(throttle: Mapping[str, Any]) -> dict[str, int]:
    if extra := sorted(map(str, throttle.keys() - {"floor", "ceiling"})):
        raise Invalid("throttle", f"A steered throttle has a floor and a ceiling, and no {extra[0][:40]}.")
    found = {name: _bound(name, throttle.get(name)) for name in ("floor", "ceiling")}
    if found["floor"] >= found["ceiling"]:
        raise Invalid("throttle", "The ceiling must be above the floor.")
    return found


def _bound(name: str, rate: Any) -> int:
    if not isinstance(rate, int) or isinstance(rate, bool) or not 1 <= rate < 2**63:
        raise Invalid("throttle", f"Give a {name} of at least 1 byte a second.")
    return rate


def _assignments(rows: Any) -> list[dict[str, Any]]:
    if not isinstance(rows, list) or not rows:
        raise Invalid("assignments", 'Give a list of {"topic", "partition", "replicas"}.')
    if len(rows) > ASSIGNMENTS_LIMIT:
        raise Invalid(
            "assignments",
            f"A job moves at most {whole(ASSIGNMENTS_LIMIT)} partitions, as it looks at all of them at each step: start several.",
        )
    seen: set[tuple[str, int]] = set()
    return [_assignment(row, f"assignments.{index}", seen) for index, row in enumerate(rows)]


def _assignment(row: Any, field: str, seen: set[tuple[str, int]]) -> dict[str, Any]:
    topic, partition, replicas = (row.get(name) for name in ("topic", "partition", "replicas")) if isinstance(row, dict) else (None,) * 3
    if not isinstance(topic, str) or not topic:
        raise Invalid(f"{field}.topic", "Name the topic.")
    if not _is_id(partition):
        raise Invalid(f"{field}.partition", "Give the partition's number.")
    if not isinstance(replicas, list) or not replicas or not all(_is_id(b) for b in replicas):
        raise Invalid(f"{field}.replicas", "Give the broker ids, the preferred leader first.")
    if len(set(replicas)) != len(replicas):
        raise Invalid(f"{field}.replicas", f"A broker is named twice: {replicas}.")
    if _names_folders(row):
        raise Invalid(f"{field}.log_dirs", "log_dirs can only be any: a replica is not moved to a folder by name here.")
    if (topic, partition) in seen:
        raise Invalid(field, f"{topic}-{partition} is named twice.")
    seen.add((topic, partition))
    return {"topic": topic, "partition": partition, "replicas": replicas}


def _names_folders(row: Mapping[str, Any]) -> bool:
    """Kafka's own JSON may say where on a broker a replica goes; `any` is what happens here."""
    folders = row.get("log_dirs")
    return folders is not None and (not isinstance(folders, list) or any(folder != "any" for folder in folders))


def _is_id(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31


def parse_assignments(text: str) -> Any:
    """The form's text: JSON as in REST or as Kafka's own tool has it, or a line `topic partition broker,broker,…` for each partition."""
    if text.lstrip().startswith(("[", "{")):
        try:
            found = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise Invalid("assignments", f"This is not JSON: {error}.") from error
        return (found.get("assignments") or found.get("partitions")) if isinstance(found, dict) else found
    return [_line(line) for line in text.splitlines() if line.strip()]


def parse_rate(text: str) -> int | None:
    """The form's throttle: bytes a second as `1000000`, `500 KiB` or `10 MiB`; None where it is empty."""
    if not text.strip():
        return None
    match = RATE.fullmatch(text.strip())
    if match is None:
        raise Invalid("throttle", f"{text.strip()[:40]!r} is not a rate: give bytes a second, as 10 MiB or 1000000.")
    return int(float(match["number"]) * UNITS[(match["unit"] or "b").lower()])


def parse_throttle(text: str) -> int | dict[str, int] | None:
    """The form's throttle: a rate, or `5 MiB to 50 MiB` for one that is steered in between."""
    floor, to, ceiling = re.sub(r"\s+", " ", text).partition(" to ")
    if not to:
        return parse_rate(text)
    lowest, highest = parse_rate(floor), parse_rate(ceiling)
    if lowest is None or highest is None:
        raise Invalid("throttle", "Give both the floor and the ceiling, as 5 MiB to 50 MiB.")
    return {"floor": lowest, "ceiling": highest}


def typed_throttle(throttle: int | Mapping[str, int]) -> str:
    """What `parse_throttle` reads as this one."""
    return str(throttle) if isinstance(throttle, int) else f"{throttle['floor']} to {throttle['ceiling']}"


def _line(line: str) -> dict[str, Any]:
    words = line.split(None, 2)
    brokers = words[2].replace(",", " ").split() if len(words) == 3 else []
    if len(words) != 3 or not all(map(WHOLE.fullmatch, (words[1], *brokers))):
        raise Invalid("assignments", f"{line.strip()[:80]!r} is not: topic partition broker,broker,…")
    return {"topic": words[0], "partition": int(words[1]), "replicas": [int(b) for b in brokers]}
