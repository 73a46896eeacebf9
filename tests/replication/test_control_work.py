"""Control requests in slices, and those that come again while they are carried out."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from broker_core.replication.control_work import ControlWork

pytestmark = pytest.mark.spec("Z5")


class Slow:
    """Counts how often it was begun; done when told."""

    def __init__(self) -> None:
        self.begun = 0
        self.done: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()

    async def __call__(self) -> dict[str, Any]:
        self.begun += 1
        return await asyncio.shield(self.done)


async def turns() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_a_request_that_comes_again_joins_the_one_under_way() -> None:
    work, slow = ControlWork(), Slow()
    first = asyncio.ensure_future(work.once(("LeaderAndIsr", 1), slow))
    await turns()
    second = asyncio.ensure_future(work.once(("LeaderAndIsr", 1), slow))
    other = asyncio.ensure_future(work.once(("LeaderAndIsr", 2), slow))
    await turns()
    assert (slow.begun, work.joined) == (2, 1)
    slow.done.set_result({"error_code": 0})
    assert await first == await second == await other == {"error_code": 0}
    assert await work.once(("LeaderAndIsr", 1), slow) == {"error_code": 0}
    assert slow.begun == 3, "one that comes after the end is a new one"


async def test_who_joined_gets_the_failure_too() -> None:
    work, slow = ControlWork(), Slow()
    asked = [asyncio.ensure_future(work.once("x", slow)) for _ in range(2)]
    await turns()
    slow.done.set_exception(OSError("disk"))
    for each in asked:
        with pytest.raises(OSError, match="disk"):
            await each
    slow.done = asyncio.get_running_loop().create_future()
    slow.done.set_result({})
    assert await work.once("x", slow) == {}


async def test_the_first_sender_s_end_is_not_the_joined_one_s() -> None:
    """A cancelled request counts as failed for who joined it: the controller asks again."""
    work, slow = ControlWork(), Slow()
    first = asyncio.ensure_future(work.once("x", slow))
    await turns()
    second = asyncio.ensure_future(work.once("x", slow))
    await turns()
    first.cancel()
    for each in (first, second):
        with pytest.raises(asyncio.CancelledError):
            await each
    slow.done.cancel()
