"""Keeps Python's full garbage collections short.

A full collection walks over every object at once: of ten thousand partitions that takes a quarter of a second, in which
nobody is served. So what has outlived a collection that took long is frozen, and the next one looks only at what has come
since. Frozen objects are still freed by their reference counts; only cycles among them are not. Once half
of the partitions that were here have gone, all objects are looked at again.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from typing import Any

FULL = 2
LONG_MS = 10.0


class Collector:
    """`hosted` tells how many partitions there are now, `cpu_ms` the CPU time of the calling thread."""

    def __init__(self, hosted: Callable[[], int], cpu_ms: Callable[[], float] = lambda: time.thread_time() * 1000.0) -> None:
        self._hosted = hosted
        self._cpu_ms = cpu_ms
        self._began_ms = 0.0
        self._frozen_with = 0

    def start(self) -> None:
        """What there is now, modules most of all, is never looked at again until partitions go."""
        gc.collect()
        gc.freeze()
        gc.callbacks.append(self.on_collection)

    def stop(self) -> None:
        gc.callbacks.remove(self.on_collection)

    def on_collection(self, phase: str, info: dict[str, Any]) -> None:
        """Called by the interpreter before and after each collection."""
        if info["generation"] != FULL:
            return
        if phase == "start":
            self._thaw_if_half_has_gone()
            self._began_ms = self._cpu_ms()
        elif self._cpu_ms() - self._began_ms > LONG_MS:
            gc.freeze()
            self._frozen_with = max(self._frozen_with, self._hosted())

    def _thaw_if_half_has_gone(self) -> None:
        if 2 * self._hosted() < self._frozen_with:
            self._frozen_with = 0
            gc.unfreeze()
