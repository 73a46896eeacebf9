"""A broker's page, live: its replicas' log ends move with what is written, and its settings are set from it."""

from __future__ import annotations

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from playwright.sync_api import Page, expect

from tests.support.clients import make
from tests.support.cluster import eventually
from tests.support.console_system import ConsoleSystem
from tests.support.pages import until_known, visit

pytestmark = pytest.mark.spec("O1")
TOPIC = "on-a-broker"


def write(system: ConsoleSystem, records: int) -> None:
    producer = Producer({"bootstrap.servers": system.bootstrap_servers, "enable.idempotence": True})
    for _ in range(records):
        producer.produce(TOPIC, b"x", partition=0)
    assert producer.flush(60) == 0


def test_its_replicas_move_with_what_is_written(page: Page, system: ConsoleSystem) -> None:
    make(AdminClient({"bootstrap.servers": system.bootstrap_servers}), NewTopic(TOPIC, 1, 3))
    write(system, 3)
    until_known(system, [f"/topics/{TOPIC}"])
    visit(page, system, f"/brokers/2?q={TOPIC}")
    row = page.locator(f'tr[data-key="partition/{TOPIC}/0"]')
    expect(row.locator('[data-field="end"]')).to_have_text("3")
    write(system, 4)
    expect(row.locator('[data-field="end"]')).to_have_text("7")
    expect(row.locator('[data-field="behind"]')).to_have_text("0")
    page.get_by_role("link", name="What if it stops?").click()
    expect(page.get_by_role("group", name="What would be")).to_contain_text("Nothing would be lost or refused")


def test_a_setting_is_set_from_it(page: Page, system: ConsoleSystem) -> None:
    visit(page, system, "/brokers/3")
    page.locator("summary", has_text="settings").click()
    page.get_by_label("num.replica.fetchers", exact=True).fill("2")
    page.get_by_role("button", name="Set num.replica.fetchers").click()
    expect(page.locator("main, body").first).to_contain_text("num.replica.fetchers of broker 3 is 1 now; it will be 2.")
    page.get_by_role("button", name="Set it").click()
    expect(page.get_by_text("num.replica.fetchers of broker 3 is 2.")).to_be_visible()
    eventually(lambda: page.reload() and "this broker" in page.locator(".setting").first.inner_text(), what="the broker tells it")
    page.get_by_label("num.replica.fetchers", exact=True).fill("")
    page.get_by_role("button", name="Set num.replica.fetchers").click()
    page.get_by_role("button", name="Set it").click()
    expect(page.get_by_text("has no num.replica.fetchers of its own any more")).to_be_visible()
