"""How much room is left and when it is gone: the forecast by its numbers, and how it comes to the feed and the metrics."""

from __future__ import annotations

import pytest

from broker_core.config import BrokerConfig, ConfigHolder
from broker_core.storage.folder.headroom import FORECAST_FROM_MS, SAMPLE_MS, WINDOW_MS, Headroom, Space
from broker_core.storage.manager import LogManager
from tests.support.broker_cluster import BrokerCluster
from tests.support.log_world import World

pytestmark = pytest.mark.spec("S6")


def filled(*free: int, every_ms: int = FORECAST_FROM_MS) -> Headroom:
    headroom = Headroom()
    for number, free_bytes in enumerate(free):
        headroom.add(1_000.0 + number * every_ms, Space(free_bytes, 1_000_000))
    return headroom


def test_the_forecast_goes_on_at_the_present_rate() -> None:
    assert filled(900_000, 600_000).full_in_ms == 2 * FORECAST_FROM_MS
    assert filled(900_000, 600_000, 300_000).full_in_ms == FORECAST_FROM_MS
    assert filled(900_000, 0).full_in_ms == 0


def test_there_is_none_where_the_room_does_not_shrink_or_too_little_was_seen() -> None:
    assert filled().full_in_ms is None
    assert filled(900_000).full_in_ms is None
    assert filled(900_000, 900_000).full_in_ms is None
    assert filled(900_000, 600_000, 950_000).full_in_ms is None, "retention gave some back"
    assert filled(900_000, 600_000, every_ms=SAMPLE_MS).full_in_ms is None


def test_what_is_long_past_does_not_count() -> None:
    """A copy that filled half of the disk is done; since then little is written."""
    samples = [900_000, 500_000, *(500_000 - number for number in range(200))]
    headroom = filled(*samples, every_ms=SAMPLE_MS)
    assert headroom.full_in_ms is not None
    assert headroom.full_in_ms > 1_000 * SAMPLE_MS
    assert len(headroom._samples) == WINDOW_MS // SAMPLE_MS + 1


async def test_a_running_broker_measures_its_folder() -> None:
    world = World()
    logs = LogManager(world.node, ConfigHolder(BrokerConfig.load({"log.dirs": "/data"})), 1, "c1")
    await logs.start()
    world.disk.room = (5_000, 10_000)
    await world.spawn.settle()
    assert logs.folders.all[0].headroom.space == Space(5_000, 10_000)
    world.disk.room = (4_000, 10_000)
    await world.clock.advance(SAMPLE_MS)
    await world.spawn.settle()
    assert logs.folders.all[0].headroom.space == Space(4_000, 10_000)
    await logs.shutdown()
    await world.spawn.stop()


def test_the_feed_and_the_metrics_tell_it() -> None:
    with BrokerCluster(brokers=1, **{"offsets.topic.replication.factor": "1"}) as cluster:
        cluster.start_all()
        cluster.create("t")
        disk, broker = cluster.world.life("b1").disk, cluster.brokers[1]
        disk.capacity_bytes = disk.state.used_bytes + 500_000
        cluster.world.run_for(2 * SAMPLE_MS)
        told = broker.source.broker().log_dir
        assert (told.path, told.offline_since_ms, told.offline_why, told.full_in_s) == ("/data", None, None, None)
        assert 0 < told.free_bytes <= 500_000 < told.total_bytes
        gauges = {name: value for name, _, value in broker.gauges()}
        assert (gauges["log_dir_offline"], gauges["log_dir_free_bytes"]) == (0, told.free_bytes)
        disk.capacity_bytes = disk.state.used_bytes
        cluster.produce("t", "too much")
        told = broker.source.broker().log_dir
        assert told.offline_since_ms is not None
        assert told.offline_why.startswith("append of t-0 failed: ")
        assert (told.free_bytes, told.full_in_s) == (None, None)
        gauges = {name: value for name, _, value in broker.gauges()}
        assert gauges["log_dir_offline"] == 1
        assert "log_dir_free_bytes" not in gauges
