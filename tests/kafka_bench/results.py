"""What was measured so far, in a JSON file that is whole after each row, so that a run which was interrupted goes on."""

from __future__ import annotations

import os
import platform
from importlib.metadata import version
from pathlib import Path

import confluent_kafka
import msgspec
from msgspec import Struct, field

from tests.bench.world import commit
from tests.support.kafka_jars import KAFKA_VERSION

Figures = dict[str, float]


class Sample(Struct, frozen=True):
    """One row of one kind of brokers in one round. A row that failed has its reason, and what it found before."""

    row: str
    kind: str
    round: int
    at: str
    seconds: float
    load_before: float
    figures: Figures
    error: str | None = None


class Machine(Struct, frozen=True):
    processor: str
    cores: int
    memory_gb: float
    system: str
    folder: str
    """Of the brokers' data: in memory or on a disk."""


class Document(Struct):
    began: str
    commit: str
    quick: bool
    machine: Machine
    versions: dict[str, str]
    samples: list[Sample] = field(default_factory=list)

    def of(self, row: str, kind: str, figure: str) -> dict[int, float]:
        """The figure by round, of the samples that have it."""
        return {s.round: s.figures[figure] for s in self.samples if s.row == row and s.kind == kind and figure in s.figures}

    def has(self, row: str, kind: str, number: int) -> bool:
        return any((s.row, s.kind, s.round) == (row, kind, number) and s.error is None for s in self.samples)

    def add(self, sample: Sample) -> None:
        """In place of an earlier try."""
        key = (sample.row, sample.kind, sample.round)
        self.samples = [s for s in self.samples if (s.row, s.kind, s.round) != key] + [sample]


def load(path: Path) -> Document | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=Document)
    except FileNotFoundError:
        return None


def save(document: Document, path: Path) -> None:
    """Never half: a reader sees the file before or after."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    part.write_bytes(msgspec.json.format(msgspec.json.encode(document), indent=1) + b"\n")
    part.replace(path)


def machine(folder: str) -> Machine:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    return Machine(_processor(), os.cpu_count() or 1, round(memory, 1), f"{platform.system()} {platform.release()}", folder)


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return "unknown"
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown")


def new(began: str, quick: bool, folder: str, java: str) -> Document:
    versions = {
        "Apache Kafka": KAFKA_VERSION,
        "Highwater": f"{version('highwater')} ({commit()})",
        "Java": java,
        "Python": platform.python_version(),
        "librdkafka": confluent_kafka.libversion()[0],
    }
    return Document(began, commit(), quick, machine(folder), versions)
