"""Producer ids, in blocks that the brokers take from one znode (spec G4).

`/latest_producer_id_block` holds the last block given out: `{"version":1,"broker":N,"block_start":"s","block_end":"e"}` (the numbers
are strings, as Kafka writes them). A broker takes the next thousand by a write that names the znode's version, so that no two brokers
ever have the same block; a block lost to a crash or an uncertain write is simply skipped.
"""

from __future__ import annotations

import asyncio
import json
import logging

from msgspec import Struct

from broker_core.coordination.store import BadVersion, NodeExists, NoNode, Store, StoreError
from broker_core.errors import ErrorCode, KafkaError
from broker_core.seams import Node

log = logging.getLogger(__name__)

BLOCK_PATH = "/latest_producer_id_block"
BLOCK_SIZE = 1000
MAX_PRODUCER_ID = (1 << 63) - 1
MAX_ATTEMPTS = 20


class IdBlock(Struct, frozen=True):
    """Producer ids `first` to `last`, both inclusive."""

    first: int
    last: int


def next_block(previous: IdBlock | None) -> IdBlock:
    """The block after the last one given out. UNKNOWN_SERVER_ERROR when the numbers have run out."""
    first = 0 if previous is None else previous.last + 1
    if first > MAX_PRODUCER_ID - BLOCK_SIZE:
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, f"all producer ids have been given out, up to {first - 1}")
    return IdBlock(first, first + BLOCK_SIZE - 1)


def encode_block(broker_id: int, block: IdBlock) -> bytes:
    fields = {"version": 1, "broker": broker_id, "block_start": str(block.first), "block_end": str(block.last)}
    return json.dumps(fields, separators=(",", ":")).encode()


def decode_block(data: bytes) -> IdBlock | None:
    """None for the empty znode that Kafka makes at first."""
    if not data:
        return None
    try:
        fields = json.loads(data)
        return IdBlock(int(fields["block_start"]), int(fields["block_end"]))
    except (ValueError, KeyError, TypeError) as error:
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, f"{BLOCK_PATH} cannot be read: {data[:200]!r}") from error


class ProducerIds:
    """Hands out ids one by one. Callers that find the block used up share one allocation."""

    def __init__(self, node: Node, broker_id: int) -> None:
        self._node = node
        self._broker_id = broker_id
        self._next = 0
        self._block = IdBlock(0, -1)
        self._allocation: asyncio.Task[None] | None = None

    async def next_id(self) -> int:
        """A producer id that no broker of the cluster has given out before; COORDINATOR_LOAD_IN_PROGRESS if the store cannot be had."""
        while self._next > self._block.last:
            await self._allocate()
        self._next += 1
        return self._next - 1

    async def _allocate(self) -> None:
        if self._allocation is None or self._allocation.done():
            self._allocation = self._node.spawn(self._take_block(), name="producer-id-block")
        await asyncio.shield(self._allocation)
        if self._next > self._block.last:
            raise KafkaError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, "no block of producer ids could be had")

    async def _take_block(self) -> None:
        try:
            block = await take_block(self._node.store, self._broker_id)
        except (KafkaError, StoreError) as error:
            log.warning("no producer ids", extra={"reason": str(error)})
            return
        log.info("producer ids taken", extra={"first": block.first, "last": block.last})
        self._block = block
        self._next = block.first


async def take_block(store: Store, broker_id: int) -> IdBlock:
    """Moves the znode on by one block; raises `StoreError` after `MAX_ATTEMPTS` lost races."""
    for _ in range(MAX_ATTEMPTS):
        try:
            data, stat = await store.get(BLOCK_PATH)
            block = next_block(decode_block(data))
            await store.set(BLOCK_PATH, encode_block(broker_id, block), stat.version)
        except NoNode:
            block = next_block(None)
            try:
                await store.create(BLOCK_PATH, encode_block(broker_id, block))
            except NodeExists:
                continue
        except BadVersion:
            continue
        return block
    raise StoreError(f"{BLOCK_PATH} was changed by others {MAX_ATTEMPTS} times in a row")
