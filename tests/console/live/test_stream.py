"""Server-sent events over a real Redis: snapshot, changes, coming back, limits, sign-out, a listener that does not read."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.test import Client
from msgspec.structs import replace

from broker_core.contract.frames import Beat
from console.live.browser import stream as stream_module
from console.live.browser.hub import hub_of
from console.live.browser.stream import SEATS, STREAMS_OF_ONE_LIMIT, Stream
from console.live.browser.subscription import parse
from console.live.owner.cancelling import end_all
from console.models import ApiToken, Cluster
from console.snapshot import write
from tests.support.sse import EventStream, parsed

pytestmark = pytest.mark.django_db(transaction=True)
PATH = "/api/v1/clusters/local/stream"


@pytest.fixture
async def token(transactional_db: None) -> tuple[ApiToken, str]:
    await sync_to_async(Cluster.objects.create)(pk="local", name="local", bootstrap_servers="x:1", is_local=True)
    return await sync_to_async(ApiToken.issue)("t", "viewer", "test")


@pytest.fixture
async def listen(token: tuple[ApiToken, str], shown: Any) -> AsyncIterator[Any]:
    opened: list[EventStream] = []

    async def start(query: str = "", *headers: tuple[bytes, bytes], status: int = 200) -> EventStream:
        from console.asgi import application

        made = EventStream(application, f"{PATH}?{query}", (b"authorization", f"Bearer {token[1]}".encode()), *headers)
        opened.append(made)
        found, fields = await made.open()
        assert found == status
        assert fields["content-type"].startswith("text/event-stream" if status == 200 else "application/problem+json")
        return made

    yield start
    for made in opened:
        await made.close()
    assert len(SEATS) == 0, "all seats are free again"
    async with asyncio.timeout(60):
        while hub_of("local").listeners:
            await asyncio.sleep(0)


def change(redis: Any, state: Any, number: int) -> int:
    """One value of the cluster changes; the sequence number it has."""
    now_ms = time.time_ns() // 1_000_000
    state.everything(now_ms)
    value = {"broker/1": state.everything(now_ms)["broker/1"]}
    pipe = redis.pipeline(transaction=True)
    write.put(pipe, "local", value)
    pipe.execute()
    return int(redis.get("hw:{local}:seq"))


async def test_a_snapshot_then_changes_with_numbers(listen: Any, redis: Any, shown: Any) -> None:
    live = await listen("brokers=1&topics=orders:0-1")
    _, first, data = await live.next_of("snapshot")
    assert data["values"].keys() >= {"cluster", "broker/1", "broker/2", "topic/orders", "partition/orders/0", "partition/orders/1"}
    await live.next_of("beat")
    number = await sync_to_async(change)(redis, shown, 1)
    _, ident, data = await live.next_of("changes")
    assert (ident, list(data["values"])) == (number, ["broker/1"])
    assert ident > first


async def test_what_is_told_of_a_broker_is_as_old_as_it_is_read(listen: Any, redis: Any, shown: Any) -> None:
    """Nobody has written it anew since."""
    now_ms = time.time_ns() // 1_000_000
    found = shown.everything(now_ms)["broker/1"]
    heard = replace(found, feed=replace(found.feed, state="live", at_ms=now_ms - 5_000, age_ms=0))
    pipe = redis.pipeline(transaction=True)
    write.put(pipe, "local", {"broker/1": heard})
    await sync_to_async(pipe.execute)()
    live = await listen("brokers=1")
    feed = (await live.next_of("snapshot"))[2]["values"]["broker/1"]["feed"]
    assert feed["state"] != "live" and feed["age_ms"] >= 5_000


async def test_who_comes_back_is_told_whether_something_was_missed(listen: Any, redis: Any, shown: Any) -> None:
    seq = int(redis.get("hw:{local}:seq"))
    same = await listen("brokers=1", (b"last-event-id", str(seq).encode()))
    assert await same.next() == ("resumed", seq, {"after": seq, "until": seq})
    number = await sync_to_async(change)(redis, shown, 1)
    assert (await same.next_of("changes"))[1] == number
    late = await listen("brokers=1", (b"last-event-id", str(seq).encode()))
    assert (await late.next())[2] == {"after": seq, "until": number}
    assert (await late.next())[0] == "snapshot"
    odd = await listen("brokers=1", (b"last-event-id", b"not ours"))
    assert [(await odd.next())[0] for _ in range(2)] == ["missed", "snapshot"]


async def test_a_revoked_token_ends_its_streams(listen: Any, token: tuple[ApiToken, str]) -> None:
    live = await listen()
    await live.next_of("beat")
    user = await sync_to_async(User.objects.create)(username="admin", is_superuser=True)
    admin = Client()
    await sync_to_async(admin.force_login)(user)
    assert (await sync_to_async(admin.post)(f"/settings/tokens/{token[0].pk}/revoke", {"confirm": "yes"})).status_code == 303
    assert (await live.next_of("end"))[2] == {"reason": "signed out", "again": False}


async def test_a_token_that_ends_ends_its_streams(redis: Any, shown: Any) -> None:
    events = [parsed(event.decode()) async for event in made(expires_at=time.time() - 1)]
    assert events[-1] == ("end", None, {"reason": "the token has expired", "again": False})


async def test_one_has_so_many_streams(listen: Any) -> None:
    for _ in range(STREAMS_OF_ONE_LIMIT):
        await listen()
    refused = await listen(status=429)
    assert (await refused.body())["code"] == "too-many-requests"


@pytest.mark.parametrize(
    ("query", "status"), [("topics=:", 400), ("jobs=x", 400), ("brokers=true", 400), ("nothing=1", 400), ("groups=" + "a," * 300, 400)]
)
async def test_what_cannot_be_listened_to_is_refused(listen: Any, query: str, status: int) -> None:
    refused = await listen(query, status=status)
    assert (await refused.body())["code"] == "bad-query"


async def test_strangers_hear_nothing_and_people_do(token: Any, shown: Any) -> None:
    from console.asgi import application

    stranger = EventStream(application, PATH)
    assert (await stranger.open())[0] == 401
    await stranger.close()
    user = await sync_to_async(User.objects.create)(username="someone")
    browser = Client()
    await sync_to_async(browser.force_login)(user)
    person = EventStream(application, PATH, (b"cookie", f"sessionid={browser.cookies['sessionid'].value}".encode()))
    assert (await person.open())[0] == 200
    await person.next_of("snapshot")
    await sync_to_async(browser.post)("/logout")
    assert (await person.next_of("end"))[2]["again"] is False
    await person.close()


async def test_a_hang_up_that_is_lost_on_the_way_ends_the_stream_all_the_same(
    redis: Any, shown: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server cancels once, and before Python 3.12 `wait_for` loses it where Redis answers in the same moment."""
    asked = asyncio.Event()

    async def answered_just_then(_: Stream) -> Beat:
        if not asked.is_set():
            asked.set()
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.Event().wait()
        return Beat(0, None, None, None)

    monkeypatch.setattr(Stream, "last_beat", answered_just_then)

    async def serve() -> None:
        async for _ in made():
            pass

    task = asyncio.create_task(serve())
    await asked.wait()
    task.cancel()
    ended, going_on = await asyncio.wait([task], timeout=20)
    await end_all(going_on)
    assert ended and len(SEATS) == 0


