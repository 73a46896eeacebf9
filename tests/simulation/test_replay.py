"""Whole brokers in the simulator: the same seed gives the same run, to the byte, in any process (a test of every layer's determinism)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from broker_core.errors import ErrorCode
from tests.support.broker_cluster import BrokerCluster

PARTITIONS = 4


def produce(cluster: BrokerCluster, value: str, partition: int) -> None:
    """Until a leader has it: the one that metadata names may not be it any more, or not yet."""
    while cluster.produce("t", value, partition=partition).error_code != ErrorCode.NONE:
        cluster.world.run_for(100)


def run_with_a_failover(seed: int) -> str:
    """Three brokers, some records, the controller killed and started again; returns the run's digest."""
    with BrokerCluster(brokers=3, seed=seed) as cluster:
        cluster.start_all()
        cluster.create("t", PARTITIONS)
        for number in range(10):
            produce(cluster, f"before {number}", number % PARTITIONS)
        killed = cluster.controller()
        cluster.kill(killed)
        for number in range(5):
            produce(cluster, f"during {number}", number % PARTITIONS)
        cluster.start(killed)
        cluster.world.run_for(10_000)
        values = [value for partition in range(PARTITIONS) for value in cluster.consume("t", partition)]
        assert len(set(values)) == 15
        return cluster.world.trace.digest()


def test_the_same_seed_gives_the_same_cluster_run() -> None:
    digests = [run_with_a_failover(seed) for seed in (3, 3, 4)]
    assert digests[0] == digests[1] != digests[2]


def test_another_hash_seed_changes_nothing() -> None:
    """No set's order, no address and no wall clock decides anything in a broker."""
    program = "from tests.simulation.test_replay import run_with_a_failover; print(run_with_a_failover(3))"
    root = Path(__file__).parents[2]
    digests = []
    for hash_seed in ("0", "4711"):
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(root)}
        run = subprocess.run([sys.executable, "-c", program], env=environment, cwd=root, capture_output=True, text=True, check=True)
        digests.append(run.stdout.strip())
    assert digests[0] == digests[1] == run_with_a_failover(3)
