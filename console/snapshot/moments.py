"""Moments of the past in the snapshot: each is laid out under a name of its own (`local@1763882590000`), so that whatever reads a
snapshot reads it alike, until nobody has asked for it for a while.

The recorder (`console/live/history`) lays them out; pages and REST ask it through a list in Redis and wait for its answer.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

import redis

from broker_core.contract.moments import Kept, Question, Reply, Track
from console.clock import now_ms
from console.snapshot.connect import sync_client
from console.snapshot.encoding import decode, encode
from console.snapshot.keys import RECORDER, prefix

QUESTIONS = "hw:history:questions"
QUESTIONS_LIMIT = 100
MOMENTS = "hw:history:moments"
"""Those that are laid out, by when they were last asked for."""
GAP_MS = 10_000
"""Two times recorded lie so far apart at most, unless there is a gap; what was last known so long before a moment is the moment's."""
MOMENT_S = 600
REPLY_S = 30
SILENT_MS = 15_000
"""A recorder that has said nothing for so long is not waited for."""
WAIT_S = 12.0
WAIT_STEP_S = 2.0


class HistoryUnavailable(Exception):
    """The past cannot be shown now; the message says why."""


class NotRecorded(Exception):
    """There is nothing of the moment that was asked for."""


def name_of(cluster_id: str, at_ms: int) -> str:
    """Of a moment's snapshot."""
    return f"{cluster_id}@{at_ms}"


def time_of(name: str) -> int | None:
    """Of a snapshot's name the moment that it shows; None of a live one."""
    _, _, at = name.partition("@")
    return int(at) if at.isascii() and at.isdigit() else None


def reply_list(question_id: str) -> str:
    return f"hw:history:reply:{question_id}"


def kept_name(cluster_id: str) -> str:
    return prefix(cluster_id) + "history"


def kept(cluster_id: str) -> Kept:
    """What there is of the past."""
    try:
        found = decode(_client().get(kept_name(cluster_id)), Kept)
    except redis.RedisError:
        return Kept(error="Redis does not answer")
    return found or Kept(error="The recorder does not run")


def lay_out(cluster_id: str, at_ms: int) -> Reply:
    """Has the moment in the snapshot, where it stays for some minutes."""
    try:
        known = _client().get(prefix(name_of(cluster_id, at_ms)) + "beat")
        if known and _client().zscore(MOMENTS, name_of(cluster_id, at_ms)) is not None:
            return Reply(known_ms=int(known))
    except redis.RedisError as error:
        raise HistoryUnavailable(f"Redis does not answer: {error}") from error
    return _ask(Question(uuid.uuid4().hex, cluster_id, at_ms))


def compare(cluster_id: str, at_ms: int, until_ms: int) -> Reply:
    return _ask(Question(uuid.uuid4().hex, cluster_id, at_ms, until_ms))


def tracks(cluster_id: str, keys: Sequence[str], from_ms: int, to_ms: int, most: int) -> tuple[Track, ...]:
    """Figures of the values with these keys."""
    return _ask(Question(uuid.uuid4().hex, cluster_id, from_ms, to_ms, tuple(keys), most)).tracks


def _ask(question: Question) -> Reply:
    try:
        if now_ms() - int(_client().get(RECORDER) or 0) > SILENT_MS:
            raise HistoryUnavailable("The recorder of the past does not run.")
        if _client().lpush(QUESTIONS, encode(question)) > QUESTIONS_LIMIT:
            _client().lrem(QUESTIONS, 1, encode(question))
            raise HistoryUnavailable("Too many moments are being asked for: try again in a minute.")
        found = _wait(reply_list(question.id))
        if found is None:
            _client().lrem(QUESTIONS, 1, encode(question))
            raise HistoryUnavailable(f"The recorder of the past did not answer for {WAIT_S:.0f} s.")
    except redis.RedisError as error:
        raise HistoryUnavailable(f"Redis does not answer: {error}") from error
    if found.error:
        raise NotRecorded(found.error) if found.is_missing else HistoryUnavailable(found.error)
    return found


def _wait(name: str) -> Reply | None:
    """In steps: a read from Redis has a time limit of its own."""
    for _ in range(int(WAIT_S / WAIT_STEP_S)):
        if found := _client().blpop([name], timeout=WAIT_STEP_S):
            return decode(found[1], Reply)
    return None


def _client() -> Any:
    return sync_client()
