"""What arrives at a broker's port may be anything: the sender hears an error or is cut off, everybody else goes on."""

from __future__ import annotations

import asyncio
import random
import struct
import subprocess
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack
from typing import Any

import pytest

from broker_core.errors import ErrorCode
from broker_core.protocol.api import ApiKey
from broker_core.records.batch import Record, build_batch
from tests.support.clients import produce, read_all
from tests.support.cluster import TestCluster
from tests.support.frames import RawConnection, bad_records, bad_streams, raw_connection, with_size
from tests.support.metadata import metadata_of

pytestmark = pytest.mark.spec("N1")

NewTopic = Callable[..., str]
TIME_MS = 1_700_000_000_000
SILENT_CONNECTIONS = 100


def batch(value: bytes = b"value") -> bytes:
    return build_batch([Record(0, TIME_MS, None, value, ())])


async def send(connection: RawConnection, topic: str, records: bytes, acks: int = -1) -> Any:
    rows = [{"name": topic, "partition_data": [{"index": 0, "records": records}]}]
    answer = await connection.request(ApiKey.PRODUCE, 9, {"acks": acks, "timeout": 30_000, "topic_data": rows})
    return answer.responses[0].partition_responses[0]


def leader_port(cluster: TestCluster, topic: str) -> int:
    """Of partition 0."""
    answer = metadata_of(cluster.layout.port_of(1), [topic])
    return cluster.layout.port_of(answer.topics[0].partitions[0].leader_id)


@pytest.fixture
def kcat_goes_on(cluster: TestCluster, new_topic: NewTopic) -> Iterator[None]:
    """A kcat that consumes all the while: what is produced before and after arrives by the connections it opened at first."""
    topic = new_topic(partitions=1)
    command = ["kcat", "-b", cluster.bootstrap_servers, "-C", "-t", topic, "-o", "beginning", "-u", "-q", "-c", "2"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        produce(cluster, topic, [b"before"])
        assert running.stdout.readline() == "before\n", running.communicate(timeout=60)
        yield
        produce(cluster, topic, [b"after"])
        lines, complaints = running.communicate(timeout=60)
    assert (lines, complaints, running.returncode) == ("after\n", "", 0)


async def test_hostile_bytes_end_their_own_connection_only(cluster: TestCluster, kcat_goes_on: None) -> None:
    for port in (cluster.layout.port_of(broker_id) for broker_id in (1, 2, 3)):
        for name, stream in bad_streams().items():
            async with raw_connection(port) as connection:
                await connection.send_bytes(stream)
                assert await asyncio.wait_for(connection.closed_without_an_answer(), 60), name
    assert cluster.running() == [1, 2, 3]


async def test_random_frames_of_every_key_do_not_stop_a_broker(cluster: TestCluster, kcat_goes_on: None) -> None:
    """Right header, random body: whatever the broker makes of it, it answers or closes, and serves on."""
    rng = random.Random(5)
    port = cluster.layout.port_of(1)
    for key in range(-2, 80):
        for version in (0, 1, 5, 9, 12, 99):
            async with raw_connection(port) as connection:
                body = rng.randbytes(rng.randrange(120))
                await connection.send_bytes(with_size(struct.pack(">hhih", key, version, 1, 1) + b"x" + body))
                await connection.half_close()
                await asyncio.wait_for(connection.closed_or_answered(), 60)
    assert cluster.running() == [1, 2, 3]


async def test_bad_records_are_refused_and_the_connection_stays(cluster: TestCluster, new_topic: NewTopic, kcat_goes_on: None) -> None:
    topic = new_topic(partitions=1)
    flipped = bytearray(batch())
    flipped[-1] ^= 1
    too_large = batch(bytes(1_100_000))
    async with raw_connection(leader_port(cluster, topic)) as connection:
        for name, records in bad_records().items():
            code = (await send(connection, topic, records)).error_code
            assert code in (ErrorCode.CORRUPT_MESSAGE, ErrorCode.INVALID_RECORD, ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT), name
        assert (await send(connection, topic, bytes(flipped))).error_code == ErrorCode.CORRUPT_MESSAGE
        assert (await send(connection, topic, too_large)).error_code == ErrorCode.MESSAGE_TOO_LARGE
        assert (await send(connection, topic, batch(b"good"))).error_code == ErrorCode.NONE
    assert [message.value() for message in read_all(cluster, topic, 1)] == [b"good"]


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "a b", "ü", "x" * 250, "<script>alert(1)</script>", "a\0b", "../../etc"])
async def test_an_illegal_topic_name_is_refused(cluster: TestCluster, name: str) -> None:
    """By CreateTopics on the controller, and not made by a Metadata request that may create topics."""
    async with raw_connection(cluster.layout.port_of(1)) as connection:
        metadata = await connection.request(ApiKey.METADATA, 9, {"topics": [{"name": name}], "allow_auto_topic_creation": True})
        assert metadata.topics[0].error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
    port = cluster.layout.port_of(metadata.controller_id)
    async with raw_connection(port) as connection:
        wanted = {"name": name, "num_partitions": 1, "replication_factor": 1}
        answer = await connection.request(ApiKey.CREATE_TOPICS, 5, {"topics": [wanted], "timeout": 5000})
        assert answer.topics[0].error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
        assert (await send(connection, name, batch())).error_code in (
            ErrorCode.INVALID_TOPIC_EXCEPTION,
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        )


