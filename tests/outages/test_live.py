"""The live process killed, paused and succeeded by another, while a page is open: nobody has to do anything, and nothing old is shown
as new (a real system; who may write is tested on a real Redis in tests/console/live/test_ownership.py)."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

import pytest
import redis

from broker_core.cli import system as local_system
from broker_core.local.services import redis_process, start_redis
from console.live.owner.lease import TTL_MS
from console.snapshot import keys
from tests.support.clients import produce
from tests.support.cluster import eventually
from tests.support.console_system import ConsoleSystem
from tests.support.live_page import LivePage

NewTopic = Callable[..., str]
PAUSED_S = 20.0


@pytest.fixture
def standby(cluster: ConsoleSystem) -> Iterator[subprocess.Popen[bytes]]:
    """A second live process of the same cluster; it waits for the lease."""
    command = [sys.executable, "manage.py", "live"]
    with (cluster.layout.folder("logs") / "standby.log").open("ab") as log:
        made = subprocess.Popen(command, cwd=local_system.ROOT, env=local_system.environment(cluster.layout), stdout=log, stderr=log)
    yield made
    made.kill()
    made.wait(60)


def owner(cluster: ConsoleSystem) -> str | None:
    client = redis.Redis.from_url(cluster.layout.redis_url, decode_responses=True)
    try:
        held = client.get(keys.named("local", "lease"))
        return None if held is None else str(held)
    finally:
        client.close()


def test_a_paused_owner_is_succeeded_and_takes_over_again_from_one_that_is_killed(
    cluster: ConsoleSystem, token: str, new_topic: NewTopic, standby: subprocess.Popen[bytes]
) -> None:
    """The page stays connected; numbers never fall; what the paused one knew is never shown again."""
    topic = new_topic(partitions=1)
    place = f"partition/{topic}/0"
    first = eventually(lambda: owner(cluster), 60, "the cluster has an owner")
    live_pid = cluster.program("live").pid()
    assert live_pid is not None
    with LivePage(cluster, token, f"topics={topic}:0-0") as page:
        page.wait_for(place, bool, 0, "the page shows the partition")
        os.kill(live_pid, signal.SIGSTOP)
        paused_at = time.monotonic()
        try:
            second = eventually(lambda: (held := owner(cluster)) and held != first and held, 3 * TTL_MS / 1000 + 60, "the standby owns it")
            seen = len(page.told)
            produce(cluster, topic, [b"while the first stands still"] * 10)
            page.wait_for(place, lambda value: bool(value) and value["log_end_offset"] == 10, seen, "the page shows what the standby tells")
            time.sleep(max(0.0, paused_at + PAUSED_S - time.monotonic()))
        finally:
            os.kill(live_pid, signal.SIGCONT)
        seen = len(page.told)
        produce(cluster, topic, [b"after"] * 10)
        page.wait_for(place, lambda value: bool(value) and value["log_end_offset"] == 20, seen, "the page goes on")
        assert owner(cluster) == second
        ends = [value["log_end_offset"] for value in page.values(place, seen) if value]
        assert ends == sorted(ends), "old words were shown again"
        standby.kill()
        eventually(lambda: owner(cluster) == first, 3 * TTL_MS / 1000 + 60, "the first owns it again")
        seen = len(page.told)
        produce(cluster, topic, [b"again"] * 10)
        page.wait_for(place, lambda value: bool(value) and value["log_end_offset"] == 30, seen, "the page goes on")
        assert page.unseen_steps_back() == []
        assert {told.connection for told in page.told} == {1}
        numbers = [told.frame["seq"] for told in page.told if "seq" in told.frame]
        assert numbers == sorted(numbers)


def test_an_open_page_outlives_a_restart_of_redis(cluster: ConsoleSystem, token: str, new_topic: NewTopic) -> None:
    """Redis has forgotten everything, the numbers too: the page begins anew with a snapshot and then follows."""
    topic = new_topic(partitions=1)
    place = f"partition/{topic}/0"
    produce(cluster, topic, [b"before"] * 10)
    with LivePage(cluster, token, f"topics={topic}:0-0") as page:
        page.wait_for(place, lambda value: bool(value) and value["log_end_offset"] == 10, 0, "the page shows the partition")
        seen = len(page.told)
        assert redis_process(cluster.layout).kill()
        start_redis(cluster.layout)
        produce(cluster, topic, [b"after"] * 10)
        page.wait_for(place, lambda value: bool(value) and value["log_end_offset"] == 20, seen, "the page shows what came since")
        assert any(told.frame["type"] == "snapshot" for told in page.told[seen:])
        assert page.unseen_steps_back() == []
