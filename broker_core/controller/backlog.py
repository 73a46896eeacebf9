"""Work on thousands of partitions, a slice at a time: between slices the controller serves other events and brokers catch up.

A job is a step that is called again until it says that nothing is left. The next step is due when the brokers have room
(`ControllerChannelManager.has_room`): a leader that is told long before its followers would take them out of the ISR, and an election
must not wait behind ten thousand new partitions.
"""

from __future__ import annotations

import itertools
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import TypeVar

from broker_core.controller.context import Replica
from broker_core.model import TopicPartition
from broker_core.seams import Clock, TimerHandle

PARTITIONS_PER_SLICE = 100
"""Of one state change and of one control request; in UpdateMetadata a larger topic is one slice."""

PARTITIONS_PER_STEP = 10
"""Of one step of a job: brokers make or remove so many logs in one go, and the clients of other topics wait for that."""

LOOK_AGAIN_MS = 1_000
"""While brokers have no room: one that has fallen silent gives it without any event."""

T = TypeVar("T")
Step = Callable[[], Awaitable[bool]]
"""Does one slice; whether more is left."""


class Backlog:
    """One term's jobs by name, each in its turn. `due` posts the event that calls `go_on`."""

    def __init__(self, clock: Clock, has_room: Callable[[], bool], due: Callable[[], None]) -> None:
        self._clock = clock
        self._has_room = has_room
        self._due = due
        self._jobs: dict[str, Step] = {}
        self._timer: TimerHandle | None = None
        self._ended = False

    def add(self, name: str, step: Step) -> None:
        """Begins a job, unless it is under way: it finds by itself what has come to it."""
        self._jobs.setdefault(name, step)
        self.look()

    def look(self) -> None:
        """The brokers may have room now."""
        if not self._jobs or self._ended:
            return
        if self._has_room():
            self._due()
        elif self._timer is None:
            self._timer = self._clock.call_later(LOOK_AGAIN_MS, self._look_again)

    async def go_on(self) -> None:
        """One step of the job whose turn it is; the brokers may have lost their room since that was asked for."""
        if self._jobs and not self._ended and self._has_room():
            name = next(iter(self._jobs))
            step = self._jobs.pop(name)
            if await step():
                self._jobs.setdefault(name, step)
        self.look()

    def end(self) -> None:
        self._ended = True
        if self._timer is not None:
            self._timer.cancel()

    def _look_again(self) -> None:
        self._timer = None
        self.look()


def slices(items: Sequence[T]) -> Iterator[Sequence[T]]:
    """At most `PARTITIONS_PER_SLICE` at a time."""
    for start in range(0, len(items), PARTITIONS_PER_SLICE):
        yield items[start : start + PARTITIONS_PER_SLICE]


def topic_slices(partitions: Sequence[TopicPartition]) -> Iterator[Sequence[TopicPartition]]:
    """Slices that cut no topic in two, however large it is: who knows half of a topic's partitions hashes keys and groups wrongly.
    Neighbours are of one topic."""
    part: list[TopicPartition] = []
    for _, group in itertools.groupby(partitions, key=lambda tp: tp.topic):
        topic = list(group)
        if part and len(part) + len(topic) > PARTITIONS_PER_SLICE:
            yield part
            part = []
        part += topic
    if part:
        yield part


def replica_slices(replicas: Sequence[Replica]) -> Iterator[Sequence[Replica]]:
    """Those of at most `PARTITIONS_PER_SLICE` partitions at a time. Neighbours of one partition stay together: who leaves an ISR last is
    decided among them."""
    start = partitions = 0
    for end, replica in enumerate(replicas):
        if end and replica[:2] == replicas[end - 1][:2]:
            continue
        if partitions == PARTITIONS_PER_SLICE:
            yield replicas[start:end]
            start, partitions = end, 0
        partitions += 1
    if start < len(replicas):
        yield replicas[start:]
