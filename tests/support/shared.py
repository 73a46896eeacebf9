"""The bodies of fixtures that many tests share: one cluster or system for all of them, whole again after each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

from tests.support.cluster import TestCluster

Cluster = TypeVar("Cluster", bound=TestCluster)


def running(made: Cluster) -> Iterator[Cluster]:
    """Up while it is used; down even where it did not come up."""
    try:
        made.up()
        yield made
    finally:
        made.down()


def healed(shared: Cluster) -> Iterator[Cluster]:
    """Whatever a test has paused, stopped or killed runs again when it is over."""
    yield shared
    shared.heal()
