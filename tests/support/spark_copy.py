"""A job of Structured Streaming that reads one topic and writes another by Spark's own Kafka connector, up to the topic's end as of now.

`python -m tests.support.spark_copy BOOTSTRAP SOURCE TARGET FOLDER`: values in capitals, keys and headers as they are, 500 records a batch.
"""

from __future__ import annotations

import sys
from pathlib import Path

from pyspark.sql import functions as F

from workers.spark.session import build

RECORDS_PER_BATCH = 500


def main(bootstrap: str, source: str, target: str, folder: str) -> None:
    spark = build("local[2]", Path(folder) / "scratch")
    records = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", bootstrap)
        .option("subscribe", source)
        .option("startingOffsets", "earliest")
        .option("includeHeaders", "true")
        .option("maxOffsetsPerTrigger", RECORDS_PER_BATCH)
        .load()
    )
    query = (
        records.select("key", F.upper(F.col("value").cast("string")).alias("value"), "headers", "partition")
        .writeStream.format("kafka")
        .option("kafka.bootstrap.servers", bootstrap)
        .option("topic", target)
        .option("checkpointLocation", str(Path(folder) / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
