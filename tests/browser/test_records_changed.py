"""Records copied and deleted with the mouse, after a look at what would be."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from confluent_kafka.admin import AdminClient, NewTopic
from playwright.sync_api import Page, expect

from tests.support.clients import make, produce
from tests.support.console_system import ConsoleSystem
from tests.support.pages import overflow, until_known, visit

SOURCE, TARGET = "changed-by-mouse", "copied-by-mouse"
JOB_MS = 120_000


@pytest.fixture(scope="module", autouse=True)
def written(shared_system: ConsoleSystem) -> Iterator[None]:
    admin = AdminClient({"bootstrap.servers": shared_system.bootstrap_servers})
    for name in (SOURCE, TARGET):
        make(admin, NewTopic(name, 1, 3))
    produce(shared_system, SOURCE, [b"value %d" % n for n in range(20)])
    until_known(shared_system, [f"/topics/{SOURCE}/records", f"/topics/{TARGET}/records"])
    yield


def test_a_range_is_copied_after_a_preview(page: Page, system: ConsoleSystem) -> None:
    visit(page, system, f"/topics/{SOURCE}/records")
    page.get_by_role("link", name="Copy…").click()
    page.get_by_label("To the topic").fill(TARGET)
    page.get_by_label("From the offset").fill("5")
    page.get_by_label("Up to the offset").fill("9")
    page.get_by_role("button", name="Preview").click()
    row = page.locator("#plan tbody tr")
    expect(row).to_have_count(1)
    assert row.locator("td").all_inner_texts() == ["5", "9", "4"]
    page.get_by_role("button", name=f"Copy to {TARGET}").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("record copy")
    expect(page.locator('[data-field="state"]').first).to_have_text("succeeded", timeout=JOB_MS)
    visit(page, system, f"/topics/{TARGET}/records?start=oldest")
    expect(page.locator("#found tbody tr")).to_have_count(4)
    assert [text.strip() for text in page.locator("#found td.value").all_inner_texts()] == [f"value {n}" for n in range(5, 9)]


def test_records_are_deleted_once_their_topic_is_typed(page: Page, system: ConsoleSystem) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    visit(page, system, f"/topics/{SOURCE}/records/delete")
    page.get_by_label("The offset").fill("12")
    page.get_by_role("button", name="Preview").click()
    row = page.locator("#plan tbody tr").first
    assert row.locator("td").all_inner_texts()[:4] == ["0", "12", "20", "12"]
    assert not overflow(page)
    delete = page.get_by_role("button", name="Delete records")
    expect(delete).to_be_disabled()
    page.get_by_label("to confirm").fill("another")
    expect(delete).to_be_disabled()
    page.get_by_label("to confirm").fill(SOURCE)
    delete.click()
    expect(page.get_by_role("heading", level=1)).to_contain_text(SOURCE)
    visit(page, system, f"/topics/{SOURCE}/records?start=oldest")
    rows = page.locator("#found tbody tr")
    expect(rows).to_have_count(8)
    expect(rows.first).to_contain_text("value 12")