async def test_a_replica_named_twice_is_refused(cluster: TestCluster, new_topic: NewTopic) -> None:
    """In a new topic's assignment, in added partitions and in a reassignment."""
    topic = new_topic(partitions=1)
    async with raw_connection(cluster.layout.port_of(1)) as connection:
        controller = (await connection.request(ApiKey.METADATA, 9, {"topics": []})).controller_id
    async with raw_connection(cluster.layout.port_of(controller)) as connection:
        wanted = {
            "name": f"{topic}-new",
            "num_partitions": -1,
            "replication_factor": -1,
            "assignments": [{"partition_index": 0, "broker_ids": [1, 1]}],
        }
        created = await connection.request(ApiKey.CREATE_TOPICS, 5, {"topics": [wanted], "timeout": 5000})
        assert created.topics[0].error_code == ErrorCode.INVALID_REPLICA_ASSIGNMENT
        more = {"name": topic, "count": 2, "assignments": [{"broker_ids": [2, 2, 3]}]}
        added = await connection.request(ApiKey.CREATE_PARTITIONS, 2, {"topics": [more], "timeout": 5000})
        assert added.results[0].error_code == ErrorCode.INVALID_REPLICA_ASSIGNMENT
        for replicas in ([1, 1], [1, 2, 1], [], [1, -5], [1, 99]):
            moved = {"name": topic, "partitions": [{"partition_index": 0, "replicas": replicas}]}
            answer = await connection.request(ApiKey.ALTER_PARTITION_REASSIGNMENTS, 0, {"topics": [moved], "timeout": 5000})
            assert answer.responses[0].partitions[0].error_code == ErrorCode.INVALID_REPLICA_ASSIGNMENT, replicas


async def test_silent_and_dripping_connections_hold_up_nobody(cluster: TestCluster, new_topic: NewTopic) -> None:
    """A hundred connections that say nothing, and one that announced a frame and sends it byte by byte."""
    topic = new_topic(partitions=1)
    port = leader_port(cluster, topic)
    async with AsyncExitStack() as stack:
        for _ in range(SILENT_CONNECTIONS):
            await stack.enter_async_context(raw_connection(port))
        dripping = await stack.enter_async_context(raw_connection(port))
        await dripping.send_bytes(struct.pack(">i", 100_000_000))
        for value in range(5):
            await dripping.send_bytes(b"\0")
            await asyncio.to_thread(produce, cluster, topic, [b"%d" % value])
    assert len(read_all(cluster, topic, 5)) == 5


async def test_large_frames_that_never_end_are_not_held_in_memory(cluster: TestCluster, new_topic: NewTopic) -> None:
    """Memory follows the bytes that came, not the size that was announced."""
    topic = new_topic(partitions=1)
    port = leader_port(cluster, topic)
    pid = next(cluster.pid(broker_id) for broker_id in (1, 2, 3) if cluster.layout.port_of(broker_id) == port)
    before = resident_bytes(pid)
    async with AsyncExitStack() as stack:
        for _ in range(50):
            connection = await stack.enter_async_context(raw_connection(port))
            await connection.send_bytes(struct.pack(">i", 104_857_600) + bytes(1000))
        await asyncio.to_thread(produce, cluster, topic, [b"x"])
        assert resident_bytes(pid) - before < 50_000_000


def resident_bytes(pid: int) -> int:
    with open(f"/proc/{pid}/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * 4096
