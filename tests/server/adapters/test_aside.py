"""Long native calls are done beside the loop, which goes on meanwhile."""

from __future__ import annotations

import asyncio
import threading

import pytest

from broker_core.server.adapters.aside import AsideThread

DEADLINE_S = 60


async def test_the_loop_goes_on_while_a_job_is_done() -> None:
    aside, let_go = AsideThread(), threading.Event()

    def job() -> str:
        assert let_go.wait(DEADLINE_S)
        return threading.current_thread().name

    try:
        doing = asyncio.ensure_future(aside(job))
        for _ in range(10):
            await asyncio.sleep(0)
        assert not doing.done()
        let_go.set()
        assert (await doing).startswith("aside")
    finally:
        let_go.set()
        aside.close()


async def test_one_job_at_a_time_and_their_errors_come_back() -> None:
    aside, at_work, most = AsideThread(), 0, 0

    def job(number: int) -> int:
        nonlocal at_work, most
        at_work += 1
        most = max(most, at_work)
        at_work -= 1
        return 12 // number

    try:
        jobs = [aside(lambda number=number: job(number)) for number in (1, 2, 0, 3)]  # type: ignore[misc]
        found = await asyncio.gather(*jobs, return_exceptions=True)
    finally:
        aside.close()
    assert [found[0], found[1], found[3]] == [12, 6, 4]
    assert isinstance(found[2], ZeroDivisionError)
    assert most == 1
    with pytest.raises(RuntimeError):
        await aside(lambda: None)
