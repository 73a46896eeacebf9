"""The table of states that pages and their scripts show."""

from __future__ import annotations

from typing import get_args

import pytest

from broker_core.contract import groups, live, partitions
from broker_core.contract.sentences import Level
from broker_core.groups.states import GroupState
from console.models import Job
from console.rules.states import SIGNS, STATES, SURE


@pytest.mark.parametrize(
    "states",
    [
        *map(get_args, (partitions.PartitionState, live.FolderState, groups.Trend, groups.LagStatus, Level)),
        Job.STATES,
        [state.value for state in GroupState],
        ("online", "running", "paused", "stopped"),
    ],
)
def test_every_state_that_can_be_told_has_a_word_and_a_level(states: tuple[str, ...]) -> None:
    assert set(states) <= STATES.keys()


def test_every_level_has_a_sign_and_every_basis_its_words() -> None:
    assert set(get_args(Level)) == SIGNS.keys()
    assert set(get_args(groups.LagBasis)) == SURE.keys()
