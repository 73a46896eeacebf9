"""A leader that asks the controller for another ISR: what it makes of each answer, and of none."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest

from broker_core.controller.deciders.isr_alteration import Judged
from broker_core.coordination.layout import ISR_CHANGES, state_path
from broker_core.coordination.znode_data import decode_partition_state
from broker_core.errors import ErrorCode, KafkaError
from broker_core.model import LeaderAndIsr, TopicPartition
from broker_core.replication.isr.alteration_answer import Step, step_after
from broker_core.replication.isr.states import CommittedIsr, PendingExpandIsr, PendingShrinkIsr
from broker_core.replication.leader_state import LeaderState
from broker_core.seams import Node
from tests.support.broker_cluster import BrokerCluster

pytestmark = pytest.mark.spec("R4")

T0 = TopicPartition("t", 0)
Alter = Callable[..., Awaitable[dict[TopicPartition, Judged]]]

STEPS = {
    (ErrorCode.NONE, 1): Step.TAKE,
    (ErrorCode.NONE, 9): Step.TAKE,
    (ErrorCode.INELIGIBLE_REPLICA, 1): Step.WITHDRAW,
    (ErrorCode.OPERATION_NOT_ATTEMPTED, 1): Step.WITHDRAW,
    (ErrorCode.INELIGIBLE_REPLICA, 2): Step.SETTLE,
    (ErrorCode.OPERATION_NOT_ATTEMPTED, 2): Step.SETTLE,
    (ErrorCode.INVALID_UPDATE_VERSION, 1): Step.LOOK_UP,
    (ErrorCode.FENCED_LEADER_EPOCH, 1): Step.GIVE_UP,
    (ErrorCode.NEW_LEADER_ELECTED, 1): Step.GIVE_UP,
    (None, 1): Step.ASK_AGAIN,
    (ErrorCode.NOT_CONTROLLER, 1): Step.ASK_AGAIN,
    (ErrorCode.STALE_BROKER_EPOCH, 3): Step.ASK_AGAIN,
    (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, 1): Step.ASK_AGAIN,
    (ErrorCode.UNKNOWN_TOPIC_ID, 1): Step.ASK_AGAIN,
    (ErrorCode.INVALID_REQUEST, 1): Step.ASK_AGAIN,
    (ErrorCode.UNKNOWN_SERVER_ERROR, 1): Step.ASK_AGAIN,
    (ErrorCode.CLUSTER_AUTHORIZATION_FAILED, 1): Step.ASK_AGAIN,
}


@pytest.mark.parametrize(("code", "tries"), STEPS)
def test_what_comes_after_an_answer(code: ErrorCode | None, tries: int) -> None:
    assert step_after(code, tries=tries) is STEPS[code, tries]


class Scene:
    """Three brokers and a partition; the follower is neither its leader nor the controller, and has fallen out of the ISR."""

    def __init__(self) -> None:
        self.cluster = BrokerCluster(brokers=4)
        self.cluster.start_all()
        self.controller = self.cluster.controller()
        first, second, third = [broker_id for broker_id in self.cluster.ids if broker_id != self.controller]
        self.leader, self.follower, self.other = first, second, third
        row = {"partition_index": 0, "broker_ids": [first, second, third]}
        topic = {"name": "t", "num_partitions": -1, "replication_factor": -1, "assignments": [row], "configs": []}
        answer = self.cluster.ask(self.controller, 19, 7, {"topics": [topic], "timeout": 30_000})  # type: ignore[arg-type]
        assert answer.topics[0].error_code == ErrorCode.NONE
        self.cluster.until(lambda: self.cluster.leads("t"))
        self.cluster.produce_until_acked("t", "a")
        self.asked: list[dict[TopicPartition, Any]] = []

    @property
    def leadership(self) -> LeaderState:
        partition = self.cluster.brokers[self.leader].services.replicas.partitions.get(T0)
        assert partition is not None and partition.leader is not None
        return partition.leader

    def stored(self) -> LeaderAndIsr:
        znode = self.cluster.world.ensemble.tree.get(state_path(T0))
        return decode_partition_state(T0, znode.data, znode.version)[0]

    def stored_by(self) -> int:
        """The epoch of the controller that the store names with the partition's state."""
        znode = self.cluster.world.ensemble.tree.get(state_path(T0))
        return decode_partition_state(T0, znode.data, znode.version)[1]

    def high_watermark(self) -> int:
        log = self.cluster.brokers[self.leader].services.logs.get(T0)
        assert log is not None
        return log.high_watermark

    def cut(self) -> None:
        """The follower can no longer reach the leader; its session lives."""
        self.cluster.world.cut(f"b{self.follower}", f"b{self.leader}")

    def heal(self) -> None:
        self.cluster.world.heal(f"b{self.follower}", f"b{self.leader}")

    def until_out(self) -> None:
        self.cut()
        self.cluster.produce("t", "b", acks=1)
        self.cluster.until(lambda: self.stored().isr == (self.leader, self.other))
        self.cluster.until(lambda: isinstance(self.leadership.isr, CommittedIsr))

    def answer(self, make: Callable[[Alter, dict[TopicPartition, Any]], Awaitable[Any]]) -> None:
        """From now on the controller's answers are `make`'s."""
        controller = self.cluster.brokers[self.controller].services.controller
        alter: Alter = type(controller).alter_isrs.__get__(controller)

        async def answered(broker_id: int, broker_epoch: int, wanted: dict[TopicPartition, Any]) -> Any:
            self.asked.append(wanted)
            return await make(lambda: alter(broker_id, broker_epoch, wanted), wanted)

        controller.alter_isrs = answered  # type: ignore[method-assign, assignment]

    def answer_truly(self) -> None:
        self.answer(lambda alter, wanted: alter())


