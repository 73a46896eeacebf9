"""Lists narrowed to what is troubled: by keyboard, kept in the address, and followed live; and what both sides write alike."""

from __future__ import annotations

import re

from confluent_kafka.admin import AdminClient, NewTopic
from playwright.sync_api import Page, expect

from broker_core.contract.groups import Group
from console.templatetags import figures
from tests.support.clients import make
from tests.support.console_system import ConsoleSystem
from tests.support.live_rows import some
from tests.support.pages import ladder, tab_to, visit

LOST = 3
NUMBERS = [0, 0.04, 0.4, 7.26, 12.34, 99.6, 100, 1_023, 1_536, 20_000, 18_204_331, 3.5e9]


def test_troubled_topics_come_and_go_on_an_open_page(page: Page, system: ConsoleSystem) -> None:
    admin = AdminClient({"bootstrap.servers": system.bootstrap_servers})
    for name, replicas in (("reef-hurt", [1, LOST]), ("reef-whole", [1, 2])):
        make(admin, NewTopic(name, 1, replica_assignment=[replicas]))
    visit(page, system, "/topics?q=reef")
    tab_to(page, page.get_by_role("link", name="Troubled only"))
    page.keyboard.press("Enter")
    expect(page).to_have_url(f"{system.url}/topics?q=reef&troubled=1")
    expect(page.locator("main")).to_contain_text("No topic with “reef” in its name is in trouble.")
    page.evaluate("window.sameDocument = true")
    page.get_by_role("link", name="Troubled only").focus()
    system.kill(LOST)
    row = page.locator('tr[data-key="topic/reef-hurt"]')
    expect(row.locator(".state")).to_have_text("under min ISR")
    expect(page.locator('tr[data-key="topic/reef-whole"]')).to_have_count(0)
    expect(page.get_by_role("link", name="Troubled only")).to_be_focused()
    system.start(LOST)
    expect(page.locator("main")).to_contain_text("No topic with “reef” in its name is in trouble.")
    assert page.evaluate("window.sameDocument === true")
    visit(page, system, "/topics?clear=1")


def test_troubled_partitions_are_shown_alone(page: Page, system: ConsoleSystem) -> None:
    admin = AdminClient({"bootstrap.servers": system.bootstrap_servers})
    assignment = [[1, LOST] if n in (3, 70) else [1, 2] for n in range(80)]
    make(admin, NewTopic("shoal", 80, replica_assignment=assignment))
    system.kill(LOST)
    visit(page, system, "/topics/shoal?troubled=1")
    expect(page.locator("[data-ladder]")).to_have_count(2)
    expect(ladder(page, "shoal", 70).locator('[data-part="state"]')).to_have_text(re.compile("under"))
    expect(page.locator(".views [id^=view-][aria-current]")).to_have_text(re.compile(r"Troubled only 2$"))
    system.start(LOST)
    expect(page.locator("main")).to_contain_text("No partition of shoal is in trouble.")


def test_server_and_browser_write_numbers_alike(page: Page, system: ConsoleSystem) -> None:
    """A page is made by one and kept by the other: a difference would flicker."""
    visit(page, system, "/jobs")
    ways = {"whole": "whole", "bytes": "size", "byteRate": "byte_rate", "rate": "rate", "duration": "duration", "seconds": "seconds"}
    ways |= {"bound": "bound", "percent": "percent"}
    source = next(str(one) for one in page.evaluate("performance.getEntriesByType('resource').map((one) => one.name)") if "format" in one)
    script = "async ([source, way, values]) => { const found = await import(source); return values.map(found[way]); }"
    for browser_way, server_way in ways.items():
        shown = page.evaluate(script, [source, browser_way, [*NUMBERS, None]])
        assert shown == [getattr(figures, server_way)(value) for value in [*NUMBERS, None]], browser_way
    late = [
        {"lag_s": seconds, "lag_basis": basis}
        for seconds in (None, 0.0, 11.0, 4_800.0)
        for basis in ("record", "estimate", "at_least", None)
    ]
    assert page.evaluate(script, [source, "behind", late]) == [figures.time_behind(some(Group, **value)) for value in late]
