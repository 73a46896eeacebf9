"""What one fetcher asks of one source broker: which partitions, and only what changed since last time (KIP-227, the client's side).

Where a partition is fetched from is never stored: it is the log's end when the request is built. A partition is *due* when
it was added, answered, cut or became ready again; what is not due keeps its place in the session with what was last sent.
A partition that has to wait after an error leaves the session until then.

v13 and later name topics by id, v15 and later carry the broker epoch; which is spoken follows from `inter.broker.protocol.version`. If a
partition has no topic id, or the controller tells the source no ids (one that speaks 2.7: whatever the logs have, the source then knows
none), all are named by v12.
"""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

from msgspec import Struct

from broker_core.errors import ErrorCode
from broker_core.model import TopicPartition
from broker_core.replication.serving.fetch_session import FINAL_EPOCH, INITIAL_EPOCH, MAX_EPOCH, NO_SESSION

PARTITIONS_PER_REQUEST = 500
"""That a request adds to a fetch session; the others follow with the next requests, which do not wait for records."""

BY_NAME_VERSION = 12
BY_ID_VERSION = 17

assert FINAL_EPOCH < INITIAL_EPOCH


class Position(Struct, frozen=True):
    """Where a follower stands: the next offset it needs, the epoch of its last record (-1: none), its log's start."""

    leader_epoch: int
    fetch_offset: int
    last_fetched_epoch: int
    log_start_offset: int


class PartitionFetchState(Struct):
    """A partition that is followed. `sent` is what the session holds of it, None while it holds nothing; `refusals` counts the answers
    that its leader was not ready."""

    tp: TopicPartition
    topic_id: UUID | None
    leader_epoch: int
    not_before_ms: float = float("-inf")
    sent: Position | None = None
    refusals: int = 0


class FetchRequestData(Struct, frozen=True):
    """One request: session, what is new in it, and what leaves it. Empty lists are a request too. `more`: others are due already."""

    version: int
    session_id: int
    session_epoch: int
    wanted: list[tuple[PartitionFetchState, Position]]
    forgotten: list[PartitionFetchState]
    more: bool


