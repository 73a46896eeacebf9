"""The time of a record, asked of its leader by a Fetch, whatever the batch it lies in."""

from __future__ import annotations

from typing import Any

import pytest

from broker_core.contract.record_times import Asked, RecordTime
from broker_core.errors import ErrorCode
from broker_core.outside.record_times import RecordTimes, record_time
from broker_core.records.batch import build_batch
from broker_core.records.record import Record
from broker_core.seams import Node
from tests.support.broker_cluster import PORT, BrokerCluster


def test_the_leader_is_asked_for_the_times_of_records() -> None:
    with BrokerCluster(brokers=1) as cluster:
        cluster.start_all()
        cluster.create("orders", 2)
        before_ms = cluster.world.scheduler.wall_ms()
        assert cluster.produce("orders", "a", "b").error_code == ErrorCode.NONE
        cluster.world.run_for(60_000)
        assert cluster.produce("orders", "c").error_code == ErrorCode.NONE

        async def ask(node: Node) -> Any:
            asked = [Asked("orders", 0, offset) for offset in (0, 1, 2, 3, 99)] + [Asked("orders", 1, 0), Asked("nothing", 0, 0)]
            return await RecordTimes(node.network, node.clock).ask("b1", PORT, asked)

        found = cluster.world.run("client", ask)
    ages = {one.offset: (known.at_ms - before_ms) // 60_000 for one, known in found.items()}
    assert ages == {0: 0, 1: 0, 2: 1}
    assert all(known.is_exact and known.offset == one.offset for one, known in found.items())


def batch(*times_ms: int, **options: Any) -> bytes:
    return bytes(build_batch([Record(n, at_ms, None, b"x", ()) for n, at_ms in enumerate(times_ms)], **options))


@pytest.mark.parametrize(
    ("times_ms", "offset", "known"),
    [
        ((5_000,), 0, RecordTime(0, 5_000, True)),
        ((5_000, 5_400, 5_800), 1, RecordTime(1, 5_400, True)),
        ((5_000, 65_000), 0, RecordTime(0, 5_000, True)),
        ((5_000, 65_000), 1, RecordTime(1, 65_000, False)),
    ],
)
def test_a_time_within_a_batch(times_ms: tuple[int, ...], offset: int, known: RecordTime) -> None:
    assert record_time(batch(*times_ms), offset) == known


@pytest.mark.parametrize("records", [b"", b"\x00" * 10, b"\xff" * 80, batch(-1)])
def test_what_has_no_time(records: bytes) -> None:
    assert record_time(records, 0) is None
