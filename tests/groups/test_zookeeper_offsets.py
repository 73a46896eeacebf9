"""Offsets in ZooKeeper: OffsetCommit and OffsetFetch version 0."""

import pytest

from broker_core.errors import CorruptData, ErrorCode, KafkaError
from broker_core.groups.zookeeper_offsets import offset_path, read_offset, write_offset
from broker_core.model import TopicPartition
from tests.simulation.kernel.world import World

T3 = TopicPartition("t", 3)


@pytest.mark.spec("Z7")
def test_offsets_are_where_old_consumers_had_them():
    """`/consumers/G/offsets/T/P`, decimal digits."""

    async def scenario(node):
        await node.store.connect(6_000)
        assert await read_offset(node.store, "g", T3) is None
        await write_offset(node.store, "g", T3, 42)
        await write_offset(node.store, "g", T3, 43)
        assert await node.store.get("/consumers/g/offsets/t/3") == (b"43", (await node.store.get("/consumers/g/offsets/t/3"))[1])
        assert await read_offset(node.store, "g", T3) == 43
        await node.store.set("/consumers/g/offsets/t/3", b"x")
        with pytest.raises(CorruptData):
            await read_offset(node.store, "g", T3)

    with World(seed=1) as world:
        world.add("b", start=True)
        world.run("b", scenario)
        assert not world.problems


@pytest.mark.parametrize("group_id", ["", "a/b", ".", "..", "zookeeper", "a\x00b", "../brokers"])
def test_group_ids_that_are_no_znode_names(group_id):
    """A group id must not reach another path."""
    with pytest.raises(KafkaError) as refused:
        offset_path(group_id, T3)
    assert refused.value.code is ErrorCode.INVALID_GROUP_ID
