"""Events searched for in a real browser, and followed to their moment."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.support.clients import produce
from tests.support.cluster import eventually
from tests.support.console_system import ConsoleSystem
from tests.support.pages import overflow, until_known, visit
from tests.support.rest import Visitor

TOPIC = "seen-in-events"


@pytest.fixture(scope="module", autouse=True)
def happened(shared_system: ConsoleSystem) -> None:
    """A topic is made while the past is kept already."""
    visitor = Visitor(shared_system.layout.console_port, shared_system.password)
    eventually(lambda: 'id="look-back"' in visitor.get("/events").body, 120, "a past")
    for topic in ("before-events", TOPIC):  # the first one of a new cluster is no news
        produce(shared_system, topic, [b"x"])
        until_known(shared_system, [f"/topics/{topic}"])
    eventually(lambda: 'class="then"' in visitor.get(f"/events?text={TOPIC}").body, 120, "the event with the way to its moment")


@pytest.mark.parametrize(("width", "theme"), [(1440, "dark"), (390, "light")])
def test_an_event_is_found_and_leads_to_its_moment(page: Page, system: ConsoleSystem, width: int, theme: str) -> None:
    page.emulate_media(color_scheme="dark" if theme == "dark" else "light")
    page.set_viewport_size({"width": width, "height": 900})
    visit(page, system, "/events")
    page.get_by_label("Sentence contains").fill(TOPIC.upper())
    page.get_by_role("button", name="Show", exact=True).click()
    expect(page).to_have_url(re.compile("text=SEEN-IN-EVENTS"))
    rows = page.locator(".events li")
    expect(rows.first).to_contain_text(TOPIC)
    expect(page.get_by_label("Sentence contains")).to_have_value(TOPIC.upper())
    assert not overflow(page)
    page.locator(".events a.then").first.click()
    expect(page).to_have_url(re.compile(r"/at/\d+/topics"))
    expect(page.locator(".feed")).to_have_attribute("data-state", "past")
