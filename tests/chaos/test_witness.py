"""What the witness of a run of chaos takes for an end that nobody caused."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.chaos.witness import Witness


class Processes:
    """Each has the pid 7 but the console, whose may change while it is looked at."""

    def __init__(self) -> None:
        self.console: int | None = 7
        self.seen: Callable[[], None] = lambda: None

    def named(self, name: str) -> Any:
        return SimpleNamespace(pid=self._console if name == "console" else lambda: 7)

    def _console(self) -> int | None:
        pid, seen, self.seen = self.console, self.seen, lambda: None
        seen()
        return pid


@pytest.fixture
def processes() -> Processes:
    return Processes()


@pytest.fixture
def witness(processes: Processes) -> Witness:
    witness = Witness(cast(Any, processes), cast(Any, None))
    for name in witness._names:
        witness._pids[name] = 7
    return witness


def test_an_end_that_nobody_caused_is_told(witness: Witness, processes: Processes) -> None:
    processes.console = 8
    witness.look_at_processes()
    assert witness.lost == ["console (pid 7) ended and nobody had killed it; now: pid 8"]


def test_one_that_comes_back_while_it_is_looked_at_had_been_expected(witness: Witness, processes: Processes) -> None:
    expected = ExitStack()
    expected.enter_context(witness.expects("console"))
    processes.console = None

    def comes_back() -> None:
        processes.console = 9
        expected.close()

    processes.seen = comes_back
    witness.look_at_processes()
    processes.seen = lambda: None
    processes.console = 9
    expected.close()
    witness.look_at_processes()
    assert witness.lost == []
