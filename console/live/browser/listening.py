"""What the websocket and the server-sent events have in common: what the hub tells a listener, and the frames made of it."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
from msgspec.structs import replace

from broker_core.contract.frames import Beat, Changes, Snapshot, Values
from broker_core.contract.live import Broker, Cluster
from broker_core.contract.partitions import Partition
from broker_core.contract.sentences import KeptEvent
from console.clock import now_ms
from console.live.browser.outbox import Outbox
from console.live.browser.subscription import Subscription, key_of
from console.snapshot import keys
from console.snapshot.connect import async_client
from console.snapshot.encoding import decode
from console.snapshot.freshness import STALE_MS, read_age, read_cluster
from console.snapshot.kinds import KINDS, kind_of
from console.snapshot.read import aged

EVENTS_SHOWN = 20


class Listening:
    """Mixed into a listener of the hub, which sets the outbox once it is known what is wanted; `_wake`: there may be something to send."""

    _outbox: Outbox

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._wake = asyncio.Event()
        self._beat: tuple[int, int, int] | None = None

    # --- the hub's side: never waits

    def offer(self, seq: int, values: Values) -> None:
        if self._outbox.offer(seq, values):
            self._wake.set()

    def start_over(self) -> None:
        self._outbox.start_over()
        self._wake.set()

    def beat(self, live_ms: int, oldest_ms: int, due_ms: int) -> None:
        self._beat = live_ms, oldest_ms, due_ms

    # --- what is sent

    async def snapshot(self) -> Snapshot:
        """All that is wanted; afterwards what came meanwhile is to be looked at."""
        asked_in_round = self._outbox.round
        seq, values = await _read(self._outbox.wanted)
        self._outbox.snapshot_taken(seq, asked_in_round)
        self._wake.set()
        return Snapshot(seq, now_ms(), values)

    def changes(self) -> Changes | None:
        """Those that wait, if any."""
        seq, values = self._outbox.take()
        return Changes(seq, now_ms(), values) if values else None

    async def last_beat(self) -> Beat:
        if self._beat is None:
            self._beat = await _stored_beat(self._outbox.wanted.cluster)
        return Beat(now_ms(), *(self._beat or (None, None, None)))


async def _read(wanted: Subscription) -> tuple[int, Values]:
    """The sequence number and all values wanted, as they were at one moment; ages are counted to now, as pages and REST do."""
    asked = wanted.reads()
    client = async_client()
    try:
        pipe = client.pipeline(transaction=True)
        pipe.mget([keys.named(wanted.cluster, name) for name in ("seq", "beat")])
        pipe.lrange(keys.named(wanted.cluster, "events"), 0, EVENTS_SHOWN - 1)
        for _, name, fields in asked:
            pipe.hgetall(name) if fields is None else pipe.hmget(name, fields)
        (seq, beat), events, *answers = await pipe.execute()
    finally:
        await client.aclose()
    beat_ms = int(beat) if beat else None
    values: Values = {}
    for (kind, _, fields), answer in zip(asked, answers, strict=True):
        found = answer.items() if fields is None else zip(fields, answer, strict=True)
        values |= {key_of(kind, field): read for field, text in found if (read := _as_now(kind, text, beat_ms)) is not None}
    if wanted.events:
        values |= {keys.event(event.id): _raw(event) for text in events if (event := decode(text, KeptEvent))}
    return int(seq or 0), values


def _as_now(kind: str, text: str | None, beat_ms: int | None) -> msgspec.Raw | None:
    """A value as it is read now; None of what is gone."""
    value = decode(text, KINDS[kind_of(kind)])
    if isinstance(value, Partition):
        value = aged(value, now_ms())
    elif isinstance(value, Broker):
        value = replace(value, feed=read_age(value.feed, now_ms()))
    elif isinstance(value, Cluster):
        value = read_cluster(value, beat_ms, now_ms())
    return None if value is None else _raw(value)


def _raw(value: object) -> msgspec.Raw:
    return msgspec.Raw(msgspec.json.encode(value))


async def _stored_beat(cluster_id: str) -> tuple[int, int, int] | None:
    client = async_client()
    try:
        live, oldest, due = await client.mget([keys.named(cluster_id, name) for name in ("beat", "oldest", "due")])
        oldest_ms = int(oldest or live or 0)
        return (int(live), oldest_ms, int(due) if due else oldest_ms + STALE_MS) if live else None
    finally:
        await client.aclose()
