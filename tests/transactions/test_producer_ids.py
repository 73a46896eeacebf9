"""Producer ids in blocks of a thousand, from a store that races, loses replies and goes away."""

import pytest

from broker_core.coordination.store import BadVersion, ConnectionLoss
from broker_core.errors import ErrorCode, KafkaError
from broker_core.transactions.producer_ids import (
    BLOCK_PATH,
    MAX_ATTEMPTS,
    MAX_PRODUCER_ID,
    IdBlock,
    ProducerIds,
    decode_block,
    encode_block,
    next_block,
    take_block,
)
from tests.simulation.kernel.world import World


def simulate(scenario) -> None:
    async def run(node) -> None:
        await node.store.connect(6_000)
        await scenario(node)

    with World(seed=1) as world:
        world.add("b", start=True)
        world.run("b", run)
        assert not world.problems


def test_znode_is_kafkas():
    """znodes: the numbers are strings."""
    data = b'{"version":1,"broker":2,"block_start":"1000","block_end":"1999"}'
    assert encode_block(2, IdBlock(1000, 1999)) == data
    assert decode_block(data) == IdBlock(1000, 1999)
    assert decode_block(b"") is None
    with pytest.raises(KafkaError, match="cannot be read"):
        decode_block(b"{}")


def test_blocks_follow_each_other_to_the_end():
    assert next_block(None) == IdBlock(0, 999)
    assert next_block(IdBlock(0, 999)) == IdBlock(1000, 1999)
    with pytest.raises(KafkaError, match="given out"):
        next_block(IdBlock(0, MAX_PRODUCER_ID - 100))


@pytest.mark.spec("G4")
def test_two_brokers_never_share_an_id():
    """Each takes its own block, the next one when it is used up."""

    async def scenario(node):
        one, two = ProducerIds(node, 1), ProducerIds(node, 2)
        ids = [await broker.next_id() for _ in range(1001) for broker in (one, two)]
        assert len(set(ids)) == 2002
        assert max(ids) == 3000
        assert decode_block((await node.store.get(BLOCK_PATH))[0]) == IdBlock(3000, 3999)

    simulate(scenario)


def test_callers_share_one_allocation():
    async def scenario(node):
        ids = ProducerIds(node, 1)
        tasks = [node.spawn(ids.next_id(), name="caller") for _ in range(50)]
        assert sorted([await task for task in tasks]) == list(range(50))
        assert (await node.store.get(BLOCK_PATH))[1].version == 0

    simulate(scenario)


def test_znode_that_is_empty_at_first():
    async def scenario(node):
        await node.store.create(BLOCK_PATH, b"")
        assert await take_block(node.store, 1) == IdBlock(0, 999)

    simulate(scenario)


def test_lost_reply_skips_a_block():
    """The write may have taken effect: its block is not used, and nobody gets it twice."""

    async def scenario(node):
        ids = ProducerIds(node, 1)
        assert await ids.next_id() == 0
        other = ProducerIds(node, 1)
        real_set = node.store.set

        async def lossy(path, data, version=-1):
            await real_set(path, data, version)
            node.store.set = real_set
            raise ConnectionLoss(path)

        node.store.set = lossy
        with pytest.raises(KafkaError) as refused:
            await other.next_id()
        assert refused.value.code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        assert refused.value.retriable
        assert await other.next_id() == 2000

    simulate(scenario)


def test_endless_races_end():
    async def scenario(node):
        attempts = 0

        async def always_late(path, data, version=-1):
            nonlocal attempts
            attempts += 1
            raise BadVersion(path)

        await node.store.create(BLOCK_PATH, b"")
        node.store.set = always_late
        with pytest.raises(KafkaError):
            await ProducerIds(node, 1).next_id()
        assert attempts == MAX_ATTEMPTS

    simulate(scenario)
