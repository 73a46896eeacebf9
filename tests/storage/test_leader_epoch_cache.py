"""Leader epochs and where they end."""

from __future__ import annotations

import pytest

from broker_core.storage.leader_epoch_cache import UNDEFINED, LeaderEpochCache

CACHE = [(2, 5), (4, 10), (7, 20)]


@pytest.mark.spec("R6")
@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        (-1, UNDEFINED),
        (8, UNDEFINED),
        (7, (7, 30)),
        (6, (4, 20)),
        (5, (4, 20)),
        (4, (4, 20)),
        (3, (2, 10)),
        (2, (2, 10)),
        (1, (1, 5)),
        (0, (0, 5)),
    ],
)
def test_end_offset_of_an_epoch(asked: int, answer: tuple[int, int]) -> None:
    """Known, between, above and below the known epochs."""
    assert LeaderEpochCache(CACHE).end_offset_for(asked, 30) == answer


def test_an_empty_cache_knows_nothing() -> None:
    assert LeaderEpochCache().end_offset_for(0, 10) == UNDEFINED
    assert LeaderEpochCache().latest is None


def test_assigning_drops_what_a_newer_claim_contradicts() -> None:
    """An entry with an equal or larger epoch or offset describes a log that is no more."""
    cache = LeaderEpochCache([(1, 0), (2, 10), (3, 20)])
    assert cache.assign(4, 15)
    assert cache.entries == [(1, 0), (2, 10), (4, 15)]
    assert not cache.assign(4, 18)
    assert cache.assign(2, 12)
    assert cache.entries == [(1, 0), (2, 12)]


def test_an_epoch_without_records_gives_way() -> None:
    cache = LeaderEpochCache([(1, 0)])
    cache.assign(2, 10)
    cache.assign(3, 10)
    assert cache.entries == [(1, 0), (3, 10)]


def test_truncation_from_both_ends() -> None:
    cache = LeaderEpochCache(CACHE)
    cache.truncate_from_end(20)
    assert cache.entries == [(2, 5), (4, 10)]
    cache.truncate_from_start(12)
    assert cache.entries == [(4, 12)]
    cache.truncate_from_start(11)
    assert cache.entries == [(4, 12)]
    cache.truncate_from_end(0)
    assert cache.entries == []


def test_only_changes_make_it_dirty() -> None:
    cache = LeaderEpochCache(CACHE)
    assert not cache.dirty
    cache.truncate_from_end(100)
    cache.assign(7, 25)
    assert not cache.dirty
    cache.assign(8, 25)
    assert cache.dirty


def test_which_epoch_wrote_an_offset() -> None:
    cache = LeaderEpochCache(CACHE)
    assert [cache.epoch_of(offset) for offset in (4, 5, 9, 10, 19, 20, 99)] == [None, 2, 2, 4, 4, 7, 7]
    assert cache.previous(7) == 4
    assert cache.previous(2) is None
