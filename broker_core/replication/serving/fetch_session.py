"""Incremental fetch sessions, the server's side (KIP-227).

A client names all its partitions once; from then on it sends only what changed and is answered only what changed. Each
session has an epoch that counts its requests:

    request (id, epoch)     meaning
    (0, 0)                  full fetch, a session is made if there is room
    (0, -1) or (id, -1)     full fetch without a session; the one named is closed
    (id, 0)                 full fetch that replaces session `id`
    (id, n)                 increment n; anything but the expected n is INVALID_FETCH_SESSION_EPOCH

After 2^31 - 1 the epoch goes on with 1. A partition is answered again when it has records, its high watermark or log start
differs from what was last sent, it names another replica to read from, it diverges, or it failed.

Work per fetch follows what changed, not what the session holds: a partition that was read to its end is *settled* and is
looked at again only after `mark` says that something happened to it, or the client changed its request. A follower's
silent fetch of its settled partitions still counts: `FetchClock` tells when the last one was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple
from uuid import UUID

from msgspec import Struct

from broker_core.errors import ErrorCode
from broker_core.model import TopicPartition
from broker_core.protocol.hot_fetch import FetchPartitionResult

NO_SESSION = 0
INITIAL_EPOCH = 0
FINAL_EPOCH = -1
MAX_EPOCH = 2**31 - 1

PartitionKey = tuple[int | str | None, int]
"""(topic id as a number, whose hash costs a twentieth of a UUID's, or, below v13, topic name; partition)"""


def partition_key(topic: str | None, topic_id: UUID | None, partition: int) -> PartitionKey:
    return (topic_id.int if topic_id is not None else topic, partition)


class WantedPartition(Struct):
    """One partition of a fetch request. `topic` is None while the id names no topic we know."""

    topic: str | None
    topic_id: UUID | None
    partition: int
    fetch_offset: int
    max_bytes: int
    current_leader_epoch: int = -1
    last_fetched_epoch: int = -1
    log_start_offset: int = -1
    key: PartitionKey = (None, -1)
    named: TopicPartition | None = None
    """None while the topic is."""

    def __post_init__(self) -> None:
        self.named = TopicPartition(self.topic, self.partition) if self.topic is not None else None
        self.key = partition_key(self.topic, self.topic_id, self.partition)


class Answer(NamedTuple):
    """One partition's result, and whether nothing is left to tell until something happens to it."""

    wanted: WantedPartition
    result: FetchPartitionResult
    settled: bool


class Reply(NamedTuple):
    """What goes into the response: top-level error, session id and the partitions that have to be told."""

    error_code: ErrorCode
    session_id: int
    answers: list[Answer]


class FetchClock(Struct):
    """When the owner of a session last fetched, in monotonic ms: settled partitions have no other trace of it."""

    last_fetch_ms: float


class CachedPartition(Struct):
    """A partition of a session and what the client was last told of it."""

    wanted: WantedPartition
    high_watermark: int = -1
    log_start_offset: int = -1

    def has_news(self, result: FetchPartitionResult) -> bool:
        return (
            result.records_bytes > 0
            or result.error_code != ErrorCode.NONE
            or result.high_watermark != self.high_watermark
            or result.log_start_offset != self.log_start_offset
            or result.preferred_read_replica >= 0
            or result.diverging is not None
        )

    def remember(self, result: FetchPartitionResult) -> None:
        """What the client is told now; after an error the high watermark is told again."""
        self.high_watermark = result.high_watermark if result.error_code == ErrorCode.NONE else -1
        self.log_start_offset = result.log_start_offset


class FetchSession:
    """One client's partitions in the order in which they are served, and those that are not settled."""

    def __init__(self, session_id: int, *, privileged: bool, uses_topic_ids: bool, clock: FetchClock, now_ms: float) -> None:
        self.session_id = session_id
        self.privileged = privileged
        self.uses_topic_ids = uses_topic_ids
        self.clock = clock
        self.epoch = INITIAL_EPOCH + 1
        self.created_ms = now_ms
        self.last_used_ms = now_ms
        self.listed_size = 0
        self.listed_as_settled_in: bool | None = None
        """None while it is not listed."""
        self.partitions: dict[PartitionKey, CachedPartition] = {}
        self.unwatched: dict[PartitionKey, None] = {}
        """Whose changes cannot be marked yet: their topic ids name no topic."""
        self._unsettled: dict[PartitionKey, None] = {}

    def put(self, wanted: WantedPartition) -> bool:
        """Adds or changes a partition; True when it is new."""
        key = wanted.key
        cached = self.partitions.get(key)
        self._unsettled[key] = None
        if cached is None:
            self.partitions[key] = CachedPartition(wanted)
            self.unwatched[key] = None
            return True
        cached.wanted = wanted
        return False

    def forget(self, key: PartitionKey) -> bool:
        self._unsettled.pop(key, None)
        self.unwatched.pop(key, None)
        return self.partitions.pop(key, None) is not None

    def mark(self, key: PartitionKey) -> None:
        """Something happened to the partition: look at it at the next fetch."""
        if key in self.partitions:
            self._unsettled.setdefault(key)

    def watch(self, gained: Callable[[FetchSession, WantedPartition], bool]) -> None:
        """Has the partitions watched that are not: all new ones, and those whose topic ids had no name so far."""
        for key in list(self.unwatched):
            if gained(self, self.partitions[key].wanted):
                del self.unwatched[key]

    def wanted(self) -> list[WantedPartition]:
        """The partitions worth looking at now, those that were answered longest ago first."""
        return [self.partitions[key].wanted for key in self._unsettled]

    def take_in(self, answers: Iterable[Answer]) -> list[Answer]:
        """Remembers what is told and returns the answers with news; those with records go to the end of the line."""
        told: list[Answer] = []
        for answer in answers:
            key = answer.wanted.key
            cached = self.partitions.get(key)
            if cached is None:
                continue
            if answer.settled or answer.result.records_bytes > 0:
                self._unsettled.pop(key, None)
            if not answer.settled:
                self._unsettled[key] = None
            if cached.has_news(answer.result):
                cached.remember(answer.result)
                told.append(answer)
        return told

    def rest(self, answers: Iterable[Answer]) -> None:
        """The request will wait: what is settled without news need not be looked at again when it ends."""
        for answer in answers:
            cached = self.partitions.get(answer.wanted.key)
            if cached is not None and answer.settled and not cached.has_news(answer.result):
                self._unsettled.pop(answer.wanted.key, None)

    def advance(self) -> None:
        self.epoch = 1 if self.epoch == MAX_EPOCH else self.epoch + 1


class SessionWatch(NamedTuple):
    """Told which partitions a session gained or lost, so that changes of a partition can be marked in it; `gained` again and again
    until it says that it has found the topic."""

    gained: Callable[[FetchSession, WantedPartition], bool]
    lost: Callable[[FetchSession, WantedPartition], None]


class FetchContext:
    """One fetch request between its arrival and its answer: without a session, or opening one when answered."""

    session: FetchSession | None = None
    error_code = ErrorCode.NONE

    def __init__(self, partitions: list[WantedPartition], clock: FetchClock) -> None:
        self._partitions = partitions
        self.clock = clock

    def wanted(self) -> list[WantedPartition]:
        return self._partitions

    def answer(self, answers: list[Answer]) -> Reply:
        return Reply(ErrorCode.NONE, NO_SESSION, answers)

    def held_back(self) -> Reply:
        """Nothing for now; no session is opened by it."""
        return Reply(ErrorCode.NONE, NO_SESSION, [])


class FullFetchContext(FetchContext):
    """A full fetch that asks for a session: it gets one if `opener` finds room."""

    def __init__(
        self, partitions: list[WantedPartition], clock: FetchClock, opener: Callable[[FetchClock, list[Answer]], FetchSession | None]
    ) -> None:
        super().__init__(partitions, clock)
        self._opener = opener

    def answer(self, answers: list[Answer]) -> Reply:
        session = self._opener(self.clock, answers)
        return Reply(ErrorCode.NONE, session.session_id if session else NO_SESSION, answers)


class IncrementalFetchContext(FetchContext):
    """The next request of a session."""

    def __init__(self, session: FetchSession) -> None:
        super().__init__([], session.clock)
        self.session: FetchSession = session
        self._epoch = session.epoch

    def wanted(self) -> list[WantedPartition]:
        return self.session.wanted()

    def answer(self, answers: list[Answer]) -> Reply:
        """A session whose epoch moved on while this request waited has seen a repeated request: this one is void."""
        if self.session.epoch != self._epoch:
            return Reply(ErrorCode.INVALID_FETCH_SESSION_EPOCH, self.session.session_id, [])
        return Reply(ErrorCode.NONE, self.session.session_id, self.session.take_in(answers))

    def held_back(self) -> Reply:
        """Nothing for now; the session goes on."""
        code = ErrorCode.NONE if self.session.epoch == self._epoch else ErrorCode.INVALID_FETCH_SESSION_EPOCH
        return Reply(code, self.session.session_id, [])


class SessionErrorContext(FetchContext):
    """A request whose session is not what it thinks."""

    def __init__(self, error_code: ErrorCode) -> None:
        super().__init__([], FetchClock(0))
        self.error_code = error_code

    def answer(self, answers: list[Answer]) -> Reply:
        return Reply(self.error_code, NO_SESSION, [])
