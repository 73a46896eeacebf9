"""The state feed's server side: keeps which partitions and groups changed, and holds requests until something did.

Changes are only marked while somebody watches: the first request subscribes, half a minute without one unsubscribes and
makes all cursors stale. A mark costs one dict entry; rows are built when an answer is. Requests wait in a purgatory, and
marks of one burst complete them together.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
from typing import Literal, Protocol, TypeVar

import msgspec

from broker_core.contract.feed import Answer, Broker, Cursor, Event, Group, Replica
from broker_core.contract.feed import TopicPartition as Removed
from broker_core.model import TopicPartition
from broker_core.purgatory.purgatory import DelayedOperation, Purgatory
from broker_core.seams import Node, TimerHandle
from broker_core.storage.slices import Slices
from broker_core.telemetry.changes import ChangeLog
from broker_core.telemetry.feed_wire import FeedRequest

R = TypeVar("R")
G = TypeVar("G")
FeedKey = tuple[str, str, int]
"""("p", topic, partition) or ("g", group, 0); sorted, groups come first."""

UNWATCHED_AFTER_MS = 30_000
BURST_MS = 2.0
EVENTS_MAX = 300
CHANGES_MAX = 100_000
"""Things whose last change is remembered, some of which have gone; who is further behind is told everything anew."""
EVENTS_PER_ANSWER_MAX = 100
_WAKE = "state"


class StateSource(Protocol):
    """Where the rows come from; a row is None for what is no longer here."""

    def broker(self) -> Broker: ...
    def partition_keys(self) -> Iterable[TopicPartition]: ...
    def partition(self, tp: TopicPartition) -> Replica | None: ...
    def group_keys(self) -> Iterable[str]: ...
    def group(self, group: str) -> Group | None: ...
    def watch(self, partition_changed: Callable[[TopicPartition], None], group_changed: Callable[[str], None]) -> None: ...
    def unwatch(self) -> None: ...


class _Held(DelayedOperation):
    """One request that waits for news, not before its least interval has passed."""

    def __init__(self, delay_ms: float, ready: Callable[[], bool]) -> None:
        super().__init__(delay_ms)
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._ready = ready

    def try_complete(self) -> bool:
        return self._ready()

    def on_complete(self) -> None:
        if not self.done.done():
            self.done.set_result(None)


class StateFeed:
    """Answers feed requests of one broker."""

    def __init__(self, node: Node, source: StateSource, broker_epoch: Callable[[], int]) -> None:
        self._node = node
        self._source = source
        self._epoch = broker_epoch
        self._log: ChangeLog[FeedKey] = ChangeLog(CHANGES_MAX)
        self._purgatory: Purgatory[str] = Purgatory("state-feed", node.clock)
        self._events: deque[Event] = deque(maxlen=EVENTS_MAX)
        self._event_seq = 0
        self._watch = ""
        self._last_request_ms = 0.0
        self._wake: TimerHandle | None = None
        self._wake_at_ms = 0.0
        self._idle_check: TimerHandle | None = None
        self.held = 0
        self._idle = 0
        """Of the held requests those that there was no news for yet: the others only wait for their interval."""

    def add_event(self, kind: str, text: str, tp: TopicPartition | None = None) -> None:
        """Notes that something happened; kept even while nobody watches."""
        self._event_seq += 1
        topic, partition = (tp.topic, tp.partition) if tp else (None, None)
        self._events.append(Event(self._event_seq, self._node.clock.now_ms(), kind, topic, partition, text))
        self._wake_soon()

    def close(self) -> None:
        """Answers whoever waits; nothing is marked any more."""
        self._unwatch()
        self._purgatory.close()

    async def answer(self, request: FeedRequest, last_answer_ms: float) -> Answer:
        """The next answer for this cursor: at once if there is news and the interval is over, else held."""
        self._begin_watch()
        cursor = request.cursor
        if cursor is None or self._is_stale(cursor) or request.broker_epoch not in (-1, self._epoch()):
            return await self._full(request, Cursor(self._watch, self._log.sequence, self._first_event()), first=True)
        if cursor.after is not None:
            return await self._full(request, cursor, first=False)
        await self._hold(request, cursor, last_answer_ms)
        if self._is_stale(cursor):
            return await self._full(request, Cursor(self._watch, self._log.sequence, cursor.event), first=True)
        return await self._delta(request, cursor)

    def _is_stale(self, cursor: Cursor) -> bool:
        return cursor.watch != self._watch or cursor.sequence < self._log.forgotten

    async def _hold(self, request: FeedRequest, cursor: Cursor, last_answer_ms: float) -> None:
        not_before_ms = last_answer_ms + request.min_interval_ms
        clock = self._node.clock
        is_idle = True

        def ready() -> bool:
            nonlocal is_idle
            if not self._has_news(request, cursor):
                return False
            self._idle -= is_idle
            is_idle = False
            left_ms = not_before_ms - clock.monotonic_ms()
            if left_ms > 0:
                self._wake_in(left_ms)
            return left_ms <= 0

        held = _Held(request.max_wait_ms, ready)
        self.held += 1
        self._idle += 1
        try:
            self._purgatory.try_complete_else_watch(held, [_WAKE])
            await held.done
        finally:
            self.held -= 1
            self._idle -= is_idle
            held.force_complete()

    def _has_news(self, request: FeedRequest, cursor: Cursor) -> bool:
        if self._is_stale(cursor) or (self._events and self._event_seq > cursor.event):
            return True
        return any(_wanted(key, request) for key, _ in self._log.newest_first(cursor.sequence))

    # --- watching

    def _begin_watch(self) -> None:
        self._last_request_ms = self._node.clock.monotonic_ms()
        if self._watch:
            return
        self._watch = self._node.entropy.bytes(8).hex()
        self._source.watch(self._partition_changed, self._group_changed)
        self._idle_check = self._node.clock.call_later(UNWATCHED_AFTER_MS, self._check_idle)

    def _check_idle(self) -> None:
        idle_ms = self._node.clock.monotonic_ms() - self._last_request_ms
        if self.held or idle_ms < UNWATCHED_AFTER_MS:
            self._idle_check = self._node.clock.call_later(max(1000.0, UNWATCHED_AFTER_MS - idle_ms), self._check_idle)
        else:
            self._unwatch()

    def _unwatch(self) -> None:
        if not self._watch:
            return
        self._watch = ""
        self._source.unwatch()
        self._log.clear()
        for timer in (self._idle_check, self._wake):
            if timer is not None:
                timer.cancel()
        self._idle_check = self._wake = None

    def _partition_changed(self, tp: TopicPartition) -> None:
        self._log.mark(("p", tp.topic, tp.partition))
        self._wake_soon()

    def _group_changed(self, group: str) -> None:
        self._log.mark(("g", group, 0))
        self._wake_soon()

    def _wake_soon(self) -> None:
        if self._watch and self._idle:
            self._wake_in(BURST_MS)

    def _wake_in(self, delay_ms: float) -> None:
        """One timer for all that are held, for whoever is first; those that are not due then ask for it again."""
        at_ms = self._node.clock.monotonic_ms() + delay_ms
        if self._wake is not None:
            if self._wake_at_ms <= at_ms:
                return
            self._wake.cancel()
        self._wake_at_ms = at_ms
        self._wake = self._node.clock.call_later(delay_ms, self._woken)

    def _woken(self) -> None:
        self._wake = None
        self._purgatory.check_and_complete(_WAKE)

    # --- answers

    async def _full(self, request: FeedRequest, cursor: Cursor, *, first: bool) -> Answer:
        keys = [key for key in self._all_keys() if cursor.after is None or key > cursor.after]
        page = _Page(self._source, request.max_bytes)
        last = await page.fill((key for key in keys if _wanted(key, request)), Slices(self._node))
        return self._shape(page, cursor._replace(after=last), kind="full", first=first)

    async def _delta(self, request: FeedRequest, cursor: Cursor) -> Answer:
        changed = [(key, number) for key, number in self._log.since(cursor.sequence) if _wanted(key, request)]
        newest = self._log.sequence
        page = _Page(self._source, request.max_bytes)
        last = await page.fill((key for key, _ in changed), Slices(self._node))
        numbers = dict(changed)
        moved = cursor._replace(sequence=newest if last is None else numbers[last])
        return self._shape(page, moved, kind="delta", first=True, more=last is not None)

    def _shape(self, page: _Page, cursor: Cursor, *, kind: Literal["full", "delta"], first: bool, more: bool | None = None) -> Answer:
        events = [event for event in self._events if event.seq > cursor.event][:EVENTS_PER_ANSWER_MAX]
        return Answer(
            cursor=cursor._replace(event=events[-1].seq if events else cursor.event),
            kind=kind,
            first=first,
            more=cursor.after is not None if more is None else more,
            now_ms=self._node.clock.now_ms(),
            broker=self._source.broker(),
            partitions=page.partitions,
            removed=page.removed,
            groups=page.groups,
            removed_groups=page.removed_groups,
            events=events,
        )

    def _all_keys(self) -> list[FeedKey]:
        groups: list[FeedKey] = [("g", group, 0) for group in self._source.group_keys()]
        return sorted([*groups, *(("p", tp.topic, tp.partition) for tp in self._source.partition_keys())])

    def _first_event(self) -> int:
        return self._events[0].seq - 1 if self._events else self._event_seq


class _Page:
    """Rows up to a number of bytes of JSON."""

    def __init__(self, source: StateSource, max_bytes: int) -> None:
        self._source = source
        self._left = max_bytes
        self.partitions: list[Replica] = []
        self.removed: list[Removed] = []
        self.groups: list[Group] = []
        self.removed_groups: list[str] = []

    async def fill(self, keys: Iterable[FeedKey], slices: Slices) -> FeedKey | None:
        """Takes rows until there is no more room; returns the last key taken if some were left. Others have their turn while there
        are many: what changes meanwhile is told again by the next answer."""
        last: FeedKey | None = None
        for key in keys:
            if self._left <= 0:
                return last
            self._take(key)
            last = key
            await slices.breathe()
        return None

    def _take(self, key: FeedKey) -> None:
        kind, name, number = key
        row: Replica | Group | None
        if kind == "p":
            row = self._put(self._source.partition(TopicPartition(name, number)), self.partitions, Removed(name, number), self.removed)
        else:
            row = self._put(self._source.group(name), self.groups, name, self.removed_groups)
        self._left -= len(msgspec.json.encode(row)) if row is not None else len(name) + 32

    @staticmethod
    def _put(row: R | None, rows: list[R], gone: G, removed: list[G]) -> R | None:
        if row is None:
            removed.append(gone)
        else:
            rows.append(row)
        return row


def _wanted(key: FeedKey, request: FeedRequest) -> bool:
    return key[0] == "g" or request.topics is None or key[1] in request.topics
