"""The rounds of questions to one cluster, each kind at its own pace. Nothing here decides: `pace` says when, `taking` what it means.

A broker that does not answer costs one request a round: the rest of its round is left out. While the metadata cannot be had nothing else
is asked. Requests wait in threads of this cluster alone, at most `BROKERS_AT_ONCE` of a kind, so that none waits for another's.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from time import monotonic
from typing import TypeVar

from msgspec.structs import replace

from broker_core.contract import feed
from broker_core.contract.live import Kind
from console.clock import now_ms
from console.collector.pace import (
    EVERY_MS,
    GROUPS_A_REQUEST,
    GROUPS_LIMIT,
    HURRIES,
    PARTITIONS_A_REQUEST,
    TOPICS_A_REQUEST,
    Pace,
    gap_ms,
    pieces,
)
from console.collector.taking import Taken, limit_words, undescribed
from console.gateway.answers import Controller, Folder, ListedGroup, Metadata, TopicPartition
from console.gateway.asked_cluster import EARLIEST, LATEST, READ_COMMITTED, AskedCluster
from console.gateway.errors import ClusterUnreachable, GatewayError, Unfinished
from console.live.merging.asked_state import AskedState
from console.live.merging.partition import Asked

log = logging.getLogger(__name__)
T = TypeVar("T")
BROKERS_AT_ONCE = 2
THREADS = 8
METADATA_TRIES = 2
HURRY_S = 1.0
"""Between the beginnings of two rounds of a kind, however often it is wanted."""
AWAY = (ClusterUnreachable, Unfinished)
NOBODY = Controller(None, None)
Step = Callable[[], Awaitable[None]]


class Round:
    """What came of one: how long its busiest broker took to answer, and what was refused."""

    def __init__(self) -> None:
        self.busy_ms = 0.0
        self.errors: list[str] = []

    def error(self) -> str | None:
        return "; ".join(self.errors[:3]) or None


class Asking:
    def __init__(self, cluster: AskedCluster, state: AskedState, every_ms: Mapping[Kind, int], told: Callable[[], None]) -> None:
        """`told` is called whenever something may have changed."""
        self._cluster, self._state, self._every_ms, self._told = cluster, state, every_ms, told
        self._taken = Taken(state)
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix=f"ask-{state.cluster_id}")
        self._reachable = asyncio.Event()
        self._wanted: dict[Kind, asyncio.Event] = {kind: asyncio.Event() for kind in EVERY_MS}
        self._hurries: Counter[Kind] = Counter()
        self._node: int | None = None
        self._is_kraft: bool | None = None

    async def run(self) -> None:
        """Until cancelled."""
        rounds: dict[Kind, Callable[[Pace], Awaitable[Round]]] = {
            "metadata": self._metadata,
            "offsets": self._offsets,
            "groups": self._groups,
            "log_dirs": self._log_dirs,
            "configs": self._configs,
        }
        async with asyncio.TaskGroup() as tasks:
            for kind, one in rounds.items():
                tasks.create_task(self._repeat(kind, one))

    def close(self) -> None:
        """Blocks until the client is closed; requests that still wait fail."""
        self._cluster.close()
        self._pool.shutdown(wait=False, cancel_futures=True)

    async def _repeat(self, kind: Kind, one: Callable[[Pace], Awaitable[Round]]) -> None:
        pace = Pace(self._every_ms[kind])
        while True:
            if kind != "metadata":
                await self._reachable.wait()
            self._wanted[kind].clear()
            self._hurries[kind] -= self._hurries[kind] > 0
            began, asked_ms = monotonic(), now_ms()
            try:
                found = await one(pace)
            except GatewayError as error:
                pace.failed()
                self._state.unanswered(kind, str(error), now_ms())
            except Exception as error:
                log.exception("the %s of %s are not understood", kind, self._state.cluster_id)
                pace.failed()
                self._state.unanswered(kind, f"the answer is not understood ({type(error).__name__})", now_ms())
            else:
                pace.answered(found.busy_ms)
                self._state.answered(kind, asked_ms, pace.every_ms, now_ms(), found.error())
            self._told()
            took_s = monotonic() - began
            await self._pause(kind, pace, pace.wait_ms(took_s * 1000) / 1000, max(HURRY_S - took_s, 0))

    async def _pause(self, kind: Kind, pace: Pace, seconds: float, least_s: float) -> None:
        """Until the next round, or for `least_s` where one is wanted before."""
        if pace.is_failing:
            await asyncio.sleep(seconds)
            return
        try:
            if not self._hurries[kind]:
                await asyncio.wait_for(self._wanted[kind].wait(), seconds)
            await asyncio.sleep(least_s)
        except TimeoutError:
            return

    def hurry(self, kind: Kind, topic: str = "") -> None:
        """Somebody changed something through the console: it is asked for at once, and once more after that, since what a cluster has taken
        its brokers may not all have heard of. `topic` is whose settings changed."""
        if topic:
            self._taken.forget_settings(topic)
        self._hurries[kind] = HURRIES
        self._wanted[kind].set()

    async def _call(self, ask: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._pool, ask)

    # --- metadata

    async def _metadata(self, pace: Pace) -> Round:
        found = Round()
        began = monotonic()
        try:
            told = await self._whole_metadata()
        except GatewayError:
            self._reachable.clear()
            self._node = self._is_kraft = None
            await self._call(self._cluster.close)
            raise
        found.busy_ms = (monotonic() - began) * 1000
        controller = await self._controller(told, found)
        try:
            self._taken.moves = await self._call(self._cluster.moves)
        except GatewayError as error:
            found.errors.append(f"reassignments: {error}")
        come = told.brokers.keys() - self._taken.metadata.brokers.keys()
        self._taken.take_metadata(told, controller, now_ms())
        if come:  # they count as silent until they have answered something
            self._wanted["offsets"].set()
            self._wanted["groups"].set()
        if words := limit_words(self._taken.beyond):
            found.errors.append(words)
        if self._node is not None:
            self._state.broker_answered(self._node, now_ms())
        if self._taken.unsettled():
            self._wanted["configs"].set()
        self._reachable.set()
        return found

    async def _whole_metadata(self) -> Metadata:
        """A topic is gone when two brokers say so."""
        told = await self._any_metadata()
        if self._taken.missing(told):
            again = await self._call(self._cluster.metadata)
            told = replace(again, topics={**told.topics, **again.topics})
        return told

    async def _any_metadata(self) -> Metadata:
        """Of the same broker as before, while that answers: two may differ for a moment."""
        for tries_left in reversed(range(METADATA_TRIES)):
            try:
                told = await self._call(partial(self._cluster.metadata, self._node))
            except AWAY:
                self._node = None
                if not tries_left:
                    raise
                continue
            if told.brokers:
                return told
        raise ClusterUnreachable("the broker that answers knows no brokers yet")

    async def _controller(self, told: Metadata, found: Round) -> Controller:
        """In ZooKeeper mode the metadata names it, and is asked of it from then on: it knows first. In KRaft mode the metadata names some
        broker instead, and any broker passes the question on; one that cannot is cut off, and another is asked from then on."""
        self._node = self._node if self._node in told.brokers else min(told.brokers)
        if self._is_kraft is not False:
            try:
                controller = await self._call(partial(self._cluster.quorum_controller, self._node))
            except GatewayError as error:
                found.errors.append(f"controller: {error}")
                self._node = None if isinstance(error, AWAY) else self._node
                return NOBODY
            self._is_kraft = controller is not None
            if controller is not None:
                return controller
        self._node = told.controller if told.controller in told.brokers else self._node
        return Controller(told.controller, None)

    # --- what is asked of each broker

    async def _of_brokers(self, steps: Mapping[int, Sequence[Step]], pace: Pace) -> Round:
        """Each broker's steps one after another; `GatewayError` where no broker answers."""
        found, room = Round(), asyncio.Semaphore(BROKERS_AT_ONCE)
        failed: list[GatewayError] = []

        async def one(broker: int, rest: Sequence[Step]) -> None:
            async with room:
                error = await self._in_turn(broker, rest, pace, found)
            if error is not None:
                failed.append(error)
                found.errors.append(f"broker {broker}: {error}")

        async with asyncio.TaskGroup() as tasks:
            for broker, rest in steps.items():
                tasks.create_task(one(broker, rest))
        if failed and len(failed) == len(steps):
            raise failed[0]
        return found

    async def _in_turn(self, broker: int, rest: Sequence[Step], pace: Pace, found: Round) -> GatewayError | None:
        gap_s, busy_ms = gap_ms(len(rest), pace.every_ms) / 1000, 0.0
        for number, step in enumerate(rest):
            if number:
                await asyncio.sleep(gap_s)
            began = monotonic()
            try:
                await step()
            except GatewayError as error:
                if isinstance(error, AWAY):
                    self._state.feed_cut(broker, now_ms())
                else:
                    self._state.broker_answered(broker, now_ms())
                return error
            busy_ms += (monotonic() - began) * 1000
            found.busy_ms = max(found.busy_ms, busy_ms)
            self._state.broker_answered(broker, now_ms())
            self._told()
        return None

    # --- logs

    async def _offsets(self, pace: Pace) -> Round:
        steps: dict[int, list[Step]] = {
            leader: [partial(self._log_ends, leader, piece) for piece in pieces(led, PARTITIONS_A_REQUEST)]
            for leader, led in self._taken.led().items()
        }
        return await self._of_brokers({leader: some for leader, some in steps.items() if some}, pace)

    async def _log_ends(self, leader: int, some: Sequence[TopicPartition]) -> None:
        def ask() -> dict[TopicPartition, Asked]:
            """The last stable offset is asked for after the end: what was written meanwhile is no open transaction."""
            first = self._cluster.offsets(leader, some, EARLIEST)
            ends = self._cluster.offsets(leader, some, LATEST)
            stable = self._cluster.offsets(leader, some, LATEST, READ_COMMITTED)
            return {tp: Asked(end, first.get(tp), min(end, stable[tp]) if tp in stable else None) for tp, end in ends.items()}

        self._taken.take_logs(await self._call(ask))

    async def _log_dirs(self, pace: Pace) -> Round:
        steps: dict[int, list[Step]] = {
            broker: [partial(self._folders, broker, piece) for piece in pieces(held, PARTITIONS_A_REQUEST)]
            or [partial(self._folders, broker, ())]
            for broker, held in self._taken.held().items()
        }
        return await self._of_brokers(steps, pace)

    async def _folders(self, broker: int, some: Sequence[TopicPartition]) -> None:
        folders: list[Folder] = await self._call(partial(self._cluster.folders, broker, some))
        self._taken.take_folders(broker, folders, now_ms())

    # --- groups

    async def _groups(self, pace: Pace) -> Round:
        """First who coordinates what, then each coordinator about its groups."""
        listed: dict[int, list[ListedGroup]] = {}

        async def ask(broker: int) -> None:
            listed[broker] = await self._call(partial(self._cluster.groups, broker))

        found = await self._of_brokers({broker: [partial(ask, broker)] for broker in self._taken.metadata.brokers}, pace)
        named = [group for groups in listed.values() for group in groups]
        if not found.errors:
            self._state.groups.keep_named({group.group for group in named})
        if len(named) > GROUPS_LIMIT:
            found.errors.append(f"only {GROUPS_LIMIT} of {len(named)} groups are looked at")
        steps = {broker: self._group_steps(broker, groups) for broker, groups in _within(listed, GROUPS_LIMIT).items()}
        if steps := {broker: some for broker, some in steps.items() if some}:
            described = await self._of_brokers(steps, pace)
            found.busy_ms += described.busy_ms
            found.errors += described.errors
        return found

    def _group_steps(self, broker: int, groups: Sequence[ListedGroup]) -> list[Step]:
        kinds = {"classic": self._cluster.classic_groups, "consumer": self._cluster.consumer_groups}
        steps: list[Step] = []
        for kind, describe in kinds.items():
            names = sorted(group.group for group in groups if group.kind == kind)
            steps += [partial(self._describe, broker, piece, describe) for piece in pieces(names, GROUPS_A_REQUEST)]
        others = [undescribed(group) for group in groups if group.kind not in kinds]
        self._taken.take_groups(others, broker, {}, now_ms())
        return steps

    async def _describe(self, broker: int, names: Sequence[str], describe: Callable[[int, Sequence[str]], dict[str, feed.Group]]) -> None:
        described = await self._call(partial(describe, broker, names))
        committed = await self._call(partial(self._cluster.committed, broker, names))
        claims = [replace(group, offsets=committed[name]) for name, group in described.items() if name in committed]
        at_ms = now_ms()
        ends = await self._ends({(row.topic, row.partition) for claim in claims for row in claim.offsets})
        self._taken.take_groups(claims, broker, ends, at_ms)

    async def _ends(self, wanted: set[TopicPartition]) -> dict[TopicPartition, int]:
        """Where these logs end now; without those whose leader does not tell."""
        led: dict[int, list[TopicPartition]] = {}
        for tp in sorted(wanted):
            if (leader := self._taken.leader_of(tp)) is not None:
                led.setdefault(leader, []).append(tp)
        found: dict[TopicPartition, int] = {}
        for leader, some in led.items():
            for piece in pieces(some, PARTITIONS_A_REQUEST):
                try:
                    found |= await self._call(partial(self._cluster.offsets, leader, piece, LATEST))
                except GatewayError as error:
                    log.info("the ends that groups read to: broker %d: %s", leader, error)
                    break
        return found

    # --- settings

    async def _configs(self, pace: Pace) -> Round:
        """Of topics that are new at once, else of all."""
        found = Round()
        wanted = self._taken.unsettled() or list(self._taken.metadata.topics)
        requests = list(pieces(sorted(wanted), TOPICS_A_REQUEST))
        gap_s = gap_ms(len(requests), pace.every_ms) / 1000
        for piece in requests:
            began = monotonic()
            self._taken.take_settings(piece, await self._call(partial(self._cluster.settings, piece)), now_ms())
            found.busy_ms += (monotonic() - began) * 1000
            self._told()
            await asyncio.sleep(gap_s if len(requests) > 1 else 0)
        return found


def _within(listed: Mapping[int, Sequence[ListedGroup]], limit: int) -> dict[int, Sequence[ListedGroup]]:
    """So many groups in all."""
    kept: dict[int, Sequence[ListedGroup]] = {}
    for broker, groups in listed.items():
        kept[broker] = groups[:limit]
        limit -= len(kept[broker])
    return kept
