"""A topic's records in a real browser: searched for, walked through by keyboard, opened and copied, on a phone too."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.support.clients import produce
from tests.support.console_system import ConsoleSystem
from tests.support.pages import overflow, until_known, visit

TOPIC = "seen-in-records"
PATH = f"/topics/{TOPIC}/records"


@pytest.fixture(scope="module", autouse=True)
def written(shared_system: ConsoleSystem) -> Iterator[None]:
    produce(shared_system, TOPIC, [b'{"order": %d, "note": "<b>%d</b>"}' % (n, n) for n in range(30)])
    until_known(shared_system, [PATH])
    yield


def test_records_are_found_walked_through_and_opened(page: Page, system: ConsoleSystem) -> None:
    visit(page, system, PATH)
    rows = page.locator("#found tbody tr")
    expect(rows).to_have_count(30)
    page.get_by_label("Contains").fill('"order": 7,')
    page.get_by_role("button", name="Search", exact=True).click()
    expect(rows).to_have_count(1)
    expect(page.locator("#found")).to_contain_text("nothing was skipped")
    assert "text=" in page.url and "search=" in page.url and "where=" not in page.url, "the address is the search, and no longer than it"
    visit(page, system, PATH)
    expect(rows).to_have_count(30)
    links = page.locator("a[data-record]")
    links.nth(0).focus()
    page.keyboard.press("ArrowDown")
    expect(links.nth(1)).to_be_focused()
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog")
    expect(dialog.locator("#p-value")).to_contain_text("<b>")
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()


def test_who_wrote_each_record_is_a_column(page: Page, system: ConsoleSystem) -> None:
    visit(page, system, PATH)
    page.get_by_text("More filters and formats").click()
    page.get_by_label("who wrote each, and control records").check()
    page.get_by_label("Of transactions").select_option("committed")
    page.get_by_role("button", name="Search", exact=True).click()
    expect(page.get_by_role("columnheader", name="Written by")).to_be_visible()
    expect(page.locator("#found td.by")).to_have_count(30)
    expect(page.locator("#found td.by").first).to_contain_text("roducer")
    expect(page.locator("#found")).to_contain_text("read up to where open transactions begin")
    assert "origin=1" in page.url and "isolation=committed" in page.url


def test_all_that_is_found_is_had_as_a_file(page: Page, system: ConsoleSystem) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    visit(page, system, f"{PATH}?text=order&count=5")
    page.get_by_role("link", name="Export all…").click()
    expect(page.locator("main")).to_contain_text("1 000 000 records")
    page.get_by_role("button", name="Begin").click()
    expect(page.locator("#export")).to_contain_text("30 records found", timeout=60_000)
    assert not overflow(page)
    with page.expect_download() as waited:
        page.get_by_role("link", name="Download").click()
    text = waited.value.path().read_text()
    assert len(text.splitlines()) == 30 and waited.value.suggested_filename == "records.ndjson"


def test_the_page_fits_a_phone_and_says_what_is_wrong(page: Page, system: ConsoleSystem) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    visit(page, system, PATH)
    expect(page.locator("#found tbody tr")).to_have_count(30)
    assert not overflow(page)
