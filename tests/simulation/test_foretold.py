"""What the console foretells of a broker's death comes about: two hundred kills of whole brokers, graded partition by partition.

`python -m tests.simulation.foretold --seeds 1-40 --kills 250` does ten thousand.
"""

from __future__ import annotations

from unittest.mock import patch

import pytest

from console.rules.forecast import deciding
from console.rules.forecast.deciding import State
from tests.simulation import foretold

pytestmark = pytest.mark.spec("R8", "Z4")
KILLS = 50
BY_LEADERS = ("changed the ISR since", "came in before the election", "came into the ISR before it was gone")


@pytest.mark.parametrize("seed", [1, 3])
def test_with_all_in_sync_every_partition_comes_out_as_foretold(seed: int) -> None:
    outcome = foretold.run(seed, KILLS)
    assert outcome.wrong == outcome.changed == []
    assert not outcome.came["unknown"]
    assert outcome.came["right"] > 10 * KILLS
    assert outcome.stops and outcome.of_controllers
    assert {"offline", "moves", "refuses", "shrinks"} <= set(outcome.becomes)


@pytest.mark.parametrize("seed", [2, 4])
def test_while_replicas_catch_up_nothing_comes_out_wrong(seed: int) -> None:
    """Who joins an ISR in between is told as a change, and most comes out as foretold all the same."""
    outcome = foretold.run(seed, KILLS, restless=True)
    assert outcome.wrong == []
    assert all(any(words in told for words in BY_LEADERS) for told in outcome.changed)
    assert outcome.came["right"] > 3 * (outcome.came["changed"] + outcome.came["unknown"])
    assert outcome.becomes["unclean"]


def test_a_wrong_forecast_would_be_noticed() -> None:
    def in_the_order_of_the_isr(broker: int, now: State, replicas: tuple[int, ...], online: frozenset[int], *, unclean: bool) -> State:
        return deciding.after_death(broker, now, now.isr, online, unclean=unclean)

    with patch.dict("console.rules.forecast.fates.DECIDE", {"death": in_the_order_of_the_isr}):
        assert foretold.run(1, 20).wrong
