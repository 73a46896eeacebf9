"""Whether a coordinator is still in the office that its memory is of: the store knows.

What is written is fenced by the partition's leader epoch; what is answered from memory alone is not. A broker that was deposed and has not
heard of it (it was paused, cut off, or wrongly held for dead) would deny what its successor has granted, or confirm an end that was another
transaction's. So an answer that a client takes for final is given only after a look at who leads, which began after the answer was found.
"""

from __future__ import annotations

import asyncio

from broker_core.coordination.layout import state_path
from broker_core.coordination.store import StoreError
from broker_core.coordination.znode_data import decode_partition_state
from broker_core.model import TopicPartition
from broker_core.seams import Node


class Office:
    """Of one broker. However many ask, one look at a partition is on its way, and the next one serves all that have come meanwhile."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._waiting: dict[TopicPartition, asyncio.Future[int | None]] = {}
        self._looking: set[TopicPartition] = set()

    async def is_held(self, tp: TopicPartition, leader_epoch: int) -> bool:
        """Whether the partition is in that leader epoch; False where the store does not say."""
        epoch = self._waiting.get(tp)
        if epoch is None:
            epoch = self._waiting[tp] = asyncio.get_running_loop().create_future()
        if tp not in self._looking:
            self._looking.add(tp)
            self._node.spawn(self._look(tp), name=f"office of {tp}")
        return await asyncio.shield(epoch) == leader_epoch

    async def _look(self, tp: TopicPartition) -> None:
        try:
            while (epoch := self._waiting.pop(tp, None)) is not None:
                epoch.set_result(await self._epoch(tp))
        finally:
            self._looking.discard(tp)

    async def _epoch(self, tp: TopicPartition) -> int | None:
        try:
            data, stat = await self._node.store.get(state_path(tp))
            state, _ = decode_partition_state(tp, data, stat.version)
        except StoreError:
            return None
        return state.leader_epoch
