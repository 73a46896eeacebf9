"""A partition's log in a real browser: a lookup by keyboard, in both themes and on a phone."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.support.clients import produce
from tests.support.console_system import ConsoleSystem
from tests.support.pages import overflow, until_known, visit

TOPIC = "seen-in-logs"
PATH = f"/topics/{TOPIC}/0/log"


@pytest.fixture(scope="module", autouse=True)
def written(shared_system: ConsoleSystem) -> Iterator[None]:
    for number in range(20):
        produce(shared_system, TOPIC, [b"%d" % number * 400], partitioner="consistent")
    until_known(shared_system, [f"/topics/{TOPIC}/0"])
    yield


@pytest.mark.parametrize(("width", "theme"), [(1440, "light"), (390, "dark")])
def test_an_offset_is_looked_up_by_keyboard(page: Page, system: ConsoleSystem, width: int, theme: str) -> None:
    page.emulate_media(color_scheme="dark" if theme == "dark" else "light")
    page.set_viewport_size({"width": width, "height": 900})
    visit(page, system, f"/topics/{TOPIC}/0")
    page.get_by_role("link", name="Log and indexes").click()
    page.get_by_label("Look up offset").fill("0")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("offset=0"))
    expect(page.get_by_role("heading", name="Segments")).to_be_visible()
    expect(page.get_by_role("heading", name="The way to offset 0")).to_be_visible()
    expect(page.get_by_label("Look up offset")).to_have_value("0")
    assert not overflow(page)
