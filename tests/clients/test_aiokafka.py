"""aiokafka, unmodified: produce, consume, groups, administration."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.admin import NewTopic as TopicToMake
from aiokafka.structs import TopicPartition

from tests.support.cluster import TestCluster

pytestmark = pytest.mark.spec("G1")

NewTopic = Callable[..., str]


async def test_produces_and_a_group_consumes(cluster: TestCluster, new_topic: NewTopic) -> None:
    topic = new_topic(partitions=2)
    async with AIOKafkaProducer(bootstrap_servers=cluster.bootstrap_servers, acks="all", enable_idempotence=True) as producer:
        for n in range(50):
            await producer.send_and_wait(topic, b"%d" % n)
    consumer = AIOKafkaConsumer(topic, bootstrap_servers=cluster.bootstrap_servers, group_id=f"g-{topic}", auto_offset_reset="earliest")
    async with consumer:
        found = sorted([int((await consumer.getone()).value) for _ in range(50)])
        await consumer.commit()
        committed = [await consumer.committed(TopicPartition(topic, number)) for number in range(2)]
    assert found == list(range(50))
    assert sum(committed) == 50


async def test_administers_topics(cluster: TestCluster) -> None:
    admin = AIOKafkaAdminClient(bootstrap_servers=cluster.bootstrap_servers)
    await admin.start()
    try:
        await admin.create_topics([TopicToMake("made-by-aiokafka", 2, 3)])
        while "made-by-aiokafka" not in await admin.list_topics():  # a broker that was not asked learns it a moment later
            await asyncio.sleep(0.05)
        await admin.delete_topics(["made-by-aiokafka"])
    finally:
        await admin.close()
