"""Forms in a dialog over their list: fetched when they are asked for, checked while one types."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from tests.support.console_system import ConsoleSystem
from tests.support.pages import Complaints, visit


def test_a_topic_is_made_in_a_dialog_that_checks_what_is_typed(page: Page, system: ConsoleSystem) -> None:
    visit(page, system, "/topics")
    page.get_by_role("link", name="Create topic").first.click()
    dialog = page.get_by_role("dialog", name="Create topic")
    name = dialog.get_by_label("Name", exact=True)
    expect(name).to_be_focused()
    name.fill("not so")
    expect(dialog.locator("#wrong-new-topic-name")).to_contain_text("letters, digits")
    expect(name).to_have_attribute("aria-invalid", "true")
    name.fill("made.in-a-dialog")
    expect(dialog.get_by_text("Where the replicas go")).to_be_visible()
    expect(dialog.locator("#wrong-new-topic-name")).to_be_hidden()
    expect(name).not_to_have_attribute("aria-invalid", "true")
    dialog.get_by_label("Replicas of each").fill("7")
    expect(dialog.locator("#wrong-new-topic-replication_factor")).to_contain_text("available brokers: 3")
    dialog.get_by_label("Replicas of each").fill("3")  # with fewer, others' dead brokers would leave it under min ISR
    expect(dialog.locator("#wrong-new-topic-replication_factor")).to_be_hidden()
    dialog.get_by_role("button", name="Create topic").click()
    page.wait_for_url(re.compile("/topics$"))
    expect(page.get_by_text("Topic made.in-a-dialog is created.")).to_be_visible()


def test_a_cluster_is_registered_in_a_dialog_and_what_is_wrong_stands_at_its_field(
    page: Page, complaints: Complaints, system: ConsoleSystem
) -> None:
    visit(page, system, "/clusters")
    page.get_by_role("link", name="Register a cluster").click()
    dialog = page.get_by_role("dialog", name="Register a cluster")
    dialog.get_by_label("Id", exact=True).fill("Not So")
    dialog.get_by_label("Name", exact=True).fill("Not so")
    with complaints.excused("422"):
        dialog.get_by_role("button", name="Register").click()
        expect(dialog.locator("p.wrong:visible")).to_have_count(1)
    expect(dialog.get_by_label("Name", exact=True)).to_have_value("Not so")
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
