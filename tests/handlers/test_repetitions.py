"""What a request names again and again is answered once: a small request must not make an answer that fills the memory."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from broker_core.admin.config_entries import ConfigEntry
from broker_core.admin.configs import ResourceType
from broker_core.errors import ErrorCode
from broker_core.groups.offset_service import FetchedOffset
from broker_core.groups.states import GroupState
from broker_core.groups.summary import GroupSummary
from broker_core.handlers import describe_configs, describe_groups, describe_producers, offset_fetch
from broker_core.model import TopicPartition
from tests.support.admin_world import AdminWorld
from tests.support.api_client import ApiClient


async def test_settings_of_a_resource_are_gathered_once() -> None:
    world = AdminWorld(1)
    described: list[str] = []

    def describe(kind: ResourceType, name: str) -> list[ConfigEntry]:
        described.append(name)
        return world.admin.configs.describe(kind, name)

    admin = SimpleNamespace(watcher=world.admin.watcher, configs=SimpleNamespace(describe=describe))
    client = ApiClient(SimpleNamespace(admin=admin, metadata=world.metadata))
    everything: dict[str, Any] = {"resource_type": 4, "resource_name": "1", "configuration_keys": None}
    one = everything | {"configuration_keys": ["broker.id"]}
    answer = await client.call(describe_configs.handle, 4, resources=[everything, one, everything, one])
    assert [len(row.configs) > 1 for row in answer.results] == [True, False]
    assert described == ["1"]


async def test_a_group_is_described_once() -> None:
    groups = SimpleNamespace(describe=lambda group_id: GroupSummary(GroupState.EMPTY, "consumer"))
    client = ApiClient(SimpleNamespace(groups=groups))
    answer = await client.call(describe_groups.handle, 5, groups=["a", "b", "a"])
    assert [row.group_id for row in answer.groups] == ["a", "b"]


async def test_producers_of_a_partition_are_told_once() -> None:
    log = SimpleNamespace(producer_state=SimpleNamespace(entries={}))
    broker = SimpleNamespace(
        replicas=SimpleNamespace(partitions=SimpleNamespace(hosted=lambda tp: SimpleNamespace(replica=lambda: log))),
        metadata=SimpleNamespace(partition=lambda tp: tp),
    )
    topics = [{"name": "t", "partition_indexes": [0, 1, 0]}, {"name": "t", "partition_indexes": [1]}]
    answer = await ApiClient(broker).call(describe_producers.handle, 0, topics=topics)
    assert [(row.name, [partition.partition_index for partition in row.partitions]) for row in answer.topics] == [("t", [0, 1])]


async def test_offsets_of_a_group_are_told_once() -> None:
    told = {TopicPartition("t", 0): FetchedOffset(ErrorCode.NONE, 5)}
    groups = SimpleNamespace(fetch_offsets=lambda group_id, wanted, require_stable: told)
    client = ApiClient(SimpleNamespace(groups=groups))
    some = [{"name": "t", "partition_indexes": [0]}]
    asked = [
        {"group_id": group, "topics": topics, "member_id": f"m{topics}", "member_epoch": -1} for group in "aba" for topics in (None, some)
    ]
    asked.append({"group_id": "b", "topics": None, "member_id": "another", "member_epoch": 3})
    answer = await client.call(offset_fetch.handle, 9, groups=asked)
    assert [row.group_id for row in answer.groups] == ["a", "a", "b", "b"]
