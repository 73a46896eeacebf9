"""A broker's page, live: its replicas' log ends move with what is written, and its settings are set from it."""

from __future__ import annotations

import re

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from playwright.sync_api import Page, expect

from tests.support.clients import make
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
    slots = page.get_by_role("row").filter(has=page.get_by_role("rowheader", name="400", exact=False)).locator('[data-label="slots"]')
    expect(slots).to_have_text(re.compile(r"^\S+( \S+){19}$"))
    page.get_by_role("link", name="What if it stops?").click()
    expect(page.get_by_role("group", name="What would be")).to_contain_text("Nothing would be lost or refused")


def test_a_setting_is_set_from_it(page: Page, system: ConsoleSystem) -> None:
    """The form finds it as one types, shows the difference, saves, and puts it back."""
    visit(page, system, "/brokers/3")
    page.get_by_role("link", name="All, and change…").click()
    page.get_by_label("Search settings").fill("replica.fetchers")
    expect(page.get_by_label("default.replication.factor")).to_be_hidden()
    page.get_by_label("num.replica.fetchers").fill("2")
    page.get_by_label("Search settings").fill("replica.lag")
    page.get_by_label("replica.lag.time.max.ms").fill("40 s")
    expect(page.get_by_text("2 changed.")).to_be_visible()
    page.get_by_role("button", name="Save…").click()
    rows = page.locator(".difference tbody tr")
    expect(rows).to_have_count(2)
    expect(rows.filter(has_text="num.replica.fetchers").locator("ins")).to_have_text("2")
    expect(rows.filter(has_text="replica.lag.time.max.ms").locator("ins")).to_contain_text("= 40\u202fs")
    page.get_by_role("button", name="Save 2 changes").click()
    expect(page.get_by_text("2 settings of broker 3 saved")).to_be_visible()
    expect(page.locator("#g-own")).to_be_visible()
    page.get_by_role("button", name="Put back").first.click()
    expect(page.locator(".difference .tag")).to_have_count(2)
    page.get_by_role("button", name="Save 2 changes").click()
    expect(page.get_by_text("2 settings of broker 3 saved")).to_be_visible()
    expect(page.locator("#g-own")).to_have_count(0)
