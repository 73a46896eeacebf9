"""Starts ZooKeeper and brokers again that ended without an order, and says so in the shell and to the console."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from functools import partial

from msgspec import Struct

from broker_core.errors import HighwaterError
from broker_core.local import brokers, control, process_events
from broker_core.local.control import Say
from broker_core.local.layout import BROKER_IDS, Layout
from broker_core.local.orders import ordered_down
from broker_core.local.process import Busy, LocalProcess
from broker_core.local.revival import Revival, how_it_ended
from broker_core.local.services import launch_zookeeper, zookeeper_process


class Watched(Struct, frozen=True):
    """One process, what people call it, and how it is started; the start does not wait until it serves."""

    process: LocalProcess
    title: str
    broker_id: int | None
    start: Callable[[], None]
    revival: Revival


class Watch:
    """`look` is called every few seconds; a start in one look, its success or next end is seen at the next ones."""

    def __init__(self, layout: Layout, say: Say) -> None:
        self._layout = layout
        self._say = say
        self._watched = [Watched(zookeeper_process(layout), "ZooKeeper", None, partial(launch_zookeeper, layout), Revival())]
        for broker_id in BROKER_IDS:
            process, start = brokers.broker_process(layout, broker_id), partial(brokers.launch, layout, broker_id)
            self._watched.append(Watched(process, f"broker {broker_id}", broker_id, start, Revival()))

    def look(self, now_ms: int | None = None) -> None:
        """`now_ms` is a monotonic time of the caller's choice."""
        at_ms = time.monotonic_ns() // 1_000_000 if now_ms is None else now_ms
        for watched in self._watched:
            self._look_at(watched, at_ms)

    def _look_at(self, watched: Watched, now_ms: int) -> None:
        if watched.process.alive():
            watched.revival.seen_alive(now_ms)
            return
        if ordered_down(self._layout, watched.process.name):
            watched.revival.stays_down()
            return
        pause_ms = watched.revival.seen_ended(now_ms)
        if pause_ms is not None:
            how = how_it_ended(watched.process.exit_status())
            self._tell(watched, process_events.ENDED, "bad", f"ended by itself ({how}): it is started again in {pause_ms / 1000:.0f} s.")
        if watched.revival.due(now_ms):
            with contextlib.suppress(Busy), control.changing_now(self._layout):
                self._start_again(watched, now_ms)

    def _start_again(self, watched: Watched, now_ms: int) -> None:
        """Under the lock of all who start and stop; whoever held it may have started it, or stopped it for good."""
        if watched.process.alive() or ordered_down(self._layout, watched.process.name):
            return
        how, ended_ms = how_it_ended(watched.process.exit_status()), watched.revival.ended_ms
        try:
            watched.start()
        except (HighwaterError, OSError) as error:
            pause_ms = watched.revival.could_not_start(now_ms)
            words = f"could not be started again: {error}. The next try is in {pause_ms / 1000:.0f} s."
            self._tell(watched, process_events.NOT_RESTARTED, "bad", words)
            return
        seconds = 0 if ended_ms is None else round((now_ms - ended_ms) / 1000)
        self._tell(watched, process_events.RESTARTED, "notice", f"was started again {seconds} s after it had ended by itself ({how}).")
        watched.revival.seen_alive(now_ms)

    def _tell(self, watched: Watched, kind: str, level: str, words: str) -> None:
        sentence = f"{watched.title} {words}"
        self._say(sentence)
        try:
            process_events.note(self._layout, watched.process.name, watched.broker_id, kind=kind, level=level, sentence=sentence)
        except OSError as error:
            self._say(f"this could not be noted for the console: {error}")
