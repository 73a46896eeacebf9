"""Everything by keyboard: a part of a name leads to its page, / to the search of a page, ? to the keys."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from tests.support.axe import violations
from tests.support.clients import produce
from tests.support.console_system import ConsoleSystem
from tests.support.pages import until_known, visit

TOPIC = "found-by-letters"


def test_a_few_letters_lead_to_a_topic(page: Page, system: ConsoleSystem) -> None:
    produce(system, TOPIC, [b"x"])
    until_known(system, [f"/topics/{TOPIC}"])
    visit(page, system, "/brokers")
    page.locator("#to-find").focus()
    page.keyboard.press("Control+k")
    box = page.get_by_role("dialog", name="Find anything")
    field = box.get_by_role("combobox")
    expect(field).to_be_focused()
    expect(box.get_by_role("option", name="page Overview")).to_have_attribute("aria-selected", "true")
    page.keyboard.press("ArrowDown")
    expect(field).to_have_attribute("aria-activedescendant", "offer-2")
    assert not violations(page)
    page.keyboard.type("BY-LETT")
    expect(box.get_by_role("option")).to_have_count(1)
    expect(box.get_by_role("option", name=f"topic {TOPIC}")).to_have_attribute("aria-selected", "true")
    page.keyboard.press("Enter")
    expect(page).to_have_url(f"{system.url}/topics/{TOPIC}")
    page.keyboard.press("Control+k")
    page.keyboard.press("Escape")
    expect(box).to_be_hidden()


def test_single_letters_work_until_they_are_switched_off(page: Page, system: ConsoleSystem) -> None:
    visit(page, system, "/topics")
    page.keyboard.press("/")
    search = page.get_by_label("Name contains")
    expect(search).to_be_focused()
    page.keyboard.type("?/")
    expect(search).to_have_value("?/")
    search.blur()
    page.keyboard.press("?")
    keys = page.get_by_role("dialog", name="Keys")
    expect(keys).to_be_visible()
    assert not violations(page)
    keys.get_by_role("checkbox").uncheck()
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    page.keyboard.press("/")
    expect(keys).to_be_hidden()
    expect(search).not_to_be_focused()
    page.goto(f"{system.url}/topics?clear=1")
