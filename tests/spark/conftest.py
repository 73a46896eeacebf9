"""One small Spark session for all tests of the transforms."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from workers.spark.session import build


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    session = build("local[1]", tmp_path_factory.mktemp("spark"))
    yield session
    session.stop()
