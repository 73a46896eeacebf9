"""What the system writes by itself is bounded: a week of it stays under 5 GB."""

from __future__ import annotations

import contextlib
from pathlib import Path

from confluent_kafka.admin import AdminClient, NewTopic

from broker_core.cli.system import LOG_LIMIT_BYTES
from broker_core.local.layout import BROKER_IDS
from console.live.sampling.samples import SAMPLES_CONFIG, SAMPLES_PARTITIONS
from console.live.sampling.spool import LIMIT_BYTES as SPOOL_BYTES
from tests.support.clients import produce
from tests.support.cluster import eventually
from tests.support.console_system import ConsoleSystem
from workers.demo.shapes import SHAPES

MIB = 1024 * 1024
WEEK_BYTES = 5_000 * MIB
COMPACTED_BYTES = 8 * MIB
"""A compacted demo partition: 200 keys, and what the cleaner has not seen yet."""
OFFSETS_BYTES = 3 * 2 * 16 * MIB
"""Three groups' partitions of `__consumer_offsets`: a clean and a full active segment."""
DATABASE_BYTES, PARQUET_BYTES, ZOOKEEPER_BYTES = 256 * MIB, 512 * MIB, 512 * MIB
PROGRAMS = 12
SEGMENT, RETAINED, WRITTEN = MIB, 2 * MIB, 8 * MIB


def partition_bytes(config: dict[str, str]) -> int:
    """Retention keeps at least `retention.bytes`, and the segment that is written comes on top."""
    if "compact" in config.get("cleanup.policy", ""):
        return COMPACTED_BYTES
    return int(config["retention.bytes"]) + int(config["segment.bytes"])


def test_a_week_fits_into_5_gb() -> None:
    demo = sum(shape.partitions * shape.replication_factor * partition_bytes(shape.config) for shape in SHAPES)
    samples = SAMPLES_PARTITIONS * len(BROKER_IDS) * partition_bytes(SAMPLES_CONFIG)
    logs = PROGRAMS * 2 * LOG_LIMIT_BYTES
    rest = SPOOL_BYTES + len(BROKER_IDS) * OFFSETS_BYTES + DATABASE_BYTES + PARQUET_BYTES + ZOOKEEPER_BYTES
    assert demo + samples + logs + rest < WEEK_BYTES


def test_retention_by_size_applies(system: ConsoleSystem) -> None:
    """On every replica the log starts later, and the files are gone."""
    admin = AdminClient({"bootstrap.servers": system.bootstrap_servers})
    config = {"segment.bytes": str(SEGMENT), "retention.bytes": str(RETAINED)}
    admin.create_topics([NewTopic("kept", 1, 3, config=config)])["kept"].result(30)
    produce(system, "kept", [b"x" * 10_000] * (WRITTEN // 10_000))
    folders = [system.layout.broker_folder(broker_id) / "log" / "kept-0" for broker_id in BROKER_IDS]
    eventually(lambda: all(0 < log_bytes(folder) <= RETAINED + SEGMENT for folder in folders), 60, "files within the bound")


def log_bytes(folder: Path) -> int:
    """Of the files that are there; the broker removes some while they are listed."""
    sizes = []
    for path in folder.glob("*.log*"):
        with contextlib.suppress(FileNotFoundError):
            sizes.append(path.stat().st_size)
    return sum(sizes)
