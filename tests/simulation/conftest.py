"""The forty seeds begin when the whole run does: most other tests wait for processes and leave the processors idle."""

from __future__ import annotations

import pytest

from tests.simulation.seed_runs import SeedRuns

RUNS = pytest.StashKey[SeedRuns]()


def pytest_collection_finish(session: pytest.Session) -> None:
    if not session.config.option.collectonly and any("seed_runs" in getattr(item, "fixturenames", ()) for item in session.items):
        session.config.stash[RUNS] = SeedRuns()


def pytest_unconfigure(config: pytest.Config) -> None:
    if runs := config.stash.get(RUNS, None):
        runs.close()


@pytest.fixture
def seed_runs(request: pytest.FixtureRequest) -> SeedRuns:
    return request.config.stash[RUNS]
