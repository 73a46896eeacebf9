"""JVMs of tests live for half a minute: what they would gain by a second compiler costs them more."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

SHORT_LIVED = {"JAVA_TOOL_OPTIONS": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"}


@contextmanager
def short_lived() -> Iterator[None]:
    """What is started meanwhile."""
    with pytest.MonkeyPatch.context() as environment:
        for name, value in SHORT_LIVED.items():
            environment.setenv(name, value)
        yield
