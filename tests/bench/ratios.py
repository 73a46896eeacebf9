"""Produce and fetch of one broker as a ratio to bare servers, five pairs in one run, taken in turns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from broker_core.protocol.api import ApiKey
from broker_core.server.pipeline import api_name
from broker_core.telemetry.metrics import STAGES
from tests.bench import bare, stages, world
from tests.bench.figures import Figure
from tests.support.cluster import TestCluster

PAIRS, PAIRS_QUICK = 5, 2
RECORDS, RECORDS_QUICK = 400_000, 100_000
CLIENT_BOUND_SHARE = 0.9
TARGET = 0.5
LOG_NAME = "0" * 20 + ".log"

Run = dict[str, Any]


def produce(quick: bool) -> list[Figure]:
    """acks=1, 1 KB records, one partition; the bare server writes each frame to a file."""
    records = RECORDS_QUICK if quick else RECORDS
    with world.folder(in_memory=True) as data, world.single_broker(data / "cluster") as cluster:
        sink = data / "sink"
        _produce_to_broker(cluster, "warm-up", records // 4)

        def to_broker(number: int) -> Run:
            return _produce_to_broker(cluster, f"bench-{number}", records)

        def to_bare(number: int) -> Run:
            with world.bare_server("produce", sink) as server:
                found = world.load("produce", server, bare.TOPIC, records)
            sink.unlink()
            return found

        pairs = _pairs(quick, {"bare": to_bare, "broker": to_broker})
    return _figures("produce", pairs, ["bare"])


def fetch(quick: bool) -> list[Figure]:
    """One partition's log of one segment, read from its first record to its last; the bare servers send from the same file."""
    records = RECORDS_QUICK if quick else RECORDS
    with world.folder(in_memory=True) as data, world.single_broker(data / "cluster") as cluster:
        broker = world.server_of(cluster)
        world.create_topic(broker.address, bare.TOPIC, config={"segment.bytes": str(2**30)})
        world.load("produce", broker, bare.TOPIC, records)
        log_file = cluster.layout.broker_folder(1) / "log" / f"{bare.TOPIC}-0" / LOG_NAME

        def from_bare(kind: str) -> Callable[[int], Run]:
            def run(_: int) -> Run:
                with world.bare_server(kind, log_file) as server:
                    return world.load("consume", server, bare.TOPIC, records)

            return run

        def from_broker(_: int) -> Run:
            return _with_stages(cluster, ApiKey.FETCH, lambda: world.load("consume", broker, bare.TOPIC, records))

        runs = {kind: from_bare(kind) for kind in ("preadv", "sendfile")}
        pairs = _pairs(quick, {**runs, "broker": from_broker})
    return _figures("fetch", pairs, ["preadv", "sendfile"])


def _produce_to_broker(cluster: TestCluster, topic: str, records: int) -> Run:
    broker = world.server_of(cluster)
    world.create_topic(broker.address, topic)
    found = _with_stages(cluster, ApiKey.PRODUCE, lambda: world.load("produce", broker, topic, records))
    world.delete_topic(broker.address, topic)
    return found


def _with_stages(cluster: TestCluster, api: ApiKey, run: Callable[[], Run]) -> Run:
    """What the run found, and `stages`: microseconds that the broker's requests spent in each meanwhile."""
    port = cluster.layout.metrics_port_of(1)
    before = stages.read(port)
    found = run()
    return {**found, "stages": stages.per_request(before, stages.read(port), api_name(api))}


def _pairs(quick: bool, runs: dict[str, Callable[[int], Run]]) -> list[dict[str, Run]]:
    """One round of all servers after the other, in the opposite order every other time."""
    found = []
    for number in range(PAIRS_QUICK if quick else PAIRS):
        names = list(runs) if number % 2 == 0 else list(reversed(runs))
        found.append({name: runs[name](number) for name in names})
    return found


def _figures(part: str, pairs: list[dict[str, Run]], bares: list[str]) -> list[Figure]:
    names = (*bares, "broker")
    figures = [Figure(f"{part}: {name}", "MB/s", [_rate(pair[name]) for pair in pairs]) for name in names]
    shares = [Figure(f"{part}: client's CPU, {name}", "of core", [pair[name]["cpu_share"] for pair in pairs]) for name in names]
    costs = [Figure(f"{part}: server's CPU, {name}", "µs/record", [_cost(pair[name]) for pair in pairs]) for name in names]
    spent = [Figure(f"{part}: request's {stage}", "µs/request", _spent(pairs, stage)) for stage in STAGES if _spent(pairs, stage)]
    ratios = [_rate(pair["broker"]) / max(_rate(pair[name]) for name in bares) for pair in pairs]
    bound = [str(number + 1) for number, pair in enumerate(pairs) if max(run["cpu_share"] for run in pair.values()) > CLIENT_BOUND_SHARE]
    note = f"client-bound: pair {', '.join(bound)} of {len(pairs)}" if bound else "no pair is client-bound"
    better = "the better bare server" if len(bares) > 1 else "the bare server"
    ratio = Figure(f"{part}: broker / {better}", "ratio", ratios, at_least=TARGET, note=note)
    return [*figures, *shares, *costs, *spent, ratio]


def _spent(pairs: list[dict[str, Run]], stage: str) -> list[float]:
    return [pair["broker"]["stages"][stage] for pair in pairs if stage in pair["broker"]["stages"]]


def _cost(run: Run) -> float:
    return float(run["server_seconds"] / run["records"] * 1e6)


def _rate(run: Run) -> float:
    return float(run["records"] * 1024 / run["seconds"] / 1e6)
