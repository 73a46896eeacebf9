"""Transactions as a person meets them: one that hangs is found, and aborted by its partition's name."""

from __future__ import annotations

import time

import pytest
from confluent_kafka.admin import AdminClient, NewTopic
from playwright.sync_api import Page, expect

from tests.support.axe import violations
from tests.support.clients import make
from tests.support.console_system import ConsoleSystem
from tests.support.open_transactions import begun, leave_hanging, verify
from tests.support.pages import overflow, until_known, visit

TOPIC, HOUR_MS = "hangs-here", 3_600_000


@pytest.fixture(scope="module", autouse=True)
def hung(shared_system: ConsoleSystem) -> None:
    """A committed record, and behind it a transaction that no coordinator has."""
    servers = shared_system.bootstrap_servers
    make(AdminClient({"bootstrap.servers": servers}), NewTopic(TOPIC, 1, 3))
    begun(servers, TOPIC, TOPIC, [b"committed"]).commit_transaction(60)
    verify(servers, partitions=False)
    leave_hanging(servers, TOPIC, 0, 987_654, round(time.time() * 1000) - HOUR_MS)
    verify(servers, partitions=True)
    until_known(shared_system, [f"/topics/{TOPIC}/0"])


@pytest.mark.parametrize("width", [1440, 390])
def test_what_hangs_is_found_and_aborted(width: int, page: Page, system: ConsoleSystem) -> None:
    """On a wide window it is found; on a phone the same way ends it."""
    page.set_viewport_size({"width": width, "height": 844})
    visit(page, system, f"/topics/{TOPIC}/0")
    expect(page.locator('.figure:has([data-as="held"]) dd')).to_have_text("1 offset")
    visit(page, system, "/transactions")
    page.get_by_role("link", name="Find hanging ones").click()
    page.get_by_label("Topic", exact=True).fill(TOPIC)
    page.get_by_role("button", name="Search").click()
    expect(page.locator('.verdict[data-level="bad"]')).to_contain_text("1 transaction hangs in the 1 partition")
    assert not overflow(page) and violations(page) == []
    page.get_by_role("link", name="Abort…").click()
    expect(page.locator(".panel")).to_contain_text("No coordinator knows of it: nothing else will end it.")
    assert not overflow(page) and violations(page) == []
    button, name = page.get_by_role("button", name="Abort the transaction"), page.get_by_label("to confirm")
    expect(button).to_be_disabled()
    name.fill(f"{TOPIC}-1")
    expect(button).to_be_disabled()
    if width == 1440:
        return
    name.fill(f"{TOPIC}-0")
    button.click()
    expect(page.locator(".note.ok")).to_contain_text(f"The transaction is aborted in {TOPIC}-0. Nothing holds readers back there now.")
    expect(page.locator('.verdict[data-level="ok"]')).to_contain_text("read up to the high watermark")
    assert not overflow(page) and violations(page) == []
