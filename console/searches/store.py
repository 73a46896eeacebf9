"""A search in Redis: what was asked, how far it came, what it found. Results and progress are written in one step, so that a reader that
is killed leaves both as they belong together, and the next one goes on from there: nothing is lost and nothing comes twice."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

import redis
from msgspec.structs import replace

from console.clock import now_ms
from console.rules.records.progress import OVER, Found, Progress, Search, seen
from console.snapshot.connect import TIMEOUT_S, sync_client
from console.snapshot.encoding import decode, decode_all, encode
from console.snapshot.read import SnapshotUnavailable

TTL_S = 3600
"""Searches are forgotten so long after they were last read for or looked at."""
EXPORT_TTL_S = 24 * 3600
"""Exports so long after they were last written."""
QUEUE, ACTIVE = "hw-records:queue", "hw-records:active"
QUEUED_MAX = 64
PER_PERSON_MAX = 2
ACTIVE_FOR_S = 900


def new_id() -> str:
    return secrets.token_urlsafe(12)


def _key(search_id: str, part: str) -> str:
    return f"hw-records:{search_id}:{part}"


def _ttl(search: Search) -> int:
    return EXPORT_TTL_S if search.export else TTL_S


def _asker(search: Search) -> str:
    """Whose searches make room for one another: exports and what is looked at are apart."""
    return f"{search.by}\nexports" if search.export else search.by


@contextmanager
def _redis() -> Iterator[redis.Redis]:
    try:
        yield sync_client()
    except redis.RedisError as error:
        raise SnapshotUnavailable(f"Redis, which keeps searches, does not answer: {type(error).__name__}.") from error


class TooMany(Exception):
    """More searches wait already than a reader can be asked for."""


def ask(search: Search) -> None:
    """Keeps the search and queues it; whoever has too many running loses the oldest."""
    with _redis() as client:
        if int(client.llen(QUEUE)) >= QUEUED_MAX:
            raise TooMany("More searches wait than the reader can take: ask again in a moment.")
        _make_room(client, _asker(search))
        pipe = client.pipeline(transaction=True)
        pipe.set(_key(search.id, "search"), encode(search), ex=_ttl(search))
        pipe.set(_key(search.id, "progress"), encode(Progress(told_ms=now_ms())), ex=_ttl(search))
        _enqueue(pipe, search)
        pipe.execute()


def go_on(search: Search) -> None:
    """Queues a search that ended early again, as it stands."""
    with _redis() as client:
        _make_room(client, _asker(search))
        progress = _progress(client, search.id)
        _fence(client, search.id)
        pipe = client.pipeline(transaction=True)
        pipe.delete(_key(search.id, "stop"))
        pipe.set(_key(search.id, "progress"), encode(replace(progress, state="queued", reason="", told_ms=now_ms())), ex=_ttl(search))
        pipe.expire(_key(search.id, "search"), _ttl(search))
        _enqueue(pipe, search)
        pipe.execute()


def _enqueue(pipe: redis.client.Pipeline, search: Search) -> None:
    pipe.zadd(ACTIVE, {f"{_asker(search)}\n{search.id}": time.time()})
    pipe.rpush(QUEUE, search.id)
    pipe.expire(_key(search.id, "found"), TTL_S)


def _make_room(client: redis.Redis, asker: str) -> None:
    client.zremrangebyscore(ACTIVE, 0, time.time() - ACTIVE_FOR_S)
    mine = [str(name) for name in client.zrange(ACTIVE, 0, -1) if str(name).rpartition("\n")[0] == asker]
    for name in mine[: max(len(mine) - PER_PERSON_MAX + 1, 0)]:
        client.set(_key(name.rpartition("\n")[2], "stop"), "A newer search of yours took its place.", ex=TTL_S)
        client.zrem(ACTIVE, name)


def stop(search_id: str, reason: str) -> None:
    """The reader looks at it several times a second."""
    with _redis() as client:
        client.set(_key(search_id, "stop"), reason, ex=TTL_S)


def find(search_id: str) -> Search | None:
    with _redis() as client:
        return decode(client.get(_key(search_id, "search")), Search)


def progress(search_id: str) -> Progress:
    """As it is to be told now."""
    with _redis() as client:
        return seen(_progress(client, search_id), now_ms())


def look(search: Search) -> Progress:
    """The progress, told to somebody: that keeps the search."""
    with _redis() as client:
        pipe = client.pipeline(transaction=False)
        _looked(pipe, search)
        pipe.execute()
        return seen(_progress(client, search.id), now_ms())


def _looked(pipe: redis.client.Pipeline, search: Search) -> None:
    """Keeps the search, and tells a live one that somebody looks; an export goes when its file does."""
    pipe.set(_key(search.id, "looked"), now_ms(), ex=TTL_S)
    for part in () if search.export else ("search", "progress", "found"):
        pipe.expire(_key(search.id, part), TTL_S)


def _progress(client: redis.Redis, search_id: str) -> Progress:
    found = decode(client.get(_key(search_id, "progress")), Progress)
    return found or Progress(state="interrupted", reason="What it came to is not kept any more.")


def found(search: Search, first: int, count: int) -> list[Found]:
    """Results in the order in which they were found, told to somebody: that keeps the search."""
    with _redis() as client:
        pipe = client.pipeline(transaction=False)
        pipe.lrange(_key(search.id, "found"), first, first + count - 1)
        _looked(pipe, search)
        return decode_all(pipe.execute()[0], Found)


# --- the reader's side


def take(timeout_s: float) -> Search | None:
    """The next search that waits, once there is one; what has been stopped meanwhile is left out by whoever reads."""
    with _redis() as client:
        wait_s = min(timeout_s, TIMEOUT_S / 2)
        taken = client.blpop([QUEUE], timeout=wait_s)
        if taken is None:
            return None
        return decode(client.get(_key(str(taken[1]), "search")), Search)


def stopped(search_id: str) -> str | None:
    """Why it shall stop; None while it shall not."""
    with _redis() as client:
        found = client.get(_key(search_id, "stop"))
        return None if found is None else str(found)


def looked_ms(search_id: str) -> int:
    """When somebody last looked at it."""
    with _redis() as client:
        return int(str(client.get(_key(search_id, "looked")) or 0))


class Overtaken(Exception):
    """Another reader goes on with the search: this one was taken for dead."""


def begin(search: Search) -> Progress | None:
    """The search as it was left, now this reader's; None where it waits for nobody any more."""
    with _redis() as client:
        left = _progress(client, search.id)
        if left.state != "queued":
            return None
        told = replace(left, state="running", reason="", runs=_fence(client, search.id), told_ms=now_ms())
        client.set(_key(search.id, "progress"), encode(told), ex=_ttl(search))
        return told


