"""Small files become one: what a day's batches hold is written into one folder, each sample once, and the batches go.

Killed anywhere, the next run finds either the batches or the folder that has them all (`layout.counted`), and takes away what is void.
"""

from __future__ import annotations

import shutil
from datetime import date
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from workers.spark.store.layout import DAY, UPTO, Day, counted, days, folders, too_old, void

BATCHES_MAX = 8
"""A day that still grows is compacted when it has more of them, where nobody says another number."""
IDENTITY = ["cluster", "kind", "topic", "partition", "group", "broker", "folder", "at_ms"]
"""What makes a sample: one that was written twice, since its writer was not answered, is one."""


def due(held: Day, today: date, most: int = BATCHES_MAX) -> bool:
    return len(held.batches) > (most if held.day >= today else 0)


def compact(spark: SparkSession, samples: Path, committed: int, today: date, most: int = BATCHES_MAX) -> int:
    """Compacts each day that is due and tidies all; returns how many were compacted."""
    done = 0
    for held in days(samples, committed):
        if due(held, today, most):
            _compact(spark, samples, held)
            done += 1
        tidy(samples / f"{DAY}{held.day.isoformat()}", held.day, committed)
    return done


def _compact(spark: SparkSession, samples: Path, held: Day) -> None:
    target = samples / f"{DAY}{held.day.isoformat()}" / f"{UPTO}{max(held.batches)}"
    part = target.with_name(target.name + ".part")
    frame: DataFrame = spark.read.parquet(*folders(samples, [held])).dropDuplicates(IDENTITY)
    frame.sortWithinPartitions("kind", "topic", "partition", "group", "at_ms").write.mode("overwrite").parquet(str(part))
    part.rename(target)


def tidy(folder: Path, day: date, committed: int) -> None:
    """Takes away what is void in a day's folder."""
    names = [part.name for part in folder.iterdir() if part.is_dir()]
    for name in void(names, counted(day, names, committed)):
        shutil.rmtree(folder / name)


def drop_notes(aside: Path, keep: int) -> None:
    """Removes what was noted of records set aside, but of the last `keep` batches that had some."""
    for path in sorted(aside.glob("*.json"), key=lambda path: int(path.stem))[:-keep]:
        path.unlink()


def drop_old(samples: Path, today: date, keep_days: int, most_bytes: int) -> list[date]:
    """Removes days older than those kept, then the oldest while all together have more than `most_bytes`; returns which went."""
    found = sorted(samples.glob(f"{DAY}*"))
    sizes = {folder: sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) for folder in found}
    gone = []
    for folder in found:
        try:
            day = date.fromisoformat(folder.name.removeprefix(DAY))
        except ValueError:
            continue
        if too_old(day, today, keep_days) or (sum(sizes.values()) > most_bytes and day < today):
            shutil.rmtree(folder)
            del sizes[folder]
            gone.append(day)
    return gone