class FetchSessionHandler:
    """The partitions followed from one broker and the fetch session with it."""

    def __init__(self, has_topic_ids: Callable[[], bool], version: int = BY_ID_VERSION) -> None:
        """`has_topic_ids`: whether the controller tells brokers topic ids at present; `version` is spoken where it does."""
        self._has_topic_ids = has_topic_ids
        self._full_version = version
        self._followed: dict[TopicPartition, PartitionFetchState] = {}
        self._due: dict[TopicPartition, None] = {}
        self._waiting: dict[TopicPartition, float] = {}
        self._leaving: list[PartitionFetchState] = []
        self._session_id = NO_SESSION
        self._session_epoch = INITIAL_EPOCH
        self._without_session = False
        """The source had no room for a session: each request stands alone and names everything."""
        self._version = version
        self._by_id: dict[tuple[UUID | str | None, int], TopicPartition] = {}

    def get(self, tp: TopicPartition) -> PartitionFetchState | None:
        return self._followed.get(tp)

    def resolve(self, topic: UUID | str | None, partition: int) -> TopicPartition | None:
        """The partition that an answer speaks of."""
        return self._by_id.get((topic, partition))

    def add(self, tp: TopicPartition, topic_id: UUID | None, leader_epoch: int) -> None:
        """Follows a partition from now on, or in a new leader epoch."""
        self.remove(tp)
        self._followed[tp] = PartitionFetchState(tp, topic_id, leader_epoch)
        for topic in (topic_id, tp.topic):
            self._by_id[topic, tp.partition] = tp
        self._due[tp] = None

    def remove(self, tp: TopicPartition) -> None:
        followed = self._followed.pop(tp, None)
        if followed is None:
            return
        self._leave(followed)
        for topic in (followed.topic_id, tp.topic):
            self._by_id.pop((topic, tp.partition), None)

    def note(self, tp: TopicPartition) -> None:
        """The partition's position may have changed."""
        if tp in self._followed and tp not in self._waiting:
            self._due[tp] = None

    def delay(self, tp: TopicPartition, until_ms: float) -> None:
        """Leaves the partition alone until then."""
        followed = self._followed.get(tp)
        if followed is not None:
            self._leave(followed)
            self._waiting[tp] = until_ms

    def next_ready_ms(self) -> float | None:
        """When the first waiting partition is ready again; None when none waits."""
        return min(self._waiting.values(), default=None)

    def build(self, now_ms: float, position_of: Callable[[PartitionFetchState], Position | None]) -> FetchRequestData | None:
        """The next request, None when there is nothing to fetch. A partition without a position is left out until noted."""
        self._take_ready(now_ms)
        if len(self._followed) == len(self._waiting):
            return None
        self._choose_version()
        full = self._session_epoch == INITIAL_EPOCH
        if full:
            self._due |= dict.fromkeys(tp for tp in self._followed if tp not in self._waiting)
        wanted = self._news(position_of)
        forgotten = [] if full else [gone for gone in self._leaving if self._is_gone(gone)]
        self._leaving.clear()
        if full and not wanted:
            return None
        return FetchRequestData(self._version, self._session_id, self._session_epoch, wanted, forgotten, bool(self._due))

    def answered(self, error_code: int, session_id: int) -> None:
        """The answer to the request built last: what that says of the session. What the answer brought has been used by then:
        where there is no session, nothing is known any more of what was asked for.
        """
        if error_code == ErrorCode.NONE:
            self._without_session = session_id == NO_SESSION
            if self._without_session:
                self._restart(NO_SESSION)
            else:
                self._session_id = session_id
                self._session_epoch = 1 if self._session_epoch == MAX_EPOCH else self._session_epoch + 1
        elif error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND:
            self._restart(NO_SESSION)
        else:
            self._restart(self._session_id)

    def failed(self) -> None:
        """No answer came: whether the session advanced nobody knows, so it is replaced."""
        self._restart(self._session_id)

    def _restart(self, session_id: int) -> None:
        self._session_id = session_id
        self._session_epoch = INITIAL_EPOCH
        for followed in self._followed.values():
            followed.sent = None

    def _take_ready(self, now_ms: float) -> None:
        for tp in [tp for tp, until_ms in self._waiting.items() if until_ms <= now_ms]:
            del self._waiting[tp]
            self._due[tp] = None

    def _choose_version(self) -> None:
        has_ids = self._has_topic_ids()
        named = not has_ids or any(self._followed[tp].topic_id is None for tp in self._due)
        version = BY_NAME_VERSION if named else self._version
        if self._version == BY_NAME_VERSION and has_ids and all(followed.topic_id is not None for followed in self._followed.values()):
            version = self._full_version
        if version != self._version:
            self._version = version
            self._restart(self._session_id)

    def _news(self, position_of: Callable[[PartitionFetchState], Position | None]) -> list[tuple[PartitionFetchState, Position]]:
        """What is due and where it is now. Partitions that are new to the session are taken up piece by piece; one that has moved in it
        is named at once, for until then the source goes on sending what it sent before."""
        due, self._due = self._due, {}
        wanted: list[tuple[PartitionFetchState, Position]] = []
        room = len(due) if self._without_session else PARTITIONS_PER_REQUEST
        for tp in due:
            followed = self._followed[tp]
            if followed.sent is None and not room:
                self._due[tp] = None
                continue
            position = position_of(followed)
            if position is not None and position != followed.sent:
                room -= followed.sent is None
                followed.sent = position
                wanted.append((followed, position))
        return wanted

    def _leave(self, followed: PartitionFetchState) -> None:
        self._due.pop(followed.tp, None)
        self._waiting.pop(followed.tp, None)
        if followed.sent is not None:
            followed.sent = None
            self._leaving.append(followed)

    def _is_gone(self, followed: PartitionFetchState) -> bool:
        """Whether the session should drop it: the same partition may have come back meanwhile."""
        now = self._followed.get(followed.tp)
        return now is None or now.sent is None or now.topic_id != followed.topic_id
