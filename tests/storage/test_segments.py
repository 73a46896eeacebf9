"""The size of a log is that of its segments at any time, and telling it is no walk over them."""

from __future__ import annotations

from typing import Any, cast

from broker_core.storage.log import AppendOrigin
from broker_core.storage.segments.log_segments import LogSegments
from broker_core.storage.segments.segment import Segment
from tests.support.log_world import START_MS, World, sized_batch


class Counted:
    """A segment by hand; every look at its size is counted."""

    looks = 0

    def __init__(self, base_offset: int, size: int) -> None:
        self.base_offset, self.size = base_offset, size

    @property
    def size_bytes(self) -> int:
        Counted.looks += 1
        return self.size


def test_an_append_makes_no_walk_over_the_closed_segments() -> None:
    items: list[Any] = [Counted(base, 10) for base in range(1_000)]
    segments = LogSegments(cast(list[Segment], items))
    assert segments.size_bytes == 10_000
    Counted.looks = 0
    items[-1].size = 25
    assert segments.size_bytes == 10_015
    assert Counted.looks == 1


def test_the_size_follows_whatever_comes_and_goes() -> None:
    items: list[Any] = [Counted(base, 10) for base in range(5)]
    segments = LogSegments()
    assert segments.size_bytes == 0
    for item in items:
        segments.add(cast(Segment, item))
        assert segments.size_bytes == sum(each.size for each in segments)
    segments.remove(cast(list[Segment], [items[4], items[0]]))
    items[3].size = 4
    assert segments.size_bytes == 24


async def test_a_log_tells_the_size_of_its_files() -> None:
    world = World(segment_bytes=300)
    log = await world.open()

    def check() -> None:
        assert log.segments.size_bytes == sum(segment.file.size for segment in log.segments)

    for _ in range(12):
        log.append_as_leader(sized_batch(100), 0, AppendOrigin.CLIENT, START_MS)
        check()
    assert len(log.segments) > 3
    for end in (9, 6, 1):
        await log.truncate_to(end)
        check()
    await world.spawn.stop()
