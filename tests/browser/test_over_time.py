"""Figures over time on a topic's page: drawn once the page is there, for as long as one asks for."""

from __future__ import annotations

import pytest
from confluent_kafka.admin import AdminClient, NewTopic
from playwright.sync_api import Page, expect

from tests.support.clients import make
from tests.support.cluster import eventually
from tests.support.console_system import ConsoleSystem
from tests.support.pages import until_known, visit
from tests.support.rest import Visitor

pytestmark = pytest.mark.spec("O1")
TOPIC, LATELY = "over-time", "rates-lately"


def test_a_topics_figures_are_drawn_for_the_time_that_is_chosen(page: Page, system: ConsoleSystem) -> None:
    make(AdminClient({"bootstrap.servers": system.bootstrap_servers}), NewTopic(TOPIC, 1, 3))
    until_known(system, [f"/topics/{TOPIC}"])
    path = f"/over-time?kind=topic&name={TOPIC}"
    visitor = Visitor(system.layout.console_port, system.password)
    eventually(lambda: "As a table" in visitor.get(path).body, 120, "a sample of its figures")
    visit(page, system, f"/topics/{TOPIC}")
    part = page.get_by_role("region", name="Over time")
    expect(part.locator(".js-plotly-plot")).to_have_count(3)
    expect(part.get_by_role("img", name="On disk, one copy")).to_be_visible()
    part.get_by_role("link", name="6 h").click()
    expect(part.get_by_role("link", name="6 h")).to_have_attribute("aria-current", "true")
    expect(part.locator(".chart .main-svg").first).to_be_visible()
    part.get_by_text("As a table").click()
    expect(part.get_by_role("row").nth(1)).to_be_visible()


def test_the_list_shows_the_last_minutes_beside_each_rate(page: Page, system: ConsoleSystem) -> None:
    make(AdminClient({"bootstrap.servers": system.bootstrap_servers}), NewTopic(LATELY, 1, 3))
    until_known(system, [f"/topics/{LATELY}"])
    visit(page, system, f"/topics?q={LATELY}")
    row = page.get_by_role("row").filter(has=page.get_by_role("link", name=LATELY))
    expect(row.get_by_role("img", name="Records per second in the last 15 minutes")).to_be_visible()
    page.get_by_label("Name contains").fill(LATELY[:-1])
    expect(page).to_have_url(f"{system.url}/topics?q={LATELY[:-1]}")
    expect(row.locator("svg")).to_have_count(1)
    visit(page, system, "/topics?clear=1")


def test_the_lag_of_the_groups_behind_is_a_part_of_the_overview(page: Page, system: ConsoleSystem) -> None:
    visit(page, system, "/")
    part = page.get_by_role("region", name="Lag over time")
    part.get_by_role("link", name="24 h").click()
    expect(part.get_by_role("link", name="24 h")).to_have_attribute("aria-current", "true")