def _fence(client: redis.Redis, search_id: str) -> int:
    """A new run's number: whoever read before writes no more."""
    pipe = client.pipeline(transaction=True)
    pipe.incr(_key(search_id, "run"))
    pipe.expire(_key(search_id, "run"), TTL_S)
    return int(pipe.execute()[0])


def tell(search: Search, progress: Progress, news: Sequence[Found], keep: int) -> None:
    """Progress with what was found since it was last told; of live records the newest `keep` stay. `Overtaken` where another run has
    begun meanwhile: nothing is written then."""
    progress.told_ms = now_ms()
    with _redis() as client, client.pipeline(transaction=True) as pipe:
        pipe.watch(_key(search.id, "run"))  # type: ignore[no-untyped-call]
        if str(pipe.get(_key(search.id, "run"))) != str(progress.runs):
            raise Overtaken
        pipe.multi()
        pipe.expire(_key(search.id, "run"), TTL_S)
        pipe.set(_key(search.id, "progress"), encode(progress), ex=_ttl(search))
        if news:
            pipe.rpush(_key(search.id, "found"), *(encode(one) for one in news))
            pipe.ltrim(_key(search.id, "found"), -keep, -1)
            pipe.expire(_key(search.id, "found"), TTL_S)
        if progress.state in OVER:
            pipe.zrem(ACTIVE, f"{_asker(search)}\n{search.id}")
        try:
            pipe.execute()
        except redis.WatchError:
            raise Overtaken from None


def give_up(search: Search, reason: str) -> None:
    """Its reader has died: it says so unless it had ended by itself."""
    with _redis() as client:
        left = _progress(client, search.id)
        if left.state not in ("running", "queued"):
            return
        left.runs = _fence(client, search.id)
    left.state, left.reason = "interrupted", reason
    with suppress(Overtaken):
        tell(search, left, [], keep=1)
