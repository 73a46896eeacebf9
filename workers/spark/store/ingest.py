"""From the topic into Parquet: each batch of Spark's query is one folder a day, and counts once the query has committed it.

A batch that is done again, after its driver was killed, has the same offsets (they are in the checkpoint before it begins), and takes
the place of what was left of it.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock

from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from workers.spark.parsing import REASONS, parse
from workers.spark.schemas import SAMPLE
from workers.spark.store.layout import BATCH, DAY

MOST_RECORDS_PER_BATCH = 500_000
RECONNECT_MAX_MS = 10_000
"""Between two tries to reach a broker that is away: each is a line in the log."""
MOST_EXAMPLES = 20
"""Records set aside that are named, a batch."""
SAMPLES, CHECKPOINT, ASIDE, INCOMING = "samples", "checkpoint", "aside", "incoming"
Clock = Callable[[], int]


@dataclass(frozen=True)
class Ingest:
    store: Path
    keep_ms: int
    clock: Clock

    turn: Lock = field(default_factory=Lock)
    """Held while a batch is put where it belongs: who tidies the store takes it too."""

    def begin(self, spark: SparkSession, bootstrap_servers: str, topic: str, every_s: int = 0) -> StreamingQuery:
        """The query: up to the topic's end as of now, or, with a period in seconds, whatever comes until somebody stops it."""
        records = (
            spark.readStream.format("kafka")
            .option("kafka.bootstrap.servers", bootstrap_servers)
            .option("subscribe", topic)
            .option("startingOffsets", "earliest")
            .option("kafka.reconnect.backoff.max.ms", RECONNECT_MAX_MS)
            .option("failOnDataLoss", "false")
            .option("maxOffsetsPerTrigger", MOST_RECORDS_PER_BATCH)
            .load()
        )
        writer = records.writeStream.option("checkpointLocation", str(self.store / CHECKPOINT)).foreachBatch(self.take)
        timed = writer.trigger(processingTime=f"{every_s} seconds") if every_s else writer.trigger(availableNow=True)
        return timed.start()

    def take(self, records: DataFrame, number: int) -> None:
        """Puts batch `number` where it belongs, in place of what was left of it."""
        with self.turn:
            self._take(records, number)

    def _take(self, records: DataFrame, number: int) -> None:
        forget(self.store, number)
        parsed = parse(records, self.clock(), self.keep_ms)
        seen = Observation()
        counts = [F.count(F.when(F.col("why") == why, 1)).alias(why) for why in REASONS]
        incoming = self.store / INCOMING / f"{BATCH}{number}"
        kept = parsed.observe(seen, *counts).where("why is null").select("day", *(column.name for column in SAMPLE))
        kept.repartition("day").write.mode("overwrite").partitionBy("day").parquet(str(incoming))
        aside = {why: count for why, count in seen.get.items() if count}
        if aside:
            _note_aside(parsed, self.store / ASIDE / f"{number}.json", aside)
        for day in incoming.glob(f"{DAY}*"):
            (self.store / SAMPLES / day.name).mkdir(parents=True, exist_ok=True)
            day.rename(self.store / SAMPLES / day.name / f"{BATCH}{number}")
        shutil.rmtree(incoming)


def forget(store: Path, number: int) -> None:
    """Whatever is left of a batch that was not committed."""
    for left in (store / SAMPLES).glob(f"{DAY}*/{BATCH}{number}"):
        shutil.rmtree(left)
    (store / ASIDE / f"{number}.json").unlink(missing_ok=True)


def _note_aside(parsed: DataFrame, path: Path, counts: dict[str, int]) -> None:
    """How many records were no samples, and where the first of them lie in the topic."""
    examples = parsed.where("why is not null").select("from_partition", "from_offset", "why").limit(MOST_EXAMPLES).collect()
    path.parent.mkdir(parents=True, exist_ok=True)
    found = [{"partition": row.from_partition, "offset": row.from_offset, "why": row.why} for row in examples]
    beside = path.with_suffix(".part")
    beside.write_text(json.dumps({"counts": counts, "examples": found}), encoding="utf-8")
    beside.replace(path)
