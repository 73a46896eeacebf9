"""The session itself: where it puts what it needs for the moment."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession


def test_all_that_is_for_the_moment_is_in_the_scratch_folder(spark: SparkSession) -> None:
    """A driver that is killed leaves it behind, and so does one that ends well: in a folder of its own, not in the machine's."""
    scratch = Path(spark.conf.get("spark.local.dir"))
    assert spark._jvm is not None
    assert spark._jvm.java.lang.System.getProperty("java.io.tmpdir") == str(scratch)
    assert any(scratch.iterdir()), "Spark puts nothing there"
