"""A client's one-shot watches: which callbacks wait for what, and who is told of an event."""

from __future__ import annotations

import logging

from broker_core.coordination.store import Watcher, WatchEvent

logger = logging.getLogger(__name__)


class WatchTable:
    """Data watches (get, exists) and child watches (children) by path; one callback waits once per path and kind."""

    def __init__(self) -> None:
        self.data: dict[str, dict[Watcher, None]] = {}
        self.child: dict[str, dict[Watcher, None]] = {}

    def add_data(self, path: str, watcher: Watcher) -> None:
        self.data.setdefault(path, {})[watcher] = None

    def add_child(self, path: str, watcher: Watcher) -> None:
        self.child.setdefault(path, {})[watcher] = None

    def clear(self) -> None:
        self.data.clear()
        self.child.clear()

    def dispatch(self, event: WatchEvent, path: str) -> None:
        """Takes out the watchers the event is for and calls each; a failing one does not stop the others."""
        watchers: dict[Watcher, None] = {}
        if event is not WatchEvent.CHILDREN:
            watchers |= self.data.pop(path, {})
        if event in (WatchEvent.CHILDREN, WatchEvent.DELETED):
            watchers |= self.child.pop(path, {})
        for watcher in watchers:
            try:
                watcher(event, path)
            except Exception:
                logger.exception("a watch's callback failed", extra={"path": path})
