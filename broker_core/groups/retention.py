"""When committed offsets expire, and with the last of them the group (spec G3). Pure.

| the group | its offsets expire `offsets.retention.minutes` after |
|---|---|
| has had members and is Empty | it became empty (after the commit, if the record does not say when) |
| Stable, of consumers | the commit, for topics that no member subscribes to |
| never had members (consumers that assign themselves, tools) | the commit |
| otherwise | never |

A commit that named its own retention (v2–4) expires by that alone. Offsets with a commit under way stay.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from broker_core.groups.group import RETENTION_TIMER, Group
from broker_core.groups.messages import Effect
from broker_core.groups.records import OffsetCommit
from broker_core.groups.states import GroupState
from broker_core.model import TopicPartition

_NOTHING: frozenset[str] = frozenset()


def watch(group: Group, retention_ms: int, check_interval_ms: int, now_ms: int) -> list[Effect]:
    """Starts the timer for the next look at this group: for one without members, not before something can have expired."""
    expiries = () if group.members else _expirable(group, retention_ms)
    first_ms = min((at_ms for _, at_ms in expiries), default=now_ms)
    return _look_at(group, max(now_ms + check_interval_ms, first_ms), now_ms)


def watch_by(group: Group, expire_ms: int, check_interval_ms: int, now_ms: int) -> list[Effect]:
    """An offset that expires then was committed: the next look comes earlier if it has to, never later for it."""
    at_ms = max(now_ms + check_interval_ms, expire_ms)
    if RETENTION_TIMER in group.timers and group.next_look_ms <= at_ms:
        return []
    return _look_at(group, at_ms, now_ms)


def _look_at(group: Group, at_ms: int, now_ms: int) -> list[Effect]:
    group.next_look_ms = at_ms
    group.start_timer(RETENTION_TIMER, at_ms - now_ms)
    return group.take_effects()


def expired(group: Group, retention_ms: int, now_ms: int) -> list[TopicPartition]:
    """The partitions whose offsets have expired."""
    return [tp for tp, at_ms in _expirable(group, retention_ms) if now_ms >= at_ms]


def ends_without(group: Group, partitions: Sequence[TopicPartition]) -> bool:
    """Whether nothing is left of the group once the offsets of these partitions are gone."""
    return group.state is GroupState.EMPTY and group.offsets.has_only(partitions)


def _expirable(group: Group, retention_ms: int) -> Iterator[tuple[TopicPartition, int]]:
    if group.protocol_type is None:
        yield from group.offsets.expirable(retention_ms, _committed_ms, _NOTHING)
    elif group.state is GroupState.EMPTY:
        since_ms = group.state_ms
        yield from group.offsets.expirable(retention_ms, _committed_ms if since_ms is None else lambda _: since_ms, _NOTHING)
    elif group.state is GroupState.STABLE and group.subscribed is not None:
        yield from group.offsets.expirable(retention_ms, _committed_ms, group.subscribed)


def _committed_ms(commit: OffsetCommit) -> int:
    return commit.commit_ms
