"""The queues to the brokers and the inbox: order, retries, generations, limits."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from broker_core.controller.channels import channel_manager as module
from broker_core.controller.channels.channel_manager import ControllerChannelManager
from broker_core.controller.channels.requests import UPDATE_METADATA_KEY, ControlRequest
from broker_core.controller.events import BrokerChange, Call, PartitionChange
from broker_core.controller.inbox import CALLS_LIMIT, Inbox
from broker_core.errors import ErrorCode, KafkaError
from broker_core.model import BrokerInfo, Endpoint
from tests.support.controller_world import ManualClock, spawn

pytestmark = pytest.mark.spec("Z5")


def info(broker_id: int, epoch: int) -> BrokerInfo:
    return BrokerInfo(broker_id, (Endpoint("PLAINTEXT", "h", 1),), None, epoch)


def request(number: int, epoch: int = 5) -> ControlRequest:
    return ControlRequest(1, epoch, 1, UPDATE_METADATA_KEY, 8, {}, {"number": number})


class Lines:
    """A sender that answers when `let_through`, and the channels over it."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.sent: list[tuple[int, int]] = []
        self.answered: list[int] = []
        self.overflowing: list[int] = []
        self.failing = False
        self.channels = ControllerChannelManager(
            self.clock, spawn, self, lambda asked, _: self.answered.append(asked.payload["number"]), self.overflowing.append
        )

    async def send(self, broker: BrokerInfo, asked: ControlRequest) -> Any:
        self.sent.append((broker.epoch, asked.payload["number"]))
        if self.failing:
            raise TimeoutError
        await asyncio.sleep(0)

    def hang_up(self, broker: BrokerInfo) -> None:
        self.sent.append((broker.epoch, -1))

    async def turns(self) -> None:
        for _ in range(20):
            await asyncio.sleep(0)


async def test_requests_go_out_in_order_one_at_a_time() -> None:
    lines = Lines()
    lines.channels.open(info(1, 5))
    lines.channels.send([request(1), request(2), request(3)])
    await lines.turns()
    assert lines.answered == [1, 2, 3]
    lines.channels.close_all()


async def test_a_failed_request_is_sent_again_before_the_next() -> None:
    lines = Lines()
    lines.failing = True
    lines.channels.open(info(1, 5))
    lines.channels.send([request(1), request(2)])
    await lines.turns()
    lines.failing = False
    lines.clock.fire_until(lines.clock.now + 100)
    await lines.turns()
    assert [number for _, number in lines.sent] == [1, 1, 2]
    lines.channels.close_all()


@pytest.mark.spec("B11")
async def test_a_generation_s_requests_end_with_it() -> None:
    """What waited for the broker before it bounced never reaches the new one, nor does a late request."""
    lines = Lines()
    lines.failing = True
    lines.channels.open(info(1, 5))
    lines.channels.send([request(1)])
    await lines.turns()
    lines.failing = False
    lines.channels.open(info(1, 6))
    lines.channels.send([request(2, epoch=5), request(3, epoch=6)])
    lines.clock.fire_until(lines.clock.now + 1_000)
    await lines.turns()
    assert lines.sent == [(5, 1), (5, -1), (6, 3)]
    lines.channels.close_all()


async def test_a_hang_up_that_is_told_instead_of_the_cancellation_ends_the_lane_too() -> None:
    """As `asyncio.wait_for` does where the connection's error is there already: the old generation must get nothing more."""

    class Swallowing(Lines):
        async def send(self, broker: BrokerInfo, asked: ControlRequest) -> Any:
            self.sent.append((broker.epoch, asked.payload["number"]))
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                raise ConnectionError("closed") from None

    lines = Swallowing()
    lines.channels.open(info(1, 5))
    lines.channels.send([request(1)])
    await lines.turns()
    lines.channels.close(1)
    for _ in range(3):
        await lines.turns()
        lines.clock.fire_until(lines.clock.now + 1_000)
    assert lines.sent == [(5, 1), (5, -1)]
    assert not [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]


async def test_a_queue_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """The controller hears of it: a new term tells the broker everything anew."""
    monkeypatch.setattr(module, "QUEUE_LIMIT", 2)
    lines = Lines()
    lines.channels.open(info(1, 5))
    lines.channels.send([request(1), request(2), request(3), request(4)])
    assert lines.overflowing == [1]
    assert lines.channels.waiting() == {}


async def test_equal_events_wait_once() -> None:
    inbox = Inbox(ManualClock())
    for _ in range(3):
        inbox.put(BrokerChange())
        inbox.put(PartitionChange("t"))
    assert [await inbox.get(), await inbox.get()] == [BrokerChange(), PartitionChange("t")]
    assert len(inbox) == 0
    inbox.put(BrokerChange())
    assert len(inbox) == 1


async def test_calls_have_a_limit_and_times() -> None:
    clock = ManualClock()
    inbox = Inbox(clock)

    def call() -> Call:
        return Call(lambda _: asyncio.sleep(0), asyncio.get_running_loop().create_future())

    for _ in range(CALLS_LIMIT):
        inbox.put(call())
    with pytest.raises(KafkaError) as refused:
        inbox.put(call())
    assert refused.value.code is ErrorCode.REQUEST_TIMED_OUT
    clock.now += 30
    await inbox.get()
    inbox.put(call())
    await inbox.get()
    assert inbox.longest_wait_ms() == 30.0


async def test_after_the_end_no_queue_is_opened_any_more() -> None:
    """The session may expire, or the office be given up, in the midst of an event, which goes on to the store's next answer:
    what it opens then would never be closed, and a broker that does not answer be asked for ever."""
    lines = Lines()
    lines.channels.close_all()
    lines.channels.open(info(1, 5))
    lines.channels.send([request(1)])
    await lines.turns()
    assert (lines.sent, lines.channels.waiting()) == ([], {})
