"""The picture's places: three columns of boxes, brokers, topics and groups, and curves between them. Pure.

It is as wide as a page; a state is told by a shape, and a curve's weight by what runs along it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import log10
from typing import NamedTuple

from console.rules.states import STATES
from console.rules.words import counted, whole
from console.topology.model import Focus, Kind, Stands, Topology

WIDTH, ROW, BOX = 1_200, 38, 30
"""Units of the picture; a row has a box and the space below it."""
LEFT: dict[Kind, int] = {"broker": 0, "topic": 430, "group": 900}
BREADTH: dict[Kind, int] = {"broker": 190, "topic": 340, "group": 300}
LETTERS: dict[Kind, int] = {"broker": 18, "topic": 34, "group": 29}
"""So many fit into a box."""
WEIGHT_MAX = 4.0


class Box(NamedTuple):
    focus: Focus
    label: str
    """Cut to what fits."""
    said: str
    level: str
    x: int
    y: float
    width: int
    is_chosen: bool


class Curve(NamedTuple):
    path: str
    weight: float
    level: str
    kind: str
    """`leads`, `follows` or `reads`."""
    said: str


class Picture(NamedTuple):
    width: int
    height: int
    box: int
    boxes: list[Box]
    curves: list[Curve]


def picture(found: Topology) -> Picture:
    boxes = [*_column("broker", _brokers(found), found), *_column("topic", _topics(found), found), *_column("group", _groups(found), found)]
    ends = {box.focus: box for box in boxes}
    curves = [*_standing(found.stands, ends), *_reading(found, ends)]
    curves.sort(key=lambda curve: (curve.level != "ok", curve.kind == "leads"))
    return Picture(WIDTH, _rows(found) * ROW, BOX, boxes, curves)


def _rows(found: Topology) -> int:
    return max(len(found.brokers), len(found.topics), len(found.groups), 1)


Row = tuple[str, str, str]
"""A name, what is said of it, and its level."""


def _brokers(found: Topology) -> list[Row]:
    said = "{}, leads {} of {} here"
    return [(str(one.broker_id), said.format(_words(one.state), one.leads, one.replicas), _level(one.state)) for one in found.brokers]


def _topics(found: Topology) -> list[Row]:
    return [(one.topic, f"{_words(one.state)}, {counted(one.partitions or 0, 'partition')}", _level(one.state)) for one in found.topics]


def _groups(found: Topology) -> list[Row]:
    """Beside what they read, so that curves cross less."""
    places = {one.topic: at for at, one in enumerate(found.topics)}
    read: dict[str, list[int]] = {}
    for one in found.reads:
        read.setdefault(one.group, []).append(places[one.topic])
    middle = {group: sum(at) / len(at) for group, at in read.items()}
    ordered = sorted(found.groups, key=lambda one: (middle.get(one.group, 0), one.group))
    return [(one.group, f"{_words(one.trend)}, {_lag(one.lag)}", _level(one.trend)) for one in ordered]


def _column(kind: Kind, rows: Sequence[Row], found: Topology) -> Iterable[Box]:
    """Spread over the picture's height."""
    step = _rows(found) * ROW / max(len(rows), 1)
    for at, (name, said, level) in enumerate(rows):
        focus = Focus(kind, name)
        shown = f"broker {name}" if kind == "broker" else " ".join(name.split())
        label = shown if len(shown) <= LETTERS[kind] else shown[: LETTERS[kind] - 1] + "…"
        y = step * at + (step - ROW) / 2
        yield Box(focus, label, f"{kind} {name}: {said}", level, LEFT[kind], round(y, 1), BREADTH[kind], focus.text == found.focus)


def _standing(stands: Sequence[Stands], ends: Mapping[Focus, Box]) -> Iterable[Curve]:
    most = max((one.leads for one in stands), default=0) or 1
    for one in stands:
        broker, topic = ends[Focus("broker", str(one.broker_id))], ends[Focus("topic", one.topic)]
        weight = 1 + (WEIGHT_MAX - 1) * one.leads / most
        yield Curve(_between(broker, topic), round(weight, 1), stands_level(one), "leads" if one.leads else "follows", stands_said(one))


def _reading(found: Topology, ends: Mapping[Focus, Box]) -> Iterable[Curve]:
    trends = {one.group: one.trend for one in found.groups}
    for one in found.reads:
        topic, group = ends[Focus("topic", one.topic)], ends[Focus("group", one.group)]
        level = "off" if one.lag is None else _level(trends[one.group]) if one.lag else "ok"
        weight = min(1 + log10((one.lag or 0) + 1) / 2, WEIGHT_MAX)
        yield Curve(_between(topic, group), round(weight, 1), level, "reads", f"group {one.group} reads {one.topic}: {_lag(one.lag)}")


def _between(left: Box, right: Box) -> str:
    from_x, from_y, to_x, to_y = left.x + left.width, left.y + BOX / 2, right.x, right.y + BOX / 2
    middle = (from_x + to_x) / 2
    return f"M{from_x:g} {from_y:g}C{middle:g} {from_y:g} {middle:g} {to_y:g} {to_x:g} {to_y:g}"


def stands_level(one: Stands) -> str:
    return "bad" if one.absent else "warn" if one.out_of_sync else "notice" if one.joining else "ok"


def stands_said(one: Stands) -> str:
    counts = ((one.in_sync, "in sync"), (one.joining, "being added"), (one.out_of_sync, "out of sync"), (one.absent, "not there"))
    told = [f"leads {whole(one.leads)}"] if one.leads else []
    told += [f"{whole(count)} {words}" for count, words in counts if count]
    return f"broker {one.broker_id} on {one.topic}: {', '.join(told)}"


def _lag(lag: int | None) -> str:
    return "lag unknown" if lag is None else f"{whole(lag)} behind"


def _level(state: str) -> str:
    return STATES[state].level if state in STATES else "off"


def _words(state: str) -> str:
    return STATES[state].words if state in STATES else state
