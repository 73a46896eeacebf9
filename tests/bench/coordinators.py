"""What coordinators cost: loading a large `__consumer_offsets` partition, a rebalance of many members, and many groups and ids at rest."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, NamedTuple

from broker_core.errors import ErrorCode
from broker_core.model import CONSUMER_OFFSETS
from broker_core.protocol.api import ApiKey
from tests.bench import world
from tests.bench.figures import Figure
from tests.support.cluster import TestCluster
from tests.support.frames import RawConnection, raw_connection

SETTINGS = {
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "group.initial.rebalance.delay.ms": "1000",
    "log.cleaner.enable": "false",
}
TOPIC = "of-offsets"
OFFSETS_OF_A_COMMIT, METADATA_BYTES = 500, 1_000
LOG_BYTES, LOG_BYTES_QUICK = 1 << 30, 20 << 20
MEMBERS, MEMBERS_QUICK = 200, 20
AT_REST, AT_REST_QUICK = 10_000, 200
REST_SECONDS, REST_SECONDS_QUICK = 20.0, 3.0
AT_A_TIME = 50
PROBE_SECONDS = 0.002
PATIENCE_SECONDS = 300.0
SESSION_MS = 60_000


class Loaded(NamedTuple):
    seconds: float
    longest_ms: float
    usual_ms: float


def coordinators(quick: bool) -> list[Figure]:
    with world.folder() as data, world.single_broker(data / "cluster", SETTINGS) as cluster:
        world.create_topic(world.server_of(cluster).address, TOPIC, partitions=OFFSETS_OF_A_COMMIT)
        port = cluster.layout.port_of(1)
        rebalances = [asyncio.run(_rebalanced(port, MEMBERS_QUICK if quick else MEMBERS)) for _ in range(1 if quick else 3)]
        rest = REST_SECONDS_QUICK if quick else REST_SECONDS
        before = _idle_percent(cluster, rest)
        asyncio.run(_left_at_rest(port, AT_REST_QUICK if quick else AT_REST))
        after = _idle_percent(cluster, rest)
        stored = asyncio.run(_fill(cluster, port, LOG_BYTES_QUICK if quick else LOG_BYTES))
        cluster.stop(1)
        cluster.start(1)
        loaded = asyncio.run(_loaded(port))
    many = AT_REST_QUICK if quick else AT_REST
    return [
        Figure(f"{MEMBERS_QUICK if quick else MEMBERS} members rebalance in one round", "s", rebalances),
        Figure("an idle broker before", "% of core", [before]),
        Figure(f"with {many:,} idle groups and {many:,} transactional ids", "% of core", [after], at_most=before + 0.5),
        Figure(f"loading {stored / 1e6:,.0f} MB of {CONSUMER_OFFSETS}", "s", [loaded.seconds]),
        Figure(
            "longest answer to another client meanwhile", "ms", [loaded.longest_ms], at_most=50.0, note=f"usual: {loaded.usual_ms:.1f} ms"
        ),
    ]


def _idle_percent(cluster: TestCluster, seconds: float) -> float:
    pid = cluster.pid(1)
    time.sleep(1)
    before = world.cpu_seconds(pid)
    time.sleep(seconds)
    return (world.cpu_seconds(pid) - before) / seconds * 100


async def _until_known(ask: Callable[[], Awaitable[Any]], code_of: Callable[[Any], int]) -> Any:
    """The first answer that does not speak of a coordinator that is not ready."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    for_the_moment = (ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.NOT_COORDINATOR)
    while code_of(answer := await ask()) in for_the_moment:
        if time.monotonic() > deadline:
            raise TimeoutError(f"no coordinator within {PATIENCE_SECONDS:.0f} s")
        await asyncio.sleep(0.05)
    return answer


# -- a rebalance --------------------------------------------------------------------------------------------------------


async def _rebalanced(port: int, members: int) -> float:
    """From the leader's join, in a group whose members have their partitions, to the last member's next assignment."""
    group = f"rebalanced-{time.monotonic_ns()}"
    ways = [RawConnection(*await asyncio.open_connection("127.0.0.1", port)) for _ in range(members)]
    try:
        await _until_known(lambda: ways[0].request(ApiKey.FIND_COORDINATOR, 1, {"key": group, "key_type": 0}), _code)
        names = await asyncio.gather(*(_named(way, group) for way in ways))
        first = await asyncio.gather(*(_assigned(way, group, name) for way, name in zip(ways, names, strict=True)))
        leader = names.index(first[0].leader)
        ways.insert(0, ways.pop(leader))
        names.insert(0, names.pop(leader))
        began = time.monotonic()
        leading = asyncio.create_task(_assigned(ways[0], group, names[0]))
        while (await _beat(ways[1], group, names[1], first[0].generation_id)) != ErrorCode.REBALANCE_IN_PROGRESS:
            await asyncio.sleep(0)
        others = (_assigned(way, group, name) for way, name in zip(ways[1:], names[1:], strict=True))
        generations = {answer.generation_id for answer in await asyncio.gather(leading, *others)}
        assert generations == {first[0].generation_id + 1}, f"more than one round: generations {generations}"
        return time.monotonic() - began
    finally:
        for way in ways:
            await way.close()


