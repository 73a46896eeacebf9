"""What a partition of `__consumer_offsets` says, batch by batch, and the groups that follow from it. Pure.

The last record of a key wins; a tombstone removes it. Commits of a transaction count from its commit marker on, those of an aborted
one never do; against commits outside transactions the later record wins, not the later marker.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from broker_core.errors import CorruptData
from broker_core.groups.group import Group
from broker_core.groups.member import Member
from broker_core.groups.messages import Protocol
from broker_core.groups.offsets import Committed
from broker_core.groups.records import GroupKey, GroupValue, OffsetKey, decode_group_value, decode_key, decode_offset_value
from broker_core.groups.states import GroupState
from broker_core.groups.subscription import CONSUMER_PROTOCOL_TYPE, subscribed_topics
from broker_core.model import TopicPartition

KeyValue = tuple[bytes | None, bytes | None]


class Replay:
    """Takes a partition's batches in log order. `skipped` counts records that could not be read or are of a later release."""

    def __init__(self) -> None:
        self.groups: dict[str, GroupValue] = {}
        self.offsets: dict[str, dict[TopicPartition, Committed]] = {}
        self.open_transactions: dict[int, dict[OffsetKey, Committed]] = {}
        self.skipped = 0

    def batch(self, base_offset: int, producer_id: int | None, records: Iterable[KeyValue]) -> None:
        """One data batch; `producer_id` is None for one that is not part of a transaction."""
        for key, value in records:
            try:
                self._record(base_offset, producer_id, key, value)
            except CorruptData:
                self.skipped += 1

    def marker(self, producer_id: int, *, commit: bool) -> None:
        """The end of a producer's transaction."""
        staged = self.open_transactions.pop(producer_id, {})
        if commit:
            for key, committed in staged.items():
                current = self.offsets.get(key.group_id, {}).get(key.topic_partition)
                if current is None or current.record_offset < committed.record_offset:
                    self._commit(key, committed)

    def _record(self, base_offset: int, producer_id: int | None, key: bytes | None, value: bytes | None) -> None:
        decoded = decode_key(key or b"")
        if isinstance(decoded, OffsetKey):
            committed = None if value is None else Committed(base_offset, decode_offset_value(value))
            self._offset(producer_id, decoded, committed)
        elif isinstance(decoded, GroupKey):
            if value is None:
                self.groups.pop(decoded.group_id, None)
            else:
                self.groups[decoded.group_id] = decode_group_value(value)
        else:
            self.skipped += 1

    def _offset(self, producer_id: int | None, key: OffsetKey, committed: Committed | None) -> None:
        if producer_id is not None:
            staged = self.open_transactions.setdefault(producer_id, {})
            if committed is None:
                staged.pop(key, None)
            else:
                staged[key] = committed
        elif committed is None:
            self._forget(key)
        else:
            self._commit(key, committed)

    def _commit(self, key: OffsetKey, committed: Committed) -> None:
        self.offsets.setdefault(key.group_id, {})[key.topic_partition] = committed

    def _forget(self, key: OffsetKey) -> None:
        of_group = self.offsets.get(key.group_id, {})
        of_group.pop(key.topic_partition, None)
        if not of_group:
            self.offsets.pop(key.group_id, None)

    def build(self, now_ms: int) -> Iterator[Group]:
        """All groups that have a record, committed offsets or an open transaction, one by one, always in the same order."""
        staged = [key.group_id for commits in self.open_transactions.values() for key in commits]
        for group_id in dict.fromkeys([*self.groups, *self.offsets, *staged]):
            yield self._group(group_id, now_ms)

    def _group(self, group_id: str, now_ms: int) -> Group:
        value = self.groups.get(group_id)
        group = Group(group_id, now_ms) if value is None else group_from_value(group_id, value, now_ms)
        for tp, committed in self.offsets.get(group_id, {}).items():
            group.offsets.load(tp, committed)
        for producer_id, commits in self.open_transactions.items():
            own = {key.topic_partition: committed for key, committed in commits.items() if key.group_id == group_id}
            if own:
                group.offsets.stage(producer_id, own)
        return group


def group_from_value(group_id: str, value: GroupValue, now_ms: int) -> Group:
    """The group as its last generation was stored: Stable with members, Empty without."""
    group = Group(group_id, now_ms)
    group.state = GroupState.STABLE if value.members else GroupState.EMPTY
    group.state_ms = value.state_ms
    group.generation = value.generation
    group.protocol_type = value.protocol_type or None
    group.protocol_name = value.protocol
    for stored in value.members:
        group.members.add(
            Member(
                stored.member_id,
                stored.instance_id,
                stored.client_id,
                stored.client_host,
                stored.session_timeout_ms,
                stored.rebalance_timeout_ms,
                (Protocol(value.protocol or "", stored.subscription),),
                stored.assignment,
            )
        )
    if value.leader is not None and value.leader in group.members:
        group.members.leader = value.leader
    if value.protocol_type == CONSUMER_PROTOCOL_TYPE:
        group.subscribed = subscribed_topics(member.subscription for member in value.members)
    return group
