"""What `live` makes of what it hears: what a broker told, and how that is judged."""

from __future__ import annotations

from typing import Literal

from broker_core.contract import feed

Level = Literal["ok", "notice", "warn", "bad", "unknown"]
FolderState = Literal["folder_offline", "folder_filling", "folder_low", "folder_serves"]


class LogDir(feed.LogDir, frozen=True, kw_only=True, gc=False):
    """What a broker said of its data folder when it was last heard, and the rules' word on it."""

    replicas: int | None
    state: FolderState
    level: Level
    sentence: str
