"""The tour: offered once, five steps over the pages, by keyboard too; its controls are there for each role."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from confluent_kafka.admin import AdminClient, NewTopic
from playwright.sync_api import Browser, Page, ViewportSize, expect

from console.rules.tour import steps
from tests.support.clients import make
from tests.support.console_system import ConsoleSystem
from tests.support.pages import WAIT_MS, Complaints, overflow, sign_in, tab_to, until_known, visit

PAGES = ["/topics", "/brokers", "/", "/jobs", "/analytics"]
TITLES = [step.title for step in steps(may_operate=True, may_kill=True)]
SIZES: list[ViewportSize] = [{"width": 1440, "height": 900}, {"width": 390, "height": 844}]


@pytest.fixture(scope="module", autouse=True)
def topic(shared_system: ConsoleSystem) -> None:
    make(AdminClient({"bootstrap.servers": shared_system.bootstrap_servers}), NewTopic("toured", 1, 3))
    until_known(shared_system, ["/topics/toured"])


@pytest.fixture(params=SIZES, ids=["wide", "phone"])
def newcomer(browser: Browser, shared_system: ConsoleSystem, request: pytest.FixtureRequest) -> Iterator[Page]:
    """A browser that has never been here, on the overview."""
    context = browser.new_context(viewport=request.param, reduced_motion="reduce")
    context.set_default_timeout(WAIT_MS)
    page = context.new_page()
    heard = Complaints(page)
    sign_in(page, shared_system)
    yield page
    context.close()
    assert not heard.heard, heard.heard


def test_five_steps_point_at_real_controls_by_keyboard(newcomer: Page, shared_system: ConsoleSystem) -> None:
    page, card = newcomer, newcomer.locator("#tour")
    expect(card).to_be_hidden()
    tab_to(page, page.get_by_role("region", name="Tour").get_by_role("button", name="Start the tour"))
    page.keyboard.press("Enter")
    for number, (title, path) in enumerate(zip(TITLES, PAGES, strict=True)):
        expect(page.get_by_role("region", name=title)).to_be_focused()
        assert urlsplit(page.url).path == path
        expect(card).to_contain_text(f"{number + 1} of 5")
        expect(page.locator(".tour-target")).to_have_count(1)
        expect(page.locator(".tour-target")).to_be_in_viewport()
        assert not overflow(page)
        tab_to(page, card.get_by_role("button", name="Done" if number == 4 else "Next"))
        page.keyboard.press("Enter")
    expect(card).to_be_hidden()
    expect(page.locator(".tour-target")).to_have_count(0)
    visit(page, shared_system, "/")
    expect(page.locator("[data-tour-invite]")).to_be_hidden()


def test_it_goes_on_where_it_was_and_can_be_skipped_and_taken_again(newcomer: Page, shared_system: ConsoleSystem) -> None:
    page, card = newcomer, newcomer.locator("#tour")
    page.get_by_role("button", name="Start the tour").click()
    expect(card).to_contain_text(TITLES[0])
    visit(page, shared_system, "/settings")
    expect(card).to_contain_text(TITLES[0])
    expect(card).not_to_be_focused()
    card.get_by_role("link", name="Show it on Topics").click()
    expect(page.locator(".tour-target")).to_have_id(re.compile("^row-"))
    page.locator(".tour-target").click()
    expect(page.locator(".tour-target")).to_have_attribute("aria-label", "Replicas of partition 0")
    card.get_by_role("button", name="Next").click()
    expect(card).to_contain_text(TITLES[1])
    expect(page.locator(".tour-target")).to_have_text("Kill…")
    card.focus()
    page.keyboard.press("Escape")
    expect(card).to_be_hidden()
    visit(page, shared_system, "/")
    expect(page.locator("[data-tour-invite]")).to_be_hidden()
    if page.get_by_role("button", name="More").is_visible():
        page.get_by_role("button", name="More").click()
    page.get_by_role("button", name="Take the tour").click()
    expect(card).to_contain_text(TITLES[0])


def test_who_declines_is_not_asked_again(newcomer: Page) -> None:
    newcomer.get_by_role("button", name="No, thanks").click()
    expect(newcomer.locator("[data-tour-invite]")).to_be_hidden()
    newcomer.reload()
    expect(newcomer.locator("html")).to_have_attribute("data-ready", "yes")
    expect(newcomer.locator("[data-tour-invite]")).to_be_hidden()
