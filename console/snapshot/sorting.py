"""What lists of topics and groups can be sorted by: each column has a sorted set of names, whose scores are made here. Pure.

The lowest score comes first, which is a column's usual order: the most first of numbers, the worst first of states; names are in order
within a score. What is not known has the score `UNKNOWN` and comes last in either order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple

from broker_core.contract.groups import Group, Trend
from broker_core.contract.partitions import PartitionState, Topic
from console.rules.partitions import DELETING, SAFE, STARTING

Kind = Literal["topic", "group"]
UNKNOWN = 1e300
NAME = "name"
RANK: dict[PartitionState, int] = {"offline": -4, "under_min_isr": -3, "under_replicated": -2, "unknown": -1}
"""Of what is not safe: the worst comes first."""
STATE_RANK: dict[PartitionState, int] = {**RANK, STARTING: 0, DELETING: 1, SAFE: 2}
GROUP_STATES = ("Dead", "PreparingRebalance", "CompletingRebalance", "Stable", "Empty")
TRENDS: tuple[Trend, ...] = ("stopped", "stalled", "falling_behind", "steady", "catching_up", "in_rhythm", "caught_up")
LETTERS = 6


class Column(NamedTuple):
    """`score` of a value, None where it is not known; `falls`: its usual order is the descending one."""

    score: Callable[[Any], float | None]
    falls: bool = True


def _figure(field: str) -> Column:
    def score(value: Any) -> float | None:
        found = getattr(value, field)
        return None if found is None else -found

    return Column(score)


def _many(field: str) -> Column:
    return Column(lambda value: -len(getattr(value, field)))


def _place(field: str, order: tuple[str, ...]) -> Column:
    def score(value: Any) -> float | None:
        found = getattr(value, field)
        return order.index(found) if found in order else None

    return Column(score)


def _letters(field: str) -> Column:
    """By the first letters, as far as a score holds them exactly."""

    def score(value: Any) -> float | None:
        text = getattr(value, field)
        return int.from_bytes(text.lower().encode()[:LETTERS].ljust(LETTERS, b"\0"), "big") if text else None

    return Column(score, falls=False)


def topic_rank(state: PartitionState, name: str) -> int:
    """The worst first; of the same state, what people made before what the system made for itself."""
    return 2 * STATE_RANK[state] + name.startswith("__")


def name_score(kind: Kind, name: str) -> int:
    """Topics that the system made for itself are the last."""
    return int(kind == "topic" and name.startswith("__"))


TOPIC_FIGURES = (
    *("partitions", "replication_factor", "out_of_sync_replicas", "under_min_isr", "offline"),
    *("messages", "messages_per_s", "size_bytes", "groups", "lag", "leader_skew"),
)
COLUMNS: Mapping[Kind, Mapping[str, Column]] = {
    "topic": {
        "state": Column(lambda topic: topic_rank(topic.state, topic.topic)),
        **{field: _figure(field) for field in TOPIC_FIGURES},
    },
    "group": {
        "state": _place("state", GROUP_STATES),
        "protocol": _letters("protocol"),
        "members": _many("members"),
        "topics": _many("topics"),
        "lag": _figure("lag"),
        "lag_s": _figure("lag_s"),
        "trend": _place("trend", TRENDS),
        "coordinator": Column(lambda group: group.coordinator, falls=False),
    },
}
"""By field; names have a sorted set of their own (`topic_names`, `group_names`)."""


def index_of(kind: Kind, column: str) -> str:
    """The sorted set of a column, as `keys.named` takes it."""
    return f"{kind}_names" if column == NAME else f"{kind}s_by:{column}"


def falls(kind: Kind, column: str) -> bool:
    """Whether the column's usual order is the descending one."""
    return column != NAME and COLUMNS[kind][column].falls


def indexes(kind: Kind) -> list[str]:
    """All that name every topic, or group."""
    return [index_of(kind, column) for column in (NAME, *COLUMNS[kind])]


def scores(kind: Kind, name: str, value: Topic | Group | None) -> list[tuple[str, str, float | None]]:
    """(sorted set, member, score) for each column; the score is None where the value is gone."""
    if value is None:
        return [(index, name, None) for index in indexes(kind)]
    found: list[tuple[str, str, float | None]] = [(index_of(kind, NAME), name, name_score(kind, name))]
    for column, (score, _) in COLUMNS[kind].items():
        known = score(value)
        found.append((index_of(kind, column), name, UNKNOWN if known is None else known))
    return found
