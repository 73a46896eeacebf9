"""Who begins next and who may read, without sockets: what is counted are calls and turns of the loop."""

from __future__ import annotations

import asyncio

from broker_core.server.adapters.request_queue import TURNS_AT_ONCE, RequestQueue


class Asking:
    """Connections that enter the queue, and begin when they are called."""

    def __init__(self, limit: int) -> None:
        self.queue = RequestQueue(lambda: limit)
        self.called: list[str] = []

    def enter(self, name: str, group: str = "listener", *, new: bool = True) -> None:
        def begin() -> None:
            self.called.append(name)
            self.queue.begun(new=new)

        self.queue.enter(group, begin, new=new)


async def turn() -> None:
    """One turn of the loop."""
    await asyncio.sleep(0)


async def test_no_more_than_some_begin_in_one_turn() -> None:
    asking = Asking(500)
    for number in range(3 * TURNS_AT_ONCE):
        asking.enter(str(number))
    assert len(asking.called) == TURNS_AT_ONCE
    assert asking.queue.size == 2 * TURNS_AT_ONCE
    await turn()
    assert len(asking.called) == 2 * TURNS_AT_ONCE
    await turn()
    assert asking.called == [str(number) for number in range(3 * TURNS_AT_ONCE)]
    assert asking.queue.size == 0


async def test_those_who_came_one_by_one_are_not_taken_for_many_at_once() -> None:
    """Each stands in line for a turn of the loop at most, however many began long ago."""
    asking = Asking(500)
    for number in range(3 * TURNS_AT_ONCE):
        asking.enter(str(number))
        await turn()
        assert len(asking.called) == number + 1


async def test_those_with_more_go_to_the_back_and_listeners_take_turns() -> None:
    asking = Asking(500)
    for number in range(100):
        asking.enter(f"client {number}", "clients", new=False)
    assert asking.called == [], "each has had a turn: others are looked at first"
    asking.enter("follower", "brokers")
    await turn()
    assert "follower" in asking.called[:2]
    assert asking.queue.yields == 100


async def test_what_was_sent_ahead_takes_no_room_from_those_who_have_nothing_in_the_queue() -> None:
    asking = Asking(2)
    for number in range(50):
        asking.enter(f"ahead {number}", new=False)
    assert (asking.queue.size, asking.queue.full) == (0, False)
    asking.enter("new 1")
    assert asking.queue.may_read(was_let_on=False)
    asking.enter("new 2")
    assert (asking.queue.size, asking.queue.full) == (2, True)
    for _ in range(4):
        await turn()
    assert asking.called[-2:] == ["new 1", "new 2"]
    assert (asking.queue.size, asking.queue.full) == (0, False)


async def test_nobody_reads_past_those_who_wait_for_room() -> None:
    asking = Asking(3)
    queue = asking.queue
    went_on: list[int] = []
    for number in range(2 * TURNS_AT_ONCE + 3):
        asking.enter(str(number))
    assert not queue.may_read(was_let_on=False)
    for number in range(3):
        queue.wait("listener", lambda number=number: went_on.append(number), first=False)  # type: ignore[misc]
    assert not queue.may_read(was_let_on=False)
    await turn()
    assert went_on == [], "there is no room: sixteen have begun, and three are left"
    assert not queue.may_read(was_let_on=False), "others came before"
    await turn()
    assert went_on == [0, 1, 2], "in the order they came"
    assert queue.may_read(was_let_on=True)
    for number in range(TURNS_AT_ONCE + 3):
        asking.enter(f"somebody else {number}")
    assert not queue.may_read(was_let_on=True), "the room was taken meanwhile"
    queue.wait("listener", lambda: went_on.append(3), first=False)
    queue.wait("listener", lambda: went_on.append(0), first=True)
    await turn()
    await turn()
    assert went_on == [0, 1, 2, 0, 3], "who was let on and found no room is first"
    assert queue.may_read(was_let_on=False)
