"""The picture of brokers, topics and groups, by keyboard: one thing is chosen, what it touches is shown, and all of it again."""

from __future__ import annotations

import re

from confluent_kafka.admin import AdminClient, NewTopic
from playwright.sync_api import Page, expect

from tests.support.clients import make
from tests.support.console_system import ConsoleSystem
from tests.support.pages import overflow, until_known, visit

NAMES = ("delta-of-a-river", "delta-" + "x" * 243)


def test_one_thing_is_chosen_by_keyboard(page: Page, system: ConsoleSystem) -> None:
    admin = AdminClient({"bootstrap.servers": system.bootstrap_servers})
    for name in NAMES:
        make(admin, NewTopic(name, 2, 3))
    until_known(system, [f"/topics/{name}" for name in NAMES])
    visit(page, system, "/topology")
    page.get_by_label("Topic's name contains").fill("delta-of")
    box = page.get_by_role("link", name=re.compile("^topic delta-of-a-river: safe, 2 partitions"))
    expect(box).to_be_visible()
    expect(page.get_by_role("link", name=re.compile("^topic "))).to_have_count(1)
    box.press("Enter")
    expect(page).to_have_url(f"{system.url}/topology?focus=topic%3Adelta-of-a-river")
    expect(page.get_by_role("heading", name="What topic delta-of-a-river touches")).to_be_visible()
    expect(page.get_by_role("link", name=re.compile("^broker "))).to_have_count(3)
    page.get_by_role("link", name="Everything").press("Enter")
    expect(page).to_have_url(f"{system.url}/topology")
    for width in (1440, 390):
        page.set_viewport_size({"width": width, "height": 844})
        visit(page, system, "/topology?q=delta")
        assert not overflow(page)
        expect(page.get_by_role("row").filter(has_text=NAMES[1])).to_be_visible()
    for future in admin.delete_topics(list(NAMES)).values():
        future.result(60)
