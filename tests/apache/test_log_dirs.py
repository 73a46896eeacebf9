"""Apache Kafka and our broker with two data folders each: where replicas go, how they move, and what is said of it (KIP-113)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from broker_core.errors import ErrorCode
from broker_core.protocol.api import ApiKey
from tests.apache.conftest import SETTINGS
from tests.apache.side import Side, batch
from tests.support.broker_process import ApacheKafka, BrokerProcess, Highwater, running
from tests.support.cluster import eventually
from tests.support.ports import free_ports
from tests.support.zookeeper import running_zookeeper

SECONDS = 120.0
LONG = "l" * 220


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[BrokerProcess]]:
    folder = tmp_path_factory.mktemp("folders")
    with running_zookeeper() as zookeeper:
        made: list[BrokerProcess] = []
        for kind, name in ((ApacheKafka, "kafka"), (Highwater, "ours")):
            settings = {**SETTINGS, "zookeeper.connect": f"{zookeeper.hosts}/{name}", "log.dirs": ",".join(folders_of(folder / name))}
            made.append(kind(folder / name, free_ports(), settings))
        with running(*made):
            yield made


def folders_of(folder: Any) -> list[str]:
    return [str(folder / "one"), str(folder / "two")]


class Told:
    """One broker: folders are 0 and 1 in what it is asked and tells."""

    def __init__(self, process: BrokerProcess, side: Side) -> None:
        self._side = side
        self._paths = folders_of(process.folder)

    def where(self, *topics: str) -> dict[tuple[str, int], list[tuple[int, int, int, bool]]]:
        """(folder, bytes, lag, is future) of each replica."""
        found: dict[tuple[str, int], list[tuple[int, int, int, bool]]] = {}
        answer = self._side.raw(ApiKey.DESCRIBE_LOG_DIRS, 4, {"topics": None})
        for row in answer.results:
            assert row.error_code == ErrorCode.NONE
            assert 0 < row.usable_bytes <= row.total_bytes
            for topic in row.topics:
                for each in topic.partitions if topic.name in topics else ():
                    place = (self._paths.index(row.log_dir), each.partition_size, each.offset_lag, each.is_future_key)
                    found.setdefault((topic.name, each.partition_index), []).append(place)
        return {key: sorted(found[key]) for key in sorted(found)}

    def alter(self, folder: int | str, *partitions: tuple[str, int]) -> list[str]:
        path = self._paths[folder] if isinstance(folder, int) else folder
        rows = [{"name": topic, "partitions": [index]} for topic, index in partitions]
        answer = self._side.raw(ApiKey.ALTER_REPLICA_LOG_DIRS, 2, {"dirs": [{"path": path, "topics": rows}]})
        found = {(row.topic_name, p.partition_index): ErrorCode(p.error_code).name for row in answer.results for p in row.partitions}
        return [found[each] for each in partitions]

    def script(self) -> list[Any]:
        side, told = self._side, []
        told.append(self.alter(1, ("wished", 0), ("wished", 1)))
        side.create("wished", 2)
        side.create("spread", 4)
        side.create(LONG, 1)
        side.produce("wished", batch("a", "b", "c"))
        told.append(self.where("wished"))
        at = self.where("spread")
        told.append(sorted(folder for places in at.values() for folder, *_ in places))
        told.append(self.alter("/nowhere", ("wished", 0)))
        told.append(self.alter(0, ("wished", 0), ("wished", 7), ("none", 0), (LONG, 0)))
        eventually(lambda: [place[0] for place in self.where("wished")["wished", 0]] == [0], SECONDS, "it has moved")
        side.produce("wished", batch("d"))
        told.append(self.where("wished"))
        told.append(self.alter(0, ("wished", 0)))
        told.append(self.alter(1, ("wished", 0)))
        eventually(lambda: [place[0] for place in self.where("wished")["wished", 0]] == [1], SECONDS, "it has moved back")
        told.append(self.where("wished"))
        return told


def test_replicas_move_between_folders_as_in_apache_kafka(both: list[BrokerProcess]) -> None:
    told = []
    for process in both:
        with closing(Side(process.port)) as side:
            told.append(Told(process, side).script())
    assert told[1] == told[0]
