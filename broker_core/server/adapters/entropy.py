"""The operating system's randomness."""

from __future__ import annotations

import os
import random


class OsEntropy:
    def __init__(self) -> None:
        self._random = random.SystemRandom()

    def bytes(self, count: int) -> bytes:
        return os.urandom(count)

    def random(self) -> float:
        return self._random.random()
