"""Where each broker stands in each partition, as small squares: a block a topic, in it a row a broker and a column a partition. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple, get_args

from broker_core.contract.partitions import Partition
from console.rules.words import counted, whole

Kind = Literal["leader", "follower", "joining", "behind", "lost"]
"""`lost`: its broker does not run, or the partition has no leader. What is worse comes later."""
KINDS: tuple[Kind, ...] = get_args(Kind)
WORDS: dict[Kind, str] = {
    "leader": "lead",
    "follower": "in sync",
    "joining": "being added",
    "behind": "out of sync",
    "lost": "not there: its broker does not run, or there is no leader",
}
LEVELS: dict[Kind, str] = {"leader": "ok", "follower": "ok", "joining": "notice", "behind": "warn", "lost": "bad"}
COLUMNS = 60
"""Partitions of a block; a topic with more has several."""
STEP, LOW_STEP, LOW_FROM = 10, 4, 24
"""Units of a row; rows are low with more brokers than that."""
NAMED = 24


class Block(NamedTuple):
    """`paths` are SVG's, by kind; `worst` names the state of its worst square in words."""

    topic: str
    label: str
    width: int
    height: int
    paths: list[tuple[Kind, str]]
    level: str
    worst: str


class HeatMap(NamedTuple):
    brokers: list[int]
    blocks: list[Block]
    sentence: str
    rows: str
    """Which broker is in which row."""


def heat_map(partitions: Sequence[Partition], online: Mapping[int, bool]) -> HeatMap:
    """`online` has all brokers that are known."""
    brokers = sorted({*online, *(broker for one in partitions for broker in one.assignment)})
    rows = {broker: at for at, broker in enumerate(brokers)}
    found: Counter[Kind] = Counter()
    blocks = [_block(some, rows, online, found) for some in _cut(partitions)]
    return HeatMap(brokers, blocks, _sentence(found, len(partitions), len(brokers)), _rows(brokers))


def kind_of(one: Partition, broker: int, online: Mapping[int, bool]) -> Kind:
    if one.leader is None or not online.get(broker, False):
        return "lost"
    if broker == one.leader:
        return "leader"
    if broker in one.isr:
        return "follower"
    return "joining" if one.reassigning and broker in one.reassigning.adding else "behind"


def _cut(partitions: Sequence[Partition]) -> Iterable[list[Partition]]:
    """What a block has: of one topic, in the order of numbers."""
    by_topic: dict[str, list[Partition]] = {}
    for one in partitions:
        by_topic.setdefault(one.topic, []).append(one)
    for some in by_topic.values():
        for first in range(0, len(some), COLUMNS):
            yield some[first : first + COLUMNS]


def _block(some: list[Partition], rows: Mapping[int, int], online: Mapping[int, bool], found: Counter[Kind]) -> Block:
    step = STEP if len(rows) <= LOW_FROM else LOW_STEP
    drawn: dict[Kind, list[str]] = {}
    for column, one in enumerate(some):
        for broker in one.assignment:
            kind = kind_of(one, broker, online)
            found[kind] += 1
            drawn.setdefault(kind, []).append(_square(kind, column * STEP, rows[broker] * step, step))
    worst: Kind = max(drawn, key=KINDS.index, default="leader")
    topic, first, last = some[0].topic, some[0].partition, some[-1].partition
    label = f"{topic}, {f'partition {first}' if first == last else f'partitions {first} to {last}'}"
    paths = [(kind, "".join(drawn[kind])) for kind in KINDS if kind in drawn]
    said = "all there and in sync" if LEVELS[worst] == "ok" else f"some {WORDS[worst]}"
    return Block(topic, label, len(some) * STEP, len(rows) * step, paths, LEVELS[worst], said)


def _square(kind: Kind, x: int, y: int, height: int) -> str:
    """A leader fills its place, a follower half of it; what is amiss is a cross, or a frame where nothing is."""
    high = height - 1
    if kind == "leader":
        return f"M{x} {y}h9v{high}h-9z"
    if kind == "follower":
        return f"M{x + 2} {y + high / 4:g}h5v{high / 2:g}h-5z"
    if kind == "behind":
        return f"M{x + 1} {y}L{x + 8} {y + high}M{x + 8} {y}L{x + 1} {y + high}"
    return f"M{x + 1} {y + 0.5}h7v{high - 1}h-7z"


def _sentence(found: Counter[Kind], partitions: int, brokers: int) -> str:
    told = [f"{whole(found[kind])} {WORDS[kind]}" for kind in KINDS if found[kind] or kind in ("leader", "behind")]
    where = f"{counted(partitions, 'partition')} on {counted(brokers, 'broker')}"
    return f"{where}; of {counted(sum(found.values()), 'replica')} {', '.join(told)}."


def _rows(brokers: Sequence[int]) -> str:
    if len(brokers) <= NAMED:
        return f"Rows are brokers {', '.join(map(str, brokers))} from the top."
    return f"Rows are {whole(len(brokers))} brokers from the top, {brokers[0]} to {brokers[-1]}."
