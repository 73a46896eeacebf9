"""Fixtures of the tests of the past."""

from __future__ import annotations

from typing import Any

import pytest

from console.live.merging.state import ClusterState
from console.models import Cluster
from tests.support.past import lay_out


@pytest.fixture
def then(shown: ClusterState, redis: Any, local: Cluster) -> str:
    """The name of a moment in the snapshot, beside the present."""
    return lay_out(redis)
