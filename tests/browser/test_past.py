"""Looking back: from a page to its past, along the slider, and back to now."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from tests.support.cluster import eventually
from tests.support.console_system import ConsoleSystem


def test_a_page_is_looked_at_as_it_was(page: Page, system: ConsoleSystem) -> None:
    def has_a_past() -> bool:
        page.goto(f"{system.url}/brokers")
        return page.locator("#look-back").count() == 1

    eventually(has_a_past, what="the recorder has something")
    page.locator("#look-back").click()
    expect(page.get_by_role("region", name="The past")).to_contain_text(re.compile(r"As it was at \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC"))
    expect(page.get_by_role("button", name=re.compile("Kill"))).to_have_count(0)
    expect(page.locator(".feed")).to_have_attribute("data-state", "past")
    slider = page.get_by_role("slider", name="Moment")
    first = slider.get_attribute("min")
    slider.focus()
    page.keyboard.press("Home")
    page.wait_for_url(re.compile(rf"/at/{first}/brokers$"))
    page.get_by_role("link", name="Topics", exact=True).first.click()
    page.wait_for_url(re.compile(rf"/at/{first}/topics$"))
    page.get_by_role("link", name="What changed since").click()
    expect(page.get_by_role("heading", name="What changed")).to_be_visible()
    expect(page.locator("#h-changes")).to_be_visible()