@pytest.fixture
def scene() -> Iterator[Scene]:
    made = Scene()
    with made.cluster:
        yield made


async def lost(alter: Alter, wanted: dict[TopicPartition, Any]) -> Any:
    """Carried out, and not answered so."""
    await alter()
    raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, "lost")


async def nothing(alter: Alter, wanted: dict[TopicPartition, Any]) -> Any:
    raise KafkaError(ErrorCode.NOT_CONTROLLER, "not here")


def refusing(code: ErrorCode) -> Callable[[Alter, dict[TopicPartition, Any]], Awaitable[Any]]:
    async def refuse(alter: Alter, wanted: dict[TopicPartition, Any]) -> Any:
        return {tp: Judged(code) for tp in wanted}

    return refuse


def first_lost_then_refused(late: list[Alter]) -> Callable[[Alter, dict[TopicPartition, Any]], Awaitable[Any]]:
    """`late` gets what the first request asks for, which lies somewhere."""

    async def answer(alter: Alter, wanted: dict[TopicPartition, Any]) -> Any:
        if not late:
            late.append(alter)
            raise KafkaError(ErrorCode.NOT_CONTROLLER, "it lies somewhere")
        return {tp: Judged(ErrorCode.INELIGIBLE_REPLICA) for tp in wanted}

    return answer


def test_a_follower_leaves_and_joins_by_the_controller(scene: Scene) -> None:
    """Nobody announces anything in the store; all brokers are told by UpdateMetadata."""
    scene.until_out()
    scene.heal()
    full = (scene.leader, scene.other, scene.follower)
    scene.cluster.until(lambda: scene.stored().isr == full)
    scene.cluster.until(lambda: all(scene.cluster.isr(broker_id, "t") == full for broker_id in scene.cluster.ids))
    assert scene.cluster.world.ensemble.tree.get(ISR_CHANGES).creates == 0
    scene.cluster.until(lambda: scene.leadership.isr == CommittedIsr(full) and scene.leadership.zk_version == scene.stored().zk_version)


def test_who_leaves_counts_until_the_answer_is_here(scene: Scene) -> None:
    """The store may have it already, or not yet: the high watermark waits for the larger of both sets."""
    scene.answer(nothing)
    scene.cut()
    before = scene.high_watermark()
    scene.cluster.produce("t", "b", acks=1)
    scene.cluster.until(lambda: isinstance(scene.leadership.isr, PendingShrinkIsr))
    scene.cluster.world.run_for(10_000)
    assert (scene.high_watermark(), len(scene.stored().isr)) == (before, 3)
    scene.answer_truly()
    scene.cluster.until(lambda: scene.high_watermark() == before + 1)
    assert scene.stored().isr == (scene.leader, scene.other)


def test_who_joins_counts_before_the_answer_is_here(scene: Scene) -> None:
    """The controller may elect it from the moment that the store names it."""
    scene.until_out()
    scene.answer(lost)
    scene.heal()
    scene.cluster.until(lambda: isinstance(scene.leadership.isr, PendingExpandIsr))
    scene.cluster.until(lambda: len(scene.stored().isr) == 3)
    scene.cut()
    scene.cluster.world.run_for(10_000)
    before = scene.high_watermark()
    scene.cluster.produce("t", "c", acks=1)
    scene.cluster.world.run_for(10_000)
    assert isinstance(scene.leadership.isr, PendingExpandIsr)
    assert scene.high_watermark() == before
    scene.answer_truly()
    scene.cluster.until(lambda: scene.high_watermark() == before + 1)
    assert scene.stored().isr == (scene.leader, scene.other), "it has left again, now that the change before is known"


