"""How soon three brokers are ready, what 500 replicas cost in memory, and what an idle broker costs in processor time."""

from __future__ import annotations

import subprocess
import sys
import time
from statistics import median

from broker_core.local import brokers
from broker_core.local.layout import BROKER_IDS
from broker_core.local.services import start_zookeeper, zookeeper_process
from tests.bench import world
from tests.bench.figures import Figure
from tests.support.cluster import TestCluster, eventually

ROUNDS, ROUNDS_QUICK = 5, 1
REPLICAS, REPLICAS_QUICK = 500, 50
IDLE_SECONDS, IDLE_SECONDS_QUICK = 30.0, 5.0
SETTLE_SECONDS = 5.0
BARE = """
import sys, time
import broker_core.server.main
from broker_core.handlers.registry import full_registry
full_registry()
print("there", flush=True)
sys.stdin.read()
"""


def start(quick: bool) -> list[Figure]:
    """Time from nothing to a serving ZooKeeper, then from three launches to three ready brokers, over again."""
    zookeeper, ready, zookeeper_cpu, brokers_cpu = [], [], [], []
    for _ in range(ROUNDS_QUICK if quick else ROUNDS):
        with world.folder() as data:
            cluster = TestCluster(data / "cluster")
            try:
                zookeeper.append(_timed_zookeeper(cluster))
                zookeeper_cpu.append(world.cpu_seconds(zookeeper_process(cluster.layout).pid() or 0))
                ready.append(_timed_brokers(cluster))
                brokers_cpu.append(sum(world.cpu_seconds(cluster.pid(broker_id)) for broker_id in BROKER_IDS))
            finally:
                cluster.down()
    return [
        Figure("ZooKeeper's start", "s", zookeeper),
        Figure("start of three brokers at once", "s", ready),
        Figure("processor time of ZooKeeper's start", "s", zookeeper_cpu),
        Figure("processor time of the three brokers' start", "s", brokers_cpu),
        Figure("brokers / ZooKeeper", "ratio", [one / other for one, other in zip(ready, zookeeper, strict=True)], at_most=1.0),
    ]


def _timed_zookeeper(cluster: TestCluster) -> float:
    started = time.monotonic()
    start_zookeeper(cluster.layout)
    return time.monotonic() - started


def _timed_brokers(cluster: TestCluster) -> float:
    started = time.monotonic()
    for broker_id in BROKER_IDS:
        brokers.launch(cluster.layout, broker_id)
    for broker_id in BROKER_IDS:
        brokers.wait_broker(cluster.layout, broker_id)
    return time.monotonic() - started


def idle(quick: bool) -> list[Figure]:
    """Three brokers with a replica of each partition, nobody asking anything."""
    replicas, seconds = (REPLICAS_QUICK, IDLE_SECONDS_QUICK) if quick else (REPLICAS, IDLE_SECONDS)
    with world.folder() as data, world.three_brokers(data / "cluster") as cluster:
        world.create_topic(cluster.bootstrap_servers, "idle", partitions=replicas, replicas=len(BROKER_IDS))
        time.sleep(SETTLE_SECONDS)
        pids = [cluster.pid(broker_id) for broker_id in BROKER_IDS]
        before = [world.cpu_seconds(pid) for pid in pids]
        time.sleep(seconds)
        shares = [(world.cpu_seconds(pid) - begin) / seconds * 100 for pid, begin in zip(pids, before, strict=True)]
        memory = [world.rss_bytes(pid) for pid in pids]
    bare = _bare_memory()
    return [
        Figure("bare interpreter with the same imports", "MB", [bare / 1e6]),
        Figure(f"broker with {replicas} replicas", "MB", [value / 1e6 for value in memory]),
        Figure("broker / bare interpreter", "ratio", [value / bare for value in memory], at_most=2.0, every=True),
        Figure(f"idle broker with {replicas} replicas", "% of core", shares, at_most=2.0, every=True, note=f"over {seconds:.0f} s"),
    ]


def _bare_memory() -> int:
    """Resident memory of an interpreter that has imported what a broker imports."""
    process = subprocess.Popen([sys.executable, "-c", BARE], cwd=world.ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "there\n"
        eventually(lambda: world.rss_bytes(process.pid) > 0)
        return int(median(world.rss_bytes(process.pid) for _ in range(3)))
    finally:
        process.communicate("")