def made(**options: Any) -> Stream:
    return Stream("one", parse("cluster=local&brokers=1"), **{"group": "session.x", "expires_at": None, "last_id": None} | options)


async def test_who_reads_late_is_told_that_it_was_dropped(redis: Any, shown: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream_module, "SLOW_S", 0.05)
    events = aiter(made())
    assert (await anext(events)).startswith(b"retry: ")
    loop = asyncio.get_running_loop()
    late = loop.time() + 0.1
    while loop.time() < late:
        await asyncio.sleep(0.01)
    kind, _, data = parsed((await anext(events)).decode()) or ("", None, None)
    assert (kind, data["again"], data["reason"].startswith("dropped: you did not read for")) == ("end", True, True)
    assert [event async for event in events] == []
    assert len(SEATS) == 0


async def test_who_reads_no_more_is_cut_off(redis: Any, shown: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream_module, "STALLED_S", 0.1)

    stream = made()

    async def serve() -> None:
        async for _ in stream:
            await asyncio.Event().wait()

    task = asyncio.create_task(serve())
    async with asyncio.timeout(60):
        with pytest.raises(asyncio.CancelledError):
            await task
    stream.close()
    assert len(SEATS) == 0
    async with asyncio.timeout(60):
        while stream in hub_of("local").listeners:
            await asyncio.sleep(0)


async def test_what_waits_is_one_value_a_key_however_slow_the_listener(redis: Any, shown: Any) -> None:
    stream = made()
    events = aiter(stream)
    while not (await anext(events)).startswith(b"event: snapshot"):
        pass
    for number in range(5000):
        stream.offer(10_000 + number, {"broker/1": stream_module.msgspec.Raw(b"%d" % number)})
    assert len(stream._outbox._values) == 1
    changes = next(found for found in [parsed((await anext(events)).decode()) for _ in range(2)] if found and found[0] == "changes")
    assert changes[2]["values"] == {"broker/1": 4999}
    await events.aclose()  # type: ignore[attr-defined]


async def test_without_redis_it_ends_and_says_so(redis: Any, shown: Any, settings: Any) -> None:
    from console.snapshot.connect import sync_client

    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    sync_client.cache_clear()
    found = [parsed(event.decode()) async for event in made()]
    assert found[-1] == ("end", None, {"reason": "the live snapshot is away", "again": True})
