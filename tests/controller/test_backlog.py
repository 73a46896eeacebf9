"""Thousands of partitions at once: bounded requests, progress that is kept, and a controller that goes on serving others."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest

from broker_core.controller import backlog as work
from broker_core.controller.backlog import Backlog, replica_slices, topic_slices
from broker_core.controller.channels.channel_manager import ROOM
from broker_core.controller.channels.requests import LEADER_AND_ISR_KEY, STOP_REPLICA_KEY, UPDATE_METADATA_KEY, ControlRequest
from broker_core.controller.context import Replica
from broker_core.coordination import layout
from broker_core.model import LEADER_DURING_DELETE, NO_LEADER, BrokerInfo, TopicPartition
from tests.support.controller_world import ManualClock, World

SLICE = 4
MANY = 5 * SLICE + 2
IDS = (0, 1, 2)


class SlowWorld(World):
    """Broker 2 does not answer while it is `slow`, and after `time_out` the request under way has failed; what was sent is counted."""

    def __init__(self) -> None:
        super().__init__()
        self.slow = False
        self._waiting: list[asyncio.Future[None]] = []
        self.sent: Counter[tuple[int, int, TopicPartition]] = Counter()

    async def send(self, info: BrokerInfo, request: ControlRequest) -> Any:
        if self.slow and info.broker_id == 2:
            self._waiting.append(asyncio.get_running_loop().create_future())
            await self._waiting[-1]
        self.sent.update((info.broker_id, request.api_key, tp) for tp in request.partitions)
        return await super().send(info, request)

    def go_on(self) -> None:
        self.slow = False
        for each in self._waiting:
            if not each.done():
                each.set_result(None)

    def time_out(self) -> None:
        self._waiting.pop().set_exception(TimeoutError())

    @property
    def largest(self) -> int:
        """Of the requests that brokers carry out; metadata tells topics as a whole."""
        sent = [request for told in self.told.values() for request in told.requests if request.api_key != UPDATE_METADATA_KEY]
        return max(len(request.partitions) for request in sent)

    def told_at_once(self, broker_id: int, topic: str) -> list[int]:
        """How many of the topic's partitions each metadata request told of."""
        metadata = [request for request in self.told[broker_id].requests if request.api_key == UPDATE_METADATA_KEY]
        counts = [sum(tp.topic == topic for tp in request.partitions) for request in metadata]
        return [count for count in counts if count]

    def counts_known(self, broker_id: int, topic: str) -> list[int]:
        """How many of the topic's partitions the broker's metadata knew of, as that changed."""
        known, counts = set[TopicPartition](), [0]
        for request in self.told[broker_id].requests:
            if request.api_key == UPDATE_METADATA_KEY:
                known.update(tp for tp in request.partitions if tp.topic == topic)
                counts += [len(known)] if len(known) != counts[-1] else []
        return counts[1:]

    def led(self, topic: str) -> int:
        """Partitions whose leader broker 0 knows."""
        return sum(tp.topic == topic and part["leader"] > NO_LEADER for tp, part in self.told[0].metadata.items())