def test_a_lost_answer_is_told_to_the_next_try(scene: Scene) -> None:
    scene.until_out()
    scene.answer(lost)
    scene.heal()
    scene.cluster.until(lambda: len(scene.stored().isr) == 3 and len(scene.asked) > 1)
    version = scene.stored().zk_version
    scene.answer_truly()
    scene.cluster.until(lambda: isinstance(scene.leadership.isr, CommittedIsr))
    assert (scene.leadership.zk_version, scene.stored().zk_version) == (version, version)


def test_who_may_not_join_is_asked_for_again_later(scene: Scene) -> None:
    scene.until_out()
    before = scene.stored()
    scene.answer(refusing(ErrorCode.INELIGIBLE_REPLICA))
    scene.heal()
    scene.cluster.until(lambda: len(scene.asked) > 2)
    assert scene.stored() == before, "refusals of first tries write nothing"
    scene.answer_truly()
    scene.cluster.until(lambda: len(scene.stored().isr) == 3)


def test_a_refusal_after_an_unanswered_try_is_settled_by_the_store(scene: Scene) -> None:
    """The first request lies somewhere and comes late: it must not take anybody in whom the leader no longer counts."""
    scene.until_out()
    before = scene.stored()
    late: list[Alter] = []
    scene.answer(first_lost_then_refused(late))
    scene.heal()
    scene.cluster.until(lambda: scene.stored().zk_version > before.zk_version)
    assert scene.stored().isr == before.isr
    scene.cut()
    scene.cluster.until(lambda: isinstance(scene.leadership.isr, CommittedIsr))
    assert scene.leadership.zk_version == scene.stored().zk_version

    async def at_last(node: Node) -> dict[TopicPartition, Judged]:
        return await late[0]()

    judged = scene.cluster.world.run(f"b{scene.controller}", at_last)
    assert judged[T0].error is ErrorCode.INVALID_UPDATE_VERSION
    assert scene.stored().isr == before.isr
    scene.answer_truly()
    scene.heal()
    scene.cluster.until(lambda: len(scene.stored().isr) == 3)
    assert scene.cluster.world.ensemble.tree.get(ISR_CHANGES).creates > 0, "the controller was told of the write"


def test_the_write_that_settles_it_keeps_the_controllers_epoch(scene: Scene) -> None:
    """The state before may have been written by a later controller than the one whose order the leader follows."""
    scene.until_out()
    before, written_by = scene.stored(), scene.stored_by()
    partition = scene.cluster.brokers[scene.leader].services.replicas.partitions.get(T0)
    assert partition is not None
    partition.controller_epoch = written_by - 1
    scene.answer(first_lost_then_refused([]))
    scene.heal()
    scene.cluster.until(lambda: scene.stored().zk_version > before.zk_version)
    assert (scene.stored().isr, scene.stored_by()) == (before.isr, written_by)


@pytest.mark.parametrize("code", [ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.NEW_LEADER_ELECTED])
def test_a_former_leader_serves_nothing_more(scene: Scene, code: ErrorCode) -> None:
    scene.answer(refusing(code))
    scene.cut()
    scene.cluster.produce("t", "b", acks=1)
    scene.cluster.until(lambda: scene.leadership.deposed)
    assert isinstance(scene.leadership.isr, PendingShrinkIsr)


def test_another_version_is_looked_up(scene: Scene) -> None:
    """A controller that lost the store's reply to its own write says INVALID_UPDATE_VERSION: what is there is the leader's own."""

    async def misled(alter: Alter, wanted: dict[TopicPartition, Any]) -> Any:
        await alter()
        return {tp: Judged(ErrorCode.INVALID_UPDATE_VERSION) for tp in wanted}

    scene.answer(misled)
    scene.cut()
    scene.cluster.produce("t", "b", acks=1)
    scene.cluster.until(lambda: scene.leadership.isr == CommittedIsr((scene.leader, scene.other)))
    assert not scene.leadership.deposed
    assert scene.leadership.zk_version == scene.stored().zk_version


def test_the_next_controller_is_asked(scene: Scene) -> None:
    """The one that was asked never answers: its office goes to another while the request is on its way."""
    scene.answer(nothing)
    scene.cluster.brokers[scene.follower].services.replicas.fetchers.remove(T0)
    scene.cluster.produce("t", "b", acks=1)
    scene.cluster.until(lambda: len(scene.asked) > 0)
    scene.cluster.world.pause(f"b{scene.controller}")
    scene.cluster.until(lambda: scene.stored().isr == (scene.leader, scene.other))
    scene.cluster.until(lambda: isinstance(scene.leadership.isr, CommittedIsr) and not scene.leadership.deposed)
    scene.cluster.world.resume(f"b{scene.controller}")
