"""One small Spark session for all tests of the analyses."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from tests.support.jvm import short_lived
from workers.spark.session import build


@pytest.fixture(scope="package")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    with short_lived():
        session = build("local[1]", tmp_path_factory.mktemp("spark"))
    yield session
    session.stop()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """py4j leaves its sockets to the garbage collector."""
    for item in items:
        if "tests/spark" in str(item.path):
            for what in ("ignore::pytest.PytestUnraisableExceptionWarning", "ignore:unclosed:ResourceWarning"):
                item.add_marker(pytest.mark.filterwarnings(what))
