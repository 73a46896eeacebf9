"""A broker's data folders: offline, filling up or low on room, and what to do about it. Pure.

Rules, the first that applies:
1. The folder is offline after an I/O error: bad, since its replicas serve nothing; warn where it is known to hold none.
2. Full at the present rate within `FULL_BAD_S`: bad; within `FULL_WARN_S`: warn; within `FULL_NOTICE_S`: notice.
3. Less than `FREE_BAD_SHARE` of the disk free: bad; less than `FREE_WARN_SHARE`: warn.
A disk that becomes full takes the folder offline: an alarm that comes before that leaves time to act.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import NamedTuple

from msgspec.structs import asdict

from broker_core.contract import feed
from broker_core.contract.live import FolderState, LogDir
from broker_core.contract.sentences import Level, Piece
from console.rules.pieces import link, said, text_of
from console.rules.words import counted, duration, size

FULL_BAD_S = 30 * 60
FULL_WARN_S = 6 * 3600
FULL_NOTICE_S = 24 * 3600
FREE_BAD_SHARE = 0.01
FREE_WARN_SHARE = 0.05

OFFLINE: FolderState = "folder_offline"
FILLING: FolderState = "folder_filling"
LOW: FolderState = "folder_low"
SERVES: FolderState = "folder_serves"


class Finding(NamedTuple):
    """`pieces` are the sentence; none where there is nothing to say."""

    state: FolderState
    level: Level
    pieces: tuple[Piece, ...] = ()


def finding(broker: int, folder: feed.LogDir, replicas: int | None = None, *, of_several: bool = False) -> Finding:
    """Of a broker's folder, which holds so many replicas; unknown room is not judged. One of several is named."""
    name = f" {folder.path}" if of_several else ""
    if folder.offline_since_ms is not None:
        words = _offline(broker, folder.offline_since_ms, folder.offline_why, replicas)
        return Finding(OFFLINE, "warn" if replicas == 0 else "bad", (said(f"The data folder{name} of "), *words))
    free, total, full_in_s = folder.free_bytes, folder.total_bytes, folder.full_in_s
    if free is None or not total:
        return Finding(SERVES, "ok")
    room = f"{size(free)} of {size(total)} free"
    if full_in_s is not None and full_in_s < FULL_NOTICE_S:
        level: Level = "bad" if full_in_s < FULL_BAD_S else "warn" if full_in_s < FULL_WARN_S else "notice"
        return Finding(FILLING, level, _disk(broker, name, f"is full in about {duration(full_in_s)} at the present rate ({room})."))
    if free < FREE_WARN_SHARE * total:
        level = "bad" if free < FREE_BAD_SHARE * total else "warn"
        return Finding(LOW, level, _disk(broker, name, f"is nearly full ({room})."))
    return Finding(SERVES, "ok")


def judged(broker: int, folder: feed.LogDir, replicas: int | None, *, of_several: bool = False) -> LogDir:
    """The folder with what is to be said of it."""
    found = finding(broker, folder, replicas, of_several=of_several)
    return LogDir(**asdict(folder), replicas=replicas, **found._asdict(), sentence=text_of(found.pieces))


def _disk(broker: int, name: str, words: str) -> tuple[Piece, ...]:
    return said(f"The disk of data folder{name} of " if name else "The disk of "), link(f"broker {broker}", "brokers"), said(f" {words}")


def _offline(broker: int, since_ms: int, why: str | None, replicas: int | None) -> tuple[Piece, ...]:
    since = datetime.fromtimestamp(since_ms / 1000, UTC).strftime("%d %b %H:%M:%S")
    held = "None of its replicas serves" if replicas is None else f"{counted(replicas, 'replica')} there {_serve(replicas)} nothing"
    words = f" is offline since {since} UTC ({why or 'an I/O error'}). {held}; make room or mend the disk, then restart broker {broker}."
    return link(f"broker {broker}", "brokers"), said(words)


def _serve(count: int) -> str:
    return "serves" if count == 1 else "serve"
