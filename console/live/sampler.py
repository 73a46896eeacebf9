"""Every 10 s: what is known goes to `__cluster_samples` of the local cluster, by way of the spool while that cannot be written."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Protocol

from console.gateway.errors import GatewayError
from console.live.spool import Record, Spool

log = logging.getLogger(__name__)
INTERVAL_S = 10.0
PER_WRITE = 2_000


class Sink(Protocol):
    def write(self, records: list[Record]) -> None: ...

    def close(self) -> None: ...


class Sampler:
    def __init__(self, take: Callable[[], list[Record]], sink: Sink, spool: Spool) -> None:
        self._take, self._sink, self._spool = take, sink, spool

    async def run(self) -> None:
        while True:
            await asyncio.sleep(INTERVAL_S)
            await asyncio.to_thread(self.step, self._take())

    def step(self, records: list[Record]) -> None:
        """Oldest first: the spool is emptied before the new ones are written. A full disk costs samples and nothing else."""
        try:
            self._carry(records)
        except OSError as error:
            log.warning("samples are lost: %s", error)

    def _carry(self, records: list[Record]) -> None:
        if not records:
            return
        try:
            while waiting := self._spool.read(PER_WRITE):
                self._sink.write(waiting)
                self._spool.drop(len(waiting))
            self._sink.write(records)
        except GatewayError as error:
            log.warning("samples are kept on disk: %s", error)
            self._spool.add(records)
