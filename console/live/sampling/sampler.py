"""Every 10 s: what is known goes to `__cluster_samples` of the local cluster, by way of the spool while that cannot be written.

The spool is carried in pieces that fit their time: one that was not acknowledged in time makes the next half as large, one that was
makes it twice as large, and what was acknowledged of it does not come again. A step carries for `CARRY_S` at most. The sink is
watched by what it gets done: when nothing was acknowledged for `DEADLINE_S` although something waited, it is replaced.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from typing import Protocol

from console.gateway.errors import GatewayError
from console.live.sampling.spool import Record, Spool
from console.rules.watch import Watch

log = logging.getLogger(__name__)
INTERVAL_S = 10.0
CARRY_S = 8.0
DEADLINE_S = 60.0
PIECE_MAX, PIECE_MIN = 2_000, 10


class Sink(Protocol):
    def write(self, records: Sequence[Record]) -> list[Record]:
        """Those that were not acknowledged in time; `GatewayError` when none was."""
        ...

    def close(self) -> None: ...


class Sampler:
    def __init__(
        self, take: Callable[[], list[Record]], open_sink: Callable[[], Sink], spool: Spool, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._take, self._open_sink, self._spool, self._clock = take, open_sink, spool, clock
        self._sink = open_sink()
        self._piece = PIECE_MAX
        self.watch = Watch("samples", "that writes the samples", DEADLINE_S)

    async def run(self) -> None:
        while True:
            await asyncio.sleep(INTERVAL_S)
            await asyncio.to_thread(self.step, self._take())

    def step(self, records: list[Record]) -> None:
        """Oldest first: what is new waits behind the spool. A full disk costs samples and nothing else."""
        try:
            self._carry(records)
        except GatewayError as error:
            log.warning("samples are kept on disk: %s", error)
            self.watch.failed(str(error))
        except OSError as error:
            log.warning("samples are lost: %s", error)
        if self.watch.stands_still(self._clock()):
            self._replace()

    def _carry(self, records: list[Record]) -> None:
        """Whatever cannot be written now is in the spool at the end."""
        end, waiting = self._clock() + CARRY_S, list(records)
        try:
            while self._clock() < end and (piece := self._spool.read(self._piece)):
                self._spool.settle(len(piece), self._write(piece))
            while self._clock() < end and waiting and not self._spool.read(1):
                piece = waiting[: self._piece]
                waiting[: len(piece)] = self._write(piece)
        finally:
            if waiting:
                self._spool.add(waiting)

    def _write(self, piece: list[Record]) -> list[Record]:
        self.watch.asked(self._clock())
        try:
            left = self._sink.write(piece)
        except GatewayError:
            self._piece = max(self._piece // 2, PIECE_MIN)
            raise
        self.watch.done(self._clock(), len(piece) - len(left), waiting=bool(left))
        self._piece = max(self._piece // 2, PIECE_MIN) if left else min(self._piece * 2, PIECE_MAX)
        return left

    def _replace(self) -> None:
        log.warning("%s", self.watch.sentence(self._clock()))
        self.watch.replaced(self._clock())
        self._sink.close()
        self._sink = self._open_sink()

    def close(self) -> None:
        self._sink.close()
