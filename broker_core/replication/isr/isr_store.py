"""Writes ISR changes to the store and announces them to the controller (spec R4; the way before `2.7-IV2`).

A write names the version of the partition's state znode that the leader knows, so it fails once anybody else has written.
A lost reply is looked up: whoever finds its own words in the znode has written them. Announcements are batched into
sequential znodes that the controller reads, passes on by UpdateMetadata, and deletes.

A newcomer is taken in only if it is registered at that moment, with the broker epoch that its fetches named: a fetch sent
before a reboot must not bring the rebooted broker into the ISR (KAFKA-15221).
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from msgspec import Struct

from broker_core.coordination.layout import ISR_CHANGES, broker_path, state_path
from broker_core.coordination.store import BadVersion, ConnectionLoss, NoNode, SessionExpired, StoreError
from broker_core.coordination.znode_data import decode_partition_state, encode_isr_change, encode_partition_state
from broker_core.model import NO_EPOCH, LeaderAndIsr, TopicPartition
from broker_core.seams import Node, TimerHandle

log = logging.getLogger(__name__)

RETRY_MS = 500
ANNOUNCE_SOON_MS = 100
"""So long after a change the first announcement comes, with all that changed meanwhile."""
ANNOUNCE_EVERY_MS = 500
"""Another one comes so long after it at the earliest, however much changes. Kafka's brokers of that protocol wait for 5 s of quiet, and
clients are told of a whole ISR as much later; those of today tell the controller at once (KIP-497)."""
ANNOUNCE_AGAIN_MS = 5_000
"""After the store did not take one."""
ANNOUNCE_MOST_PARTITIONS = 3_000
"""Partitions in one announcement, so that its znode stays far below the store's 1 MiB."""


class Written(Struct, frozen=True):
    """The store holds `isr` at `zk_version`, by this write or an earlier one of the same leadership."""

    isr: tuple[int, ...]
    zk_version: int


class Refused(Struct, frozen=True):
    """Another authority has written the partition's state, or it is gone."""


class Withdrawn(Struct, frozen=True):
    """Nothing was written: the newcomer is not who its fetches said it was, or the leadership is over."""


Outcome = Written | Refused | Withdrawn


class Newcomer(Struct, frozen=True):
    """The broker to take in; `broker_epoch` is -1 when its fetches do not tell."""

    broker_id: int
    broker_epoch: int


async def write_isr(
    node: Node,
    tp: TopicPartition,
    proposal: LeaderAndIsr,
    controller_epoch: int,
    *,
    newcomer: Newcomer | None,
    still_wanted: Callable[[], bool],
) -> Outcome:
    """Tries until the store has answered for sure, or nobody waits for the answer any more.

    After an expired session the same write is tried in the next one: only the version decides whether it is still ours.
    """
    tried = False
    while still_wanted():
        try:
            if newcomer is None or await _is_registered(node, newcomer):
                tried = True
                data = encode_partition_state(proposal, controller_epoch)
                stat = await node.store.set(state_path(tp), data, version=proposal.zk_version)
                return Written(proposal.isr, stat.version)
            # Not registered any more. Where no write was sent nothing has happened; one whose reply was lost may be in the store.
            outcome = await look_up(node, tp, proposal) if tried else Withdrawn()
        except BadVersion:
            outcome = await look_up(node, tp, proposal)
        except NoNode:
            return Refused()
        except (ConnectionLoss, SessionExpired):
            outcome = None
        if outcome is not None:
            return outcome
        await node.clock.sleep(RETRY_MS)
    return Withdrawn()


async def settle_isr(node: Node, tp: TopicPartition, settled: LeaderAndIsr, *, still_wanted: Callable[[], bool]) -> Outcome | None:
    """Writes what is known to be there once more, so that nothing asked for before can be written any more; None without an answer.

    It keeps the epoch of the controller that wrote it, which may be a later one than the one whose order the leader follows.
    """
    try:
        data, stat = await node.store.get(state_path(tp))
    except NoNode:
        return Refused()
    except (ConnectionLoss, SessionExpired):
        return None
    _, controller_epoch = decode_partition_state(tp, data, stat.version)
    return await write_isr(node, tp, settled, controller_epoch, newcomer=None, still_wanted=still_wanted)


async def _is_registered(node: Node, newcomer: Newcomer) -> bool:
    stat = await node.store.exists(broker_path(newcomer.broker_id))
    return stat is not None and newcomer.broker_epoch in (NO_EPOCH, stat.czxid)


async def look_up(node: Node, tp: TopicPartition, proposal: LeaderAndIsr) -> Outcome | None:
    """After a refusal by version, or no reply: a new version is our own earlier write while the leadership in it is still ours."""
    try:
        data, stat = await node.store.get(state_path(tp))
    except NoNode:
        return Refused()
    except (ConnectionLoss, SessionExpired):
        return None
    found, _ = decode_partition_state(tp, data, stat.version)
    if found.zk_version == proposal.zk_version:
        return Withdrawn()
    if (found.leader, found.leader_epoch) == (proposal.leader, proposal.leader_epoch):
        return Written(found.isr, found.zk_version)
    return Refused()


class IsrAnnouncer:
    """Collects the partitions whose ISR this broker changed; idle while there are none."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._pending: dict[TopicPartition, None] = {}
        self._not_before_ms = float("-inf")
        self._timer: TimerHandle | None = None
        self._closed = False

    @property
    def pending(self) -> int:
        return len(self._pending)

    def note(self, tp: TopicPartition) -> None:
        """The ISR of `tp` in the store has changed."""
        self._pending[tp] = None
        self._arm()

    def close(self) -> None:
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()

    def _arm(self) -> None:
        if self._timer is None and self._pending and not self._closed:
            wait_ms = max(ANNOUNCE_SOON_MS, self._not_before_ms - self._node.clock.monotonic_ms())
            self._timer = self._node.clock.call_later(wait_ms, self._begin)

    def _begin(self) -> None:
        self._timer = None
        self._not_before_ms = self._node.clock.monotonic_ms() + ANNOUNCE_EVERY_MS
        self._node.spawn(self._announce(), name="announce ISR changes")

    async def _announce(self) -> None:
        batch = list(self._pending)[:ANNOUNCE_MOST_PARTITIONS]
        for tp in batch:  # before the wait: one that changes again meanwhile is announced again
            del self._pending[tp]
        try:
            await self._node.store.create(f"{ISR_CHANGES}/isr_change_", encode_isr_change(batch), sequence=True)
        except StoreError as error:
            log.warning("ISR changes could not be announced, will retry", extra={"partitions": len(batch), "error": repr(error)})
            self._pending = {**dict.fromkeys(batch), **self._pending}
            self._not_before_ms = self._node.clock.monotonic_ms() + ANNOUNCE_AGAIN_MS
        self._arm()
