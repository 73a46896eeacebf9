"""What changes between the server's page and the first live value that reaches it is not missed."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import Consumer
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic
from playwright.sync_api import Page, WebSocketRoute, expect

from tests.support.clients import make, produce
from tests.support.cluster import eventually
from tests.support.console_system import ConsoleSystem
from tests.support.pages import visit
from tests.support.rest import Visitor

TOPIC, GROUP = "missed", "missed-readers"
SETTLE_MS = 1500
"""Longer than a page waits before it is fetched anew."""
CALM = (
    "/",
    "/brokers",
    "/brokers/1",
    "/brokers/1/if-it-stops",
    "/controller",
    "/topics",
    f"/topics/{TOPIC}",
    f"/topics/{TOPIC}/0",
    "/jobs",
    "/heat-map",
)
"""Pages on which nothing changes while nobody does anything."""


@pytest.fixture
def late(page: Page) -> Iterator[Callable[[], None]]:
    """The page hears nothing live until this is called."""
    may_hear = threading.Event()

    def connect(socket: WebSocketRoute) -> None:
        if may_hear.is_set():
            socket.connect_to_server()
        else:
            socket.close()

    page.route_web_socket("**/ws/**", connect)
    yield may_hear.set


def wait_for_page(system: ConsoleSystem, path: str, words: str) -> None:
    visitor = Visitor(system.layout.console_port, system.password)
    eventually(lambda: words in visitor.get(path).body, what=f"{words!r} on {path}")


def test_a_member_that_left_is_on_no_page(page: Page, system: ConsoleSystem, late: Callable[[], None]) -> None:
    produce(system, TOPIC, [b"x"])
    consumer = Consumer({"bootstrap.servers": system.bootstrap_servers, "group.id": GROUP, "client.id": "leaves-early"})
    consumer.subscribe([TOPIC])
    eventually(lambda: consumer.poll(0.2) is None and consumer.assignment(), what="an assignment")
    wait_for_page(system, f"/groups/{GROUP}", "leaves-early")
    page.goto(f"{system.url}/groups/{GROUP}")
    expect(page.get_by_role("rowheader", name="leaves-early")).to_be_visible()
    consumer.close()
    wait_for_page(system, f"/groups/{GROUP}", "No members")
    late()
    expect(page.get_by_text("No members: nobody reads for this group now.")).to_be_visible()


def test_a_partition_that_came_is_in_its_topics_table(page: Page, system: ConsoleSystem, late: Callable[[], None]) -> None:
    admin = AdminClient({"bootstrap.servers": system.bootstrap_servers})
    make(admin, NewTopic("grows-early", 1, 3))
    wait_for_page(system, "/topics/grows-early", "grows-early")
    page.goto(f"{system.url}/topics/grows-early")
    expect(page.locator('[data-key="partition/grows-early/0"]').first).to_be_visible()
    admin.create_partitions([NewPartitions("grows-early", 2)])["grows-early"].result(30)
    wait_for_page(system, "/topics/grows-early", "partition/grows-early/1")
    late()
    expect(page.locator('[data-key="partition/grows-early/1"]').first).to_be_visible()


def test_a_page_that_missed_nothing_is_not_fetched_again(page: Page, system: ConsoleSystem) -> None:
    """Else each page would be made twice."""
    page.add_init_script("addEventListener('stale', () => { window.fetched = true; }, true)")
    produce(system, TOPIC, [b"x"])
    wait_for_page(system, f"/topics/{TOPIC}/0", TOPIC)
    again = []
    for path in CALM:
        visit(page, system, path)
        page.wait_for_timeout(SETTLE_MS)
        again += [path] if page.evaluate("window.fetched") else []
    assert not again
