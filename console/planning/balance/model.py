"""What a balance is measured by, and what is told of one."""

from __future__ import annotations

from msgspec import Struct

from console.planning.model import Standing

WITHIN = 1.1
"""A broker carries at most so many times its share, and at least its share divided by it."""
FULL_SHARE = 0.85
"""Of a disk's bytes, so much is in use at most."""


class Change(Struct, frozen=True):
    """One partition's replicas then, and what for: an aim, or what has to be in any case (`needs`)."""

    at: Standing
    replicas: tuple[int, ...]
    serves: tuple[str, ...]
