"""A plugin of pytest: the first port that a suite's fixture `unused_port` hands out for its container is that of the running broker."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from typing import Any

import pytest


def ports() -> Iterator[int]:
    yield int(os.environ["HIGHWATER_BROKER"])
    while True:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        yield port


@pytest.hookimpl(tryfirst=True)
def pytest_fixture_setup(fixturedef: Any, request: pytest.FixtureRequest) -> Any:
    """The fixture's value in place of the suite's own; None leaves a fixture alone."""
    if fixturedef.argname != "unused_port":
        return None
    given = ports()
    fixturedef.cached_result = (lambda: next(given), fixturedef.cache_key(request), None)
    return fixturedef.cached_result[0]
