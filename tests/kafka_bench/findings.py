"""What the samples say of each row and measure: both kinds' spreads, and ours by Kafka's. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import Enum

from msgspec import Struct

from tests.kafka_bench.results import Document
from tests.kafka_bench.row import Better, Measure, Row
from tests.kafka_bench.statistics import Spread, paired_ratios, spread

KAFKA, OURS = "kafka", "highwater"
CLIENT_BOUND_SHARE = 0.9
EVEN_WITHIN = 0.05
ONCE_MEASURED = 0.2
"""How far a ratio without a spread may fall before it is told."""


class Verdict(Enum):
    REACHED = "goal reached"
    AHEAD = "ahead"
    EVEN = "even"
    BEHIND = "behind"
    UNKNOWN = "not known"


class Finding(Struct, frozen=True):
    """`ratio` is ours by Kafka's, by rounds that both have; None where one of them has no figure."""

    row: Row
    measure: Measure
    kafka: Spread | None
    ours: Spread | None
    ratio: Spread | None
    client_bound: bool

    @property
    def verdict(self) -> Verdict:
        if self.ratio is None:
            return Verdict.UNKNOWN
        if self.ratio.least <= 1 <= self.ratio.most or abs(self.ratio.middle - 1) < EVEN_WITHIN:
            return Verdict.EVEN
        if self.measure.goal is not None and self._beats(self.ratio.middle, self.measure.goal, or_equal=True):
            return Verdict.REACHED
        return Verdict.AHEAD if self._beats(self.ratio.middle, 1.0) else Verdict.BEHIND

    def _beats(self, value: float, other: float, *, or_equal: bool = False) -> bool:
        if value == other:
            return or_equal
        return (value > other) is (self.measure.better is Better.MORE)

    def fell_since(self, before: Finding) -> bool:
        """Whether each of its ratios is worse than each of those before."""
        if self.ratio is None or before.ratio is None:
            return False
        room = 1 + (ONCE_MEASURED if 1 in (self.ratio.count, before.ratio.count) else 0)
        if self.measure.better is Better.MORE:
            return self.ratio.most * room < before.ratio.least
        return self.ratio.least > before.ratio.most * room


def findings(document: Document, rows: Iterable[Row]) -> Iterator[Finding]:
    """Of each row that was measured at all, chapter by chapter."""
    rows = list(rows)
    chapters = list(dict.fromkeys(row.chapter for row in rows))
    for row in sorted(rows, key=lambda row: chapters.index(row.chapter)):
        for measure in row.measures:
            kafka, ours = (document.of(row.name, kind, measure.name) for kind in (KAFKA, OURS))
            if kafka or ours:
                ratio = spread(paired_ratios(ours, kafka))
                yield Finding(row, measure, spread([*kafka.values()]), spread([*ours.values()]), ratio, _client_bound(document, row))


def _client_bound(document: Document, row: Row) -> bool:
    """Whether a client had nearly a whole core in most rounds of ours: the brokers could have done more."""
    found = spread([*document.of(row.name, OURS, "client_cpu_share").values()])
    return found is not None and found.middle > CLIENT_BOUND_SHARE


def falls(before: Document, now: Document, rows: Iterable[Row]) -> list[str]:
    """A sentence for each ratio that fell beyond both spreads, and what of its row fell with it."""
    rows = list(rows)
    known = {(finding.row.name, finding.measure.name): finding for finding in findings(before, rows)}
    fallen: dict[str, list[str]] = {}
    for finding in findings(now, rows):
        earlier = known.get((finding.row.name, finding.measure.name))
        if earlier is not None and finding.fell_since(earlier):
            assert finding.ratio is not None and earlier.ratio is not None
            words = f"{finding.measure.words} {earlier.ratio.middle:.2f} → {finding.ratio.middle:.2f}"
            fallen.setdefault(finding.row.name, []).append(words)
    return [f"{name} fell against Kafka: {', '.join(parts)}" for name, parts in fallen.items()]