@pytest.fixture
async def world(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[SlowWorld]:
    monkeypatch.setattr(work, "PARTITIONS_PER_SLICE", SLICE)
    monkeypatch.setattr(work, "PARTITIONS_PER_STEP", SLICE)
    monkeypatch.setattr(work, "LOOK_AGAIN_MS", 100)
    made = SlowWorld()
    await made.start(*IDS)
    yield made
    await made.close()


async def until_quiet(world: SlowWorld) -> None:
    await world.advance(500)


async def test_many_partitions_are_created_and_deleted_in_bounded_requests_each_told_once(world: SlowWorld) -> None:
    await world.create_topic("big", *[IDS] * MANY)
    await until_quiet(world)
    assert world.led("big") == MANY
    assert all(len(world.told[broker_id].replicas) == MANY for broker_id in IDS)
    assert world.largest <= SLICE
    told = {count for (_, key, _), count in world.sent.items() if key == LEADER_AND_ISR_KEY}
    assert told == {1}
    before = +world.sent
    await world.delete_topic("big")
    await until_quiet(world)
    assert not await world.exists(layout.topic_path("big"))
    assert all(not world.told[broker_id].replicas for broker_id in IDS)
    assert world.largest <= SLICE
    deletions = [count for (_, key, _), count in world.sent.items() if key == STOP_REPLICA_KEY]
    assert set(deletions) == {1}, "stopped and deleted by one request"
    metadata = {count for (_, key, _), count in (world.sent - before).items() if key == UPDATE_METADATA_KEY}
    assert metadata == {1}, "all brokers have been told that it goes, and its ISRs are nobody's business any more"


async def test_what_others_have_put_below_a_partition_goes_with_it(world: SlowWorld) -> None:
    await world.create_topic("big", *[IDS] * MANY)
    await until_quiet(world)
    await world.operator.create(f"{layout.partitions_path('big')}/{MANY - 1}/more", b"")
    await world.operator.delete(layout.state_path(TopicPartition("big", 1)))
    await world.delete_topic("big")
    await until_quiet(world)
    assert not await world.exists(layout.topic_path("big"))


async def test_no_broker_ever_knows_only_some_of_a_new_topic_s_partitions(world: SlowWorld) -> None:
    """A client that hashes its keys, a broker that looks for a group's partition: both need their true number."""
    await world.create_topic("big", *[IDS] * MANY)
    await until_quiet(world)
    assert [world.told_at_once(broker_id, "big")[0] for broker_id in IDS] == [MANY] * 3
    await world.create_topic("small", *[IDS] * (SLICE + 1), topic_id=8)
    assert [world.told_at_once(broker_id, "small")[0] for broker_id in IDS] == [SLICE + 1] * 3


async def test_a_broker_that_starts_is_told_of_topics_as_a_whole(world: SlowWorld) -> None:
    """By the controller that sees it start, and by one that takes the office after it has started."""
    await world.create_topic("big", *[IDS] * MANY)
    await until_quiet(world)
    await world.die(2)
    await world.start(2)
    await until_quiet(world)
    assert world.told_at_once(2, "big")[0] == MANY
    world.told[1].requests.clear()
    await world.die(0)
    await until_quiet(world)
    assert world.told_at_once(1, "big")[0] == MANY


async def test_a_new_controller_tells_first_what_clients_wait_for(world: SlowWorld) -> None:
    """New leaders before roles that are as they were, and a topic of one before those of many. Of one that goes no roles are told."""
    await world.create_topic("a-going", *[IDS] * MANY)
    await world.create_topic("b-led-by-others", *[(1, 2)] * MANY, topic_id=8)
    await world.create_topic("c-large", *[IDS] * MANY, topic_id=9)
    await world.create_topic("z-small", IDS, topic_id=10)
    await until_quiet(world)
    await world.die(2)
    await world.delete_topic("a-going")
    await until_quiet(world)
    world.told[1].requests.clear()
    await world.die(0)
    await until_quiet(world)
    told = [list(request.partitions) for request in world.told[1].requests if request.api_key == LEADER_AND_ISR_KEY]
    topics = list(dict.fromkeys(tp.topic for partitions in told for tp in partitions))
    assert topics == ["z-small", "c-large", "b-led-by-others"]
    metadata = [tp.topic for request in world.told[1].requests if request.api_key == UPDATE_METADATA_KEY for tp in request.partitions]
    assert list(dict.fromkeys(metadata)) == ["z-small", "b-led-by-others", "c-large", "a-going"]


@pytest.mark.parametrize("dies", [2, 0])
async def test_what_is_served_does_not_wait_behind_what_goes(world: SlowWorld, dies: int, caplog: pytest.LogCaptureFixture) -> None:
    """A broker comes back, or another controller begins: of a topic whose deletion is under way no more is told than there is room for."""
    await world.create_topic("going", *[IDS] * 4 * MANY)
    await world.create_topic("served", IDS, topic_id=8)
    await until_quiet(world)
    world.slow = True
    await world.delete_topic("going")
    await world.die(dies)
    await until_quiet(world)
    if dies == 2:
        await world.start(2)
    assert world.active.snapshot().requests_waiting[2] <= 3 * ROOM < 4 * MANY / SLICE, "metadata, what is served, and one step of what goes"
    world.go_on()
    await until_quiet(world)
    assert TopicPartition("served", 0) in world.told[2].replicas
    if dies == 0:
        await world.start(0)
        await until_quiet(world)
    assert not await world.exists(layout.topic_path("going"))
    assert caplog.text.count("['going'] halted") <= 1, "told once, not with every step"


async def test_a_deletion_that_has_to_wait_leaves_no_role_behind(world: SlowWorld) -> None:
    """Under a controller that begins while a broker is away: whoever followed it would ask it again and again when it is back."""
    await world.create_topic("going", *[IDS] * MANY)
    await until_quiet(world)
    world.slow = True
    await world.delete_topic("going")
    await world.die(0)
    world.go_on()
    world.told[2].requests.clear()
    await until_quiet(world)
    ended = Counter(tp for request in world.told[2].of_kind(STOP_REPLICA_KEY) for tp in request.partitions)
    assert set(ended.values()) == {1}
    assert len(ended) == MANY
    assert len(world.told[2].replicas) > 0, "their logs are there still"
    world.told[2].requests.clear()
    await world.operator.create(f"{layout.LOG_DIR_EVENTS}/log_dir_event_", b'{"version":1,"broker":2,"event":1}', sequence=True)
    await until_quiet(world)
    assert world.told[2].of_kind(LEADER_AND_ISR_KEY) == [], "nor does a folder that fails bring them back"
    await world.start(0)
    await until_quiet(world)
    assert not await world.exists(layout.topic_path("going"))
    assert all(not world.told[broker_id].replicas for broker_id in IDS)


def test_topics_are_not_cut_in_two(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work, "PARTITIONS_PER_SLICE", SLICE)
    partitions = [
        TopicPartition(topic, number) for topic, count in (("a", 1), ("b", 3), ("c", 9), ("d", 2), ("e", 1)) for number in range(count)
    ]
    assert [Counter(tp.topic for tp in part) for part in topic_slices(partitions)] == [{"a": 1, "b": 3}, {"c": 9}, {"d": 2, "e": 1}]


async def test_a_topic_grows_by_many(world: SlowWorld) -> None:
    await world.create_topic("big", IDS)
    await world.grow_topic("big", *[IDS] * MANY)
    await until_quiet(world)
    assert world.led("big") == MANY


async def test_a_broker_that_does_not_keep_up_holds_up_the_many_but_not_the_few(world: SlowWorld) -> None:
    """Its followers would fall behind leaders that were told long before. One that did not answer in time is not waited for."""
    world.slow = True
    await world.create_topic("big", *[IDS] * MANY)
    assert world.active.snapshot().requests_waiting[2] <= 2 * ROOM
    assert world.led("big") < MANY
    await world.create_topic("small", IDS, topic_id=8)
    assert world.led("small") == 1
    world.time_out()
    await until_quiet(world)
    assert world.led("big") == MANY
    world.go_on()
    await until_quiet(world)
    assert len(world.told[2].replicas) == MANY + 1


async def test_a_failed_request_is_sent_again_alone(world: SlowWorld) -> None:
    world.slow = True
    await world.create_topic("big", *[IDS] * MANY)
    world.time_out()
    world.go_on()
    await until_quiet(world)
    assert world.led("big") == MANY
    assert {count for (broker_id, key, _), count in world.sent.items() if broker_id == 2 and key == LEADER_AND_ISR_KEY} == {1}


async def test_the_next_controller_goes_on_with_what_the_last_one_left(world: SlowWorld) -> None:
    world.slow = True
    await world.create_topic("big", *[(1, 2)] * MANY)
    assert world.led("big") < MANY
    await world.die(0)
    world.go_on()
    await until_quiet(world)
    known = world.told[1].metadata
    assert sum(part["leader"] == 1 for tp, part in known.items() if tp.topic == "big") == MANY


async def cut_in_two(world: SlowWorld, *replicas: Sequence[int], grown_from: int = 0) -> None:
    """The controller, broker 0, dies when some of the new partitions have leaders and others have none. Broker 2 stays slow."""
    if grown_from:
        await world.create_topic("big", *replicas[:grown_from])
    world.slow = True
    if grown_from:
        await world.grow_topic("big", *replicas)
    else:
        await world.create_topic("big", *replicas)
    await world.die(0)
    there = [await world.exists(layout.state_path(TopicPartition("big", number))) for number in range(len(replicas))]
    assert sum(there) > grown_from and not all(there), "else nothing is cut"


async def test_the_next_controller_shows_no_part_of_a_topic_that_was_cut_in_two(world: SlowWorld) -> None:
    await cut_in_two(world, *[(1, 2)] * MANY)
    await world.start(0)
    assert [world.counts_known(broker_id, "big") for broker_id in (0, 1)] == [[], []]
    world.go_on()
    await until_quiet(world)
    assert [world.counts_known(broker_id, "big") for broker_id in IDS] == [[MANY]] * 3
    assert world.led("big") == MANY


async def test_the_next_controller_goes_on_showing_what_a_cut_growth_began_with(world: SlowWorld) -> None:
    """Also a partition that nobody leads, also to a broker that has just started."""
    await cut_in_two(world, (0,), *[(1, 2)] * 2 * MANY, grown_from=3)
    assert world.told[1].metadata[TopicPartition("big", 0)]["leader"] == NO_LEADER
    await world.start(0)
    assert [world.counts_known(broker_id, "big") for broker_id in (0, 1)] == [[3], [3]]
    world.go_on()
    await until_quiet(world)
    assert [world.counts_known(broker_id, "big") for broker_id in IDS] == [[3, 2 * MANY + 1]] * 3
    assert world.led("big") == 2 * MANY + 1


async def test_a_few_partitions_that_were_cut_in_two_are_shown_at_once(world: SlowWorld) -> None:
    """What one step of the controller creates is cut by its death, too."""
    await world.create_topic("few", *[IDS] * SLICE)
    await world.operator.delete(layout.state_path(TopicPartition("few", 1)))
    world.told[1].requests.clear()
    await world.die(0)
    assert world.counts_known(1, "few") == [SLICE]
    assert not world.active.snapshot().offline_partitions


async def test_a_new_topic_s_count_is_right_where_some_partitions_get_no_leader(world: SlowWorld) -> None:
    await world.die(2)
    await world.create_topic("half", *[(1,), (2,)] * SLICE)
    await until_quiet(world)
    await world.start(2)
    await until_quiet(world)
    assert [world.counts_known(broker_id, "half") for broker_id in IDS] == [[2 * SLICE]] * 3
    assert world.led("half") == 2 * SLICE


async def test_nothing_of_a_topic_that_was_cut_in_two_stays_when_it_is_deleted(world: SlowWorld) -> None:
    await cut_in_two(world, *[(1, 2)] * 2 * MANY, grown_from=3)
    await world.delete_topic("big")
    world.go_on()
    await until_quiet(world)
    assert not await world.exists(layout.topic_path("big"))
    assert {part["leader"] for tp, part in world.told[1].metadata.items() if tp.topic == "big"} == {LEADER_DURING_DELETE}


async def test_a_controller_tells_metadata_once_when_it_begins(world: SlowWorld) -> None:
    await world.create_topic("big", *[(1, 2)] * MANY)
    await until_quiet(world)
    before = +world.sent
    await world.die(0)
    await until_quiet(world)
    told = {count for (_, key, _), count in (world.sent - before).items() if key == UPDATE_METADATA_KEY}
    assert told == {1}, "its leaders have not changed"


async def test_a_topic_is_deleted_while_it_is_being_created(world: SlowWorld) -> None:
    world.slow = True
    await world.create_topic("big", *[IDS] * MANY)
    assert world.led("big") < MANY
    await world.delete_topic("big")
    world.go_on()
    await until_quiet(world)
    assert not await world.exists(layout.topic_path("big"))
    assert all(not world.told[broker_id].replicas for broker_id in IDS)


async def test_a_deletion_goes_on_when_a_broker_that_died_in_it_is_back(world: SlowWorld) -> None:
    await world.create_topic("big", *[IDS] * MANY)
    await until_quiet(world)
    world.slow = True
    await world.delete_topic("big")
    world.go_on()
    await world.die(2)
    await until_quiet(world)
    assert await world.exists(layout.topic_path("big"))
    await world.start(2)
    await until_quiet(world)
    assert not await world.exists(layout.topic_path("big"))


def test_a_partition_s_replicas_stay_in_one_slice() -> None:
    replicas = [Replica("t", partition, broker_id) for partition in range(230) for broker_id in IDS]
    parts = list(replica_slices(replicas))
    assert [replica for part in parts for replica in part] == replicas
    assert list(replica_slices([])) == []
    assert [len(part) for part in parts] == [300, 300, 90]


async def test_jobs_take_turns_and_wait_for_room() -> None:
    clock, log, room = ManualClock(), list[str](), True
    due: list[None] = []
    backlog = Backlog(clock, lambda: room, lambda: due.append(None))

    def job(name: str, steps: int) -> Any:
        left = [steps]

        async def step() -> bool:
            log.append(name)
            left[0] -= 1
            return left[0] > 0

        return step

    backlog.add("a", job("a", 2))
    backlog.add("b", job("b", 1))
    await backlog.go_on()
    await backlog.go_on()
    room = False
    await backlog.go_on()
    assert log == ["a", "b"]
    room, due[:] = True, []
    clock.fire_until(clock.now + 5_000)
    assert due
    await backlog.go_on()
    assert log == ["a", "b", "a"]
    backlog.end()
