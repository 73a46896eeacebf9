"""`/ws/v1/live` over a real Redis: snapshot, changes, gaps, sign-in, Origin, a browser that stops reading."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.test import Client

from console.live.browser import consumer as consumer_module
from console.live.merging.replica_log import ReplicaLog
from console.live.owner.predecessor import predecessor
from console.models import ApiToken
from console.snapshot import keys, write
from console.snapshot.connect import async_client
from tests.support.console_fixtures import publish
from tests.support.console_world import BROKERS
from tests.support.feed_rows import batch, claim
from tests.support.websocket import WebSocket

pytestmark = pytest.mark.django_db(transaction=True)
ORIGIN = (b"origin", b"http://127.0.0.1:8000")


@pytest.fixture
async def token() -> str:
    return (await sync_to_async(ApiToken.issue)("t", "viewer", "test"))[1]


def socket(query: str, *headers: tuple[bytes, bytes], origin: tuple[bytes, bytes] = ORIGIN) -> WebSocket:
    from console.asgi import application

    return WebSocket(application, f"/ws/v1/live?{query}", headers=[origin, *headers])


@pytest.fixture
async def connect(token: str) -> AsyncIterator[Any]:
    opened: list[WebSocket] = []

    async def open_socket(query: str) -> WebSocket:
        made = socket(query, (b"authorization", f"Bearer {token}".encode()))
        opened.append(made)
        assert (await made.connect(60))[0]
        return made

    yield open_socket
    for made in opened:
        await made.disconnect()


async def next_of(socket: WebSocket, kind: str) -> dict[str, Any]:
    async with asyncio.timeout(60):
        while True:
            message: dict[str, Any] = await socket.receive_json_from(60)
            if message["type"] == kind:
                return message


async def test_a_page_gets_its_snapshot_then_changes(shown: Any, redis: Any, connect: Any) -> None:
    live = await connect("topics=orders:0-1&groups=billing")
    first = await next_of(live, "snapshot")
    assert set(first["values"]) == {
        "cluster",
        "topic/orders",
        "partition/orders/0",
        "partition/orders/1",
        "group/billing",
        "lag/billing/orders/0",
    }
    shown.apply_batch(batch(1, [claim("orders", 0, 1, [1, 2, 3], leader=1, isr=[1, 2, 3], end=150)], 5000), 5000)
    values, _ = shown.take(5000)
    pipe = redis.pipeline(transaction=True)
    write.put(pipe, "local", values)
    pipe.execute()
    change = await next_of(live, "changes")
    assert change["seq"] == first["seq"] + 1
    assert change["values"]["partition/orders/0"]["log_end_offset"] == 150
    assert "broker/1" not in change["values"]


async def test_it_beats_with_the_feeds_time(shown: Any, redis: Any, connect: Any) -> None:
    redis.mset({keys.named("local", "beat"): 9_000, keys.named("local", "oldest"): 8_000})
    live = await connect("brokers=1")
    beat = await next_of(live, "beat")
    assert (beat["live_ms"], beat["oldest_ms"]) == (9_000, 8_000)


async def test_a_gap_makes_it_read_the_snapshot_again(shown: Any, redis: Any, connect: Any) -> None:
    live = await connect("brokers=1")
    first = await next_of(live, "snapshot")
    pipe = redis.pipeline(transaction=True)
    write.put(pipe, "local", {})
    pipe.execute()
    redis.incr(keys.named("local", "seq"))
    publish(redis, shown, time.time_ns() // 1_000_000)
    again = await next_of(live, "snapshot")
    assert again["seq"] == first["seq"] + 3
    assert "broker/3" in again["values"]


async def test_what_is_announced_and_cannot_be_read_makes_it_start_over(shown: Any, redis: Any, connect: Any) -> None:
    live = await connect("brokers=1")
    first = await next_of(live, "snapshot")
    redis.publish(keys.named("local", "changes"), f'{first["seq"] + 1} {{"values":')
    assert (await next_of(live, "snapshot"))["values"].keys() == first["values"].keys()


async def test_a_new_owner_makes_it_start_over(shown: Any, redis: Any, connect: Any) -> None:
    live = await connect("brokers=1")
    await next_of(live, "snapshot")
    pipe = redis.pipeline(transaction=True)
    pipe.delete(keys.named("local", "brokers"))
    write.announce_reset(pipe, "local")
    pipe.execute()
    assert set((await next_of(live, "snapshot"))["values"]) == {"cluster"}


async def test_a_new_owner_recalls_what_was_known(shown: Any, redis: Any) -> None:
    """What was current then was so until the last beat; what was old then stays as old."""
    shown.feeds.heard_ms[2] = 5_000
    shown.set_brokers({b: BROKERS[b] for b in (1, 3)}, 6_000)
    shown.take(7_000)
    publish(redis, shown, 9_000, 0)
    client = async_client()
    try:
        found = await predecessor(client, "local")
    finally:
        await client.aclose()
    assert found["orders"] == ("id", {p: {b: ReplicaLog(100, 90, 5_000 if b == 2 else 9_000) for b in (1, 2, 3)} for p in range(3)})
    assert found.keys() == {"orders", "clicks"}


async def test_nothing_is_recalled_of_an_empty_redis(redis: Any) -> None:
    client = async_client()
    try:
        assert await predecessor(client, "local") == {}
    finally:
        await client.aclose()


async def test_a_page_may_change_its_mind(shown: Any, connect: Any) -> None:
    live = await connect("brokers=1")
    await next_of(live, "snapshot")
    await live.send_json_to({"subscribe": "topic_rows=clicks"})
    assert set((await next_of(live, "snapshot"))["values"]) == {"cluster", "topic/clicks"}


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"subscribe": 3}', '{"subscribe": "jobs=x"}', '{"subscribe": "cluster=other"}', "x" * 50_000, "[" * 39_000]
)
async def test_nonsense_from_a_browser_ends_its_socket(shown: Any, connect: Any, text: str) -> None:
    """By one close frame, however much of it comes before the browser has answered that."""
    live = await connect("")
    await live.send_to(text)
    await live.send_to(text)
    while (message := await live.receive_output(60))["type"] != "websocket.close":
        pass
    assert message["code"] == 4400
    await live.disconnect()
    assert await live.receive_nothing()
    assert not consumer_module.LiveConsumer.open_sockets


async def test_a_refused_socket_is_not_listened_to(redis: Any) -> None:
    stranger = socket("")
    assert await closing_code(stranger) == 4401
    await stranger.send_json_to({"subscribe": "brokers=1"})
    await stranger.disconnect()
    assert await stranger.receive_nothing()


async def test_nothing_stays_of_a_socket_that_an_error_of_ours_ends(
    shown: Any, redis: Any, token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    live = socket("brokers=1", (b"authorization", f"Bearer {token}".encode()))
    assert (await live.connect(60))[0]
    await next_of(live, "snapshot")
    monkeypatch.setattr(consumer_module, "parse", lambda _query: 1 / 0)
    await live.send_json_to({"subscribe": "events=1"})
    with pytest.raises(ZeroDivisionError):
        await live.wait(60)
    assert not consumer_module.LiveConsumer.open_sockets
    assert not consumer_module.hub_of("local").listeners


async def closing_code(made: WebSocket) -> int:
    assert (await made.connect(60))[0]
    while (message := await made.receive_output(60))["type"] != "websocket.close":
        pass
    return int(message["code"])


async def test_who_is_not_signed_in_is_sent_away(redis: Any) -> None:
    assert await closing_code(socket("")) == 4401
    assert await closing_code(socket("", (b"authorization", b"Bearer wrong"))) == 4401


async def test_a_wrong_query_is_refused(redis: Any, token: str) -> None:
    assert await closing_code(socket("jobs=x", (b"authorization", f"Bearer {token}".encode()))) == 4400


async def test_another_sites_page_is_refused(redis: Any, token: str) -> None:
    evil = socket("", (b"authorization", f"Bearer {token}".encode()), origin=(b"origin", b"http://evil.example"))
    assert (await evil.connect(60))[0] is False


async def test_too_many_sockets_are_refused(redis: Any, token: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(consumer_module, "SOCKETS_LIMIT", 0)
    assert await closing_code(socket("", (b"authorization", f"Bearer {token}".encode()))) == 4429


async def test_signing_out_ends_the_socket(shown: Any, redis: Any) -> None:
    browser = Client()
    await sync_to_async(lambda: browser.force_login(User.objects.create(username="u")))()
    cookie = browser.cookies["sessionid"].value
    live = socket("", (b"cookie", f"sessionid={cookie}".encode()))
    assert (await live.connect(60))[0]
    await next_of(live, "snapshot")
    await sync_to_async(browser.post)("/logout")
    while (message := await live.receive_output(60))["type"] != "websocket.close":
        pass
    assert message["code"] == 4401


async def test_a_socket_does_not_go_on_beating_when_its_changes_have_failed(
    shown: Any, connect: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page would call itself live and stand still; so it comes back by itself."""
    monkeypatch.setattr("console.live.browser.listening.aged", lambda *_: 1 / 0)
    live = await connect("topics=orders:0-1")
    async with asyncio.timeout(60):
        while (message := await live.receive_output(60))["type"] != "websocket.close":
            pass
    assert message["code"] == 1011


