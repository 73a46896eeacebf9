"""What a row of the bench is: what it does to a cluster, and which figures come of it."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

from msgspec import Struct

from tests.kafka_bench.cluster import Cluster
from tests.kafka_bench.pace import Pace
from tests.kafka_bench.results import Document, Figures


class Better(Enum):
    MORE = "more"
    LESS = "less"


class Measure(Struct, frozen=True):
    """A figure of a row; `goal` is what ours by Kafka's is to reach."""

    name: str
    words: str
    unit: str
    better: Better
    goal: float | None = None


class Stage(Enum):
    """What lives beside the cluster that is measured: the other kind's, both warmed; or nothing, and it is not started yet."""

    BESIDE = "beside"
    ALONE = "alone"


class Turn(Struct, frozen=True):
    """One row's turn with one cluster. Figures are put into `figures` as they are found: what fails later takes none away."""

    cluster: Cluster
    pace: Pace
    document: Document
    number: int
    figures: Figures


class Row(Struct, frozen=True):
    name: str
    words: str
    chapter: str
    measures: tuple[Measure, ...]
    run: Callable[[Turn], None]
    stage: Stage = Stage.BESIDE
    most_rounds: int = 100
    most_seconds: float = 150.0
    needs: str | None = None
    """A row whose figures it uses: done first."""
