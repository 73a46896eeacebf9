"""A seed names a run, and a run meets every fault."""

from __future__ import annotations

from itertools import islice

from tests.chaos.plan import GRAVE, HOSTILE, PROGRAMS, episodes


def test_a_seed_names_a_run() -> None:
    assert list(islice(episodes(7), 50)) == list(islice(episodes(7), 50))
    assert list(islice(episodes(7), 50)) != list(islice(episodes(8), 50))


def test_each_round_has_every_grave_fault_once() -> None:
    found = list(islice(episodes(3), 3 * len(GRAVE)))
    for start in range(0, len(found), len(GRAVE)):
        assert sorted(e.fault for e in found[start : start + len(GRAVE)]) == sorted(GRAVE)


def test_every_hostile_client_comes_and_every_program_is_killed() -> None:
    found = list(islice(episodes(3), 400))
    assert {kind for episode in found for kind in episode.hostile} == set(HOSTILE)
    assert {e.victim for e in found if e.fault == "kill program"} == set(PROGRAMS)