async def test_revoking_a_token_ends_its_sockets(local: Any, shown: Any, redis: Any, connect: Any) -> None:
    live = await connect("brokers=1")
    await next_of(live, "snapshot")
    admin = Client()
    await sync_to_async(lambda: admin.force_login(User.objects.create_superuser("root")))()
    row = await sync_to_async(ApiToken.objects.get)()
    assert (await sync_to_async(admin.post)(f"/settings/tokens/{row.pk}/revoke", {"confirm": "yes"})).status_code == 303
    while (message := await live.receive_output(60))["type"] != "websocket.close":
        pass
    assert message["code"] == 4401


async def test_a_socket_ends_with_its_token(shown: Any, redis: Any) -> None:
    """Also one that was opened before."""
    token = (await sync_to_async(ApiToken.issue)("t", "viewer", "test", timedelta(seconds=1)))[1]
    live = socket("brokers=1", (b"authorization", f"Bearer {token}".encode()))
    await live.connect(60)
    async with asyncio.timeout(60):
        while (message := await live.receive_output(60))["type"] != "websocket.close":
            pass
    assert message["code"] == 4401
    await live.disconnect()


async def test_a_browser_that_stops_reading_is_cut_off(shown: Any, redis: Any, connect: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its backlog stays one value per key; past the limit the socket ends."""
    monkeypatch.setattr(consumer_module, "SEND_TIMEOUT_S", 0.05)
    stuck = asyncio.Event()
    sent = consumer_module.LiveConsumer.send

    async def slow(self: Any, *args: Any, **kwargs: Any) -> None:
        await stuck.wait()
        await sent(self, *args, **kwargs)

    monkeypatch.setattr(consumer_module.LiveConsumer, "send", slow)
    live = await connect("brokers=1")
    while (message := await live.receive_output(60))["type"] != "websocket.close":
        pass
    assert message["code"] == 1013


async def test_a_snapshot_that_nobody_writes_is_not_told_as_if_it_were_true_now(shown: Any, redis: Any, connect: Any) -> None:
    """A page that connects, or comes back, while the owner is dead gets what pages and REST say of it."""
    fresh = (await next_of(await connect("brokers=1"), "snapshot"))["values"]["cluster"]
    assert (fresh["verdict"]["level"], fresh["verdict"]["last_known_ms"]) == ("ok", None)
    redis.set(keys.named("local", "beat"), 9_000)
    old = (await next_of(await connect("brokers=1"), "snapshot"))["values"]["cluster"]
    assert (old["feed"]["state"], old["verdict"]["level"], old["verdict"]["last_known_ms"]) == ("lost", "unknown", 9_000)
    assert old["verdict"]["text"].endswith(f"last known at 00:00:09: {fresh['verdict']['text']}")
