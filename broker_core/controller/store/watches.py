"""One term's watches: each turns what the store reports into an event for the inbox."""

from __future__ import annotations

from collections.abc import Callable

from broker_core.controller.events import Event
from broker_core.coordination.store import Watcher, WatchEvent


class Watches:
    """Gives one callback per event, always the same, so that asking twice for a watch does not make it fire twice."""

    def __init__(self, post: Callable[[Event], None]) -> None:
        self._post = post
        self._watchers: dict[Event, Watcher] = {}

    def to(self, event: Event) -> Watcher:
        """The watch callback that posts `event`."""
        if event not in self._watchers:
            self._watchers[event] = self._watcher(event)
        return self._watchers[event]

    def forget(self, event: Event) -> None:
        """The znode goes for good: what its watch still reports is dropped."""
        self._watchers.pop(event, None)

    def close(self) -> None:
        """Nothing is posted any more: the term is over."""
        self._watchers.clear()

    def _watcher(self, event: Event) -> Watcher:
        def report(_kind: WatchEvent, _path: str) -> None:
            if self._watchers.get(event) is report:
                self._post(event)

        return report
