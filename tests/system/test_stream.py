"""Server-sent events of the running system, through its real server."""

from __future__ import annotations

import http.client
from collections.abc import Iterator
from contextlib import ExitStack, closing

import pytest

from tests.support.clients import produce
from tests.support.cluster import eventually
from tests.support.console_system import ConsoleSystem
from tests.support.rest import LOCAL, TIMEOUT_S, Rest
from tests.support.sse import Event, heard
from tests.system.conftest import MakeTopic, make_token

MOST = 10


@pytest.fixture(scope="module")
def token(system: ConsoleSystem, rest: Rest) -> str:
    return make_token(system, "listener", "viewer")


class Listening:
    """One stream; `close` hangs up."""

    def __init__(self, system: ConsoleSystem, token: str, query: str = "", **headers: str) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", system.layout.console_port, timeout=TIMEOUT_S)
        asked = {"Authorization": f"Bearer {token}", **{name.replace("_", "-"): value for name, value in headers.items()}}
        self._connection.request("GET", f"{LOCAL}/stream?{query}", headers=asked)
        self.answer = self._connection.getresponse()

    def events(self) -> Iterator[Event]:
        return heard(self.answer)

    def close(self) -> None:
        self.answer.close()
        self._connection.close()


def test_a_stream_shows_records_as_they_come_and_is_resumed(system: ConsoleSystem, rest: Rest, token: str, make_topic: MakeTopic) -> None:
    topic = make_topic("streamed", [[1, 2, 3]])
    eventually(lambda: [row["high_watermark"] for row in rest.partitions(topic)] == [0], what=f"the high watermark of {topic} is told")
    key = f"partition/{topic}/0"
    with closing(Listening(system, token, f"topics={topic}:0-0")) as live:
        assert (live.answer.status, live.answer.headers["Content-Type"]) == (200, "text/event-stream; charset=utf-8")
        events = live.events()
        _, last, data = next(event for event in events if event[0] == "snapshot")
        assert data["values"][key]["high_watermark"] == 0
        assert any(event[0] == "beat" for event in events)
        produce(system, topic, [b"x"] * 7)
        for kind, ident, data in events:
            if kind == "changes" and key in data["values"] and data["values"][key]["high_watermark"] == 7:
                assert ident is not None and last is not None and ident > last
                break
    with closing(Listening(system, token, f"topics={topic}:0-0", Last_Event_ID=str(last))) as again:
        events = again.events()
        assert [next(events)[0] for _ in range(2)] == ["missed", "snapshot"]


def test_seats_are_limited_and_free_again_when_who_listened_hangs_up(system: ConsoleSystem, rest: Rest) -> None:
    token = make_token(system, "many listeners", "viewer")
    with ExitStack() as opened:
        for _ in range(MOST):
            live = opened.enter_context(closing(Listening(system, token)))
            assert live.answer.status == 200
        with closing(Listening(system, token)) as refused:
            assert (refused.answer.status, refused.answer.headers["Content-Type"]) == (429, "application/problem+json")

    def has_seat() -> bool:
        with closing(Listening(system, token)) as live:
            return live.answer.status == 200

    eventually(has_seat, 60, "a free seat")