async def _assigned(way: RawConnection, group: str, member: str) -> Any:
    """What it was told when it joined; it has its assignment then."""
    joined = await _joined(way, group, member)
    await _synced(way, group, joined)
    return joined


async def _beat(way: RawConnection, group: str, member: str, generation: int) -> int:
    asked = {"group_id": group, "generation_id": generation, "member_id": member, "group_instance_id": None}
    return _code(await way.request(ApiKey.HEARTBEAT, 3, asked))


def _join(group: str, member: str) -> dict[str, Any]:
    times = {"session_timeout": SESSION_MS, "rebalance_timeout": SESSION_MS}
    protocols = [{"name": "range", "metadata": b"metadata"}]
    named = {"group_id": group, "member_id": member, "group_instance_id": None, "protocol_type": "consumer"}
    return named | times | {"protocols": protocols}


async def _named(way: RawConnection, group: str) -> str:
    return str((await way.request(ApiKey.JOIN_GROUP, 5, _join(group, ""))).member_id)


async def _joined(way: RawConnection, group: str, member: str) -> Any:
    answer = await way.request(ApiKey.JOIN_GROUP, 5, _join(group, member))
    assert answer.error_code == ErrorCode.NONE, answer
    return answer


async def _synced(way: RawConnection, group: str, joined: Any) -> None:
    given = [{"member_id": row.member_id, "assignment": b"assignment"} for row in joined.members]
    asked = {"group_id": group, "generation_id": joined.generation_id, "member_id": joined.member_id, "group_instance_id": None}
    answer = await way.request(ApiKey.SYNC_GROUP, 3, asked | {"assignments": given})
    assert answer.error_code == ErrorCode.NONE, answer


# -- at rest ------------------------------------------------------------------------------------------------------------


async def _left_at_rest(port: int, count: int) -> None:
    """So many groups with one offset each, and so many transactional ids."""
    ways = [RawConnection(*await asyncio.open_connection("127.0.0.1", port)) for _ in range(AT_A_TIME)]

    async def some(start: int, way: RawConnection) -> None:
        for number in range(start, count, AT_A_TIME):
            commit = partial(way.request, ApiKey.OFFSET_COMMIT, 7, _commit(f"idle-{number}", 1, ""))
            await _until_known(commit, _committed_code)
            asked = {"transactional_id": f"idle-{number}", "transaction_timeout": 60_000, "producer_id": -1, "producer_epoch": -1}
            answer = await _until_known(partial(way.request, ApiKey.INIT_PRODUCER_ID, 4, asked), _code)
            assert answer.error_code == ErrorCode.NONE, answer

    await _until_known(lambda: ways[0].request(ApiKey.FIND_COORDINATOR, 1, {"key": "idle", "key_type": 1}), _code)
    await asyncio.gather(*(some(start, way) for start, way in enumerate(ways)))
    for way in ways:
        await way.close()


def _commit(group: str, partitions: int, metadata: str) -> dict[str, Any]:
    rows = [
        {"partition_index": n, "committed_offset": 1, "committed_leader_epoch": -1, "committed_metadata": metadata}
        for n in range(partitions)
    ]
    topics = [{"name": TOPIC, "partitions": rows}]
    return {"group_id": group, "generation_id": -1, "member_id": "", "group_instance_id": None, "topics": topics}


def _code(answer: Any) -> int:
    return int(answer.error_code)


def _committed_code(answer: Any) -> int:
    return int(answer.topics[0].partitions[0].error_code)


# -- loading ------------------------------------------------------------------------------------------------------------


async def _fill(cluster: TestCluster, port: int, size: int) -> int:
    """Commits of one group until the partition has so many bytes; how many it has."""
    folder = cluster.layout.broker_folder(1) / "log" / f"{CONSUMER_OFFSETS}-0"
    async with raw_connection(port) as way:
        asked = _commit("loaded", OFFSETS_OF_A_COMMIT, "m" * METADATA_BYTES)
        while (stored := sum(path.stat().st_size for path in folder.glob("*.log"))) < size:
            for _ in range(10):
                answer = await _until_known(lambda: way.request(ApiKey.OFFSET_COMMIT, 7, asked), _committed_code)
                assert _committed_code(answer) == ErrorCode.NONE, answer
    return stored


async def _loaded(port: int) -> Loaded:
    """Until the group's offsets are told, while another client asks for something small again and again."""
    waits: list[float] = []
    over = asyncio.Event()

    async def probe(way: RawConnection) -> None:
        while not over.is_set():
            began = time.monotonic()
            await way.request(ApiKey.API_VERSIONS, 0, {})
            waits.append((time.monotonic() - began) * 1000)
            await asyncio.sleep(PROBE_SECONDS)

    async with raw_connection(port) as asking, raw_connection(port) as probing:
        began = time.monotonic()
        task = asyncio.create_task(probe(probing))
        asked = {"group_id": "loaded", "topics": [{"name": TOPIC, "partition_indexes": [0]}]}
        answer = await _until_known(lambda: asking.request(ApiKey.OFFSET_FETCH, 5, asked), _code)
        assert answer.topics[0].partitions[0].committed_offset == 1, answer
        took = time.monotonic() - began
        over.set()
        await task
    waits.sort()
    return Loaded(took, waits[-1], waits[len(waits) // 2])
