"""Data is moved by picking: a topic's replicas grow in number, but for a partition whose row is struck out."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from confluent_kafka.admin import AdminClient, NewTopic
from playwright.sync_api import Page, expect

from tests.support.clients import make, produce
from tests.support.console_system import ConsoleSystem
from tests.support.pages import ladder, until_known, visit

TOPIC = "picked"
SOUGHT = ("sought-here", "sought-there")


@pytest.fixture(autouse=True)
def gone_afterwards(system: ConsoleSystem) -> Iterator[None]:
    """What these tests leave would be in danger when others kill a broker."""
    yield
    admin = AdminClient({"bootstrap.servers": system.bootstrap_servers})
    if there := sorted({TOPIC, *SOUGHT} & admin.list_topics(timeout=60).topics.keys()):
        for asked in admin.delete_topics(there).values():
            asked.result(60)


def test_more_replicas_but_for_a_row_that_is_struck_out(page: Page, system: ConsoleSystem) -> None:
    make(AdminClient({"bootstrap.servers": system.bootstrap_servers}), NewTopic(TOPIC, 3, replica_assignment=[[1], [2], [3]]))
    produce(system, TOPIC, [b"x" * 100] * 300)
    until_known(system, [f"/topics/{TOPIC}"])
    visit(page, system, f"/topics/{TOPIC}")
    page.get_by_role("link", name="Move data…").click()
    expect(page.get_by_text("1 topic chosen:")).to_be_visible()
    page.get_by_role("radio", name="Replicas of each partition:").check()
    page.get_by_role("spinbutton", name="Replicas of each partition").fill("2")
    page.get_by_role("button", name="Show the plan").click()
    expect(page.locator("#plan")).to_contain_text("3 partitions would change.")
    page.get_by_role("button", name=f"Strike out {TOPIC}-1").click()
    expect(page.locator("tr.struck")).to_contain_text("stays as it is")
    page.get_by_role("button", name="Start 2 moves").click()
    expect(page.locator('[data-field="state"]').first).to_have_text("succeeded")
    expect(page.get_by_text("2 of 2 partitions have moved.").first).to_be_visible()
    visit(page, system, f"/topics/{TOPIC}?open=all")
    for number, copies in enumerate((2, 1, 2)):
        expect(ladder(page, TOPIC, number).locator(".rung")).to_have_count(copies)


def test_a_search_finds_topics_as_one_types_and_the_typed_form_is_a_dialog(page: Page, system: ConsoleSystem) -> None:
    admin = AdminClient({"bootstrap.servers": system.bootstrap_servers})
    for name in SOUGHT:
        make(admin, NewTopic(name, 1, 1))
    until_known(system, ["/topics/sought-here", "/topics/sought-there"])
    visit(page, system, "/jobs")
    page.get_by_role("link", name="Type a reassignment…").click()
    expect(page.get_by_role("dialog", name="Reassignment").get_by_label("Assignments")).to_be_visible()
    page.keyboard.press("Escape")
    page.get_by_role("link", name="Move data…").click()
    page.get_by_label("Name contains").fill("SOUGHT-T")
    expect(page.locator("#m-topics tbody tr")).to_have_count(1)
    page.get_by_role("checkbox", name="sought-there").check()
    page.get_by_label("Name contains").fill("sought-h")
    expect(page.get_by_role("button", name="Take sought-there out")).to_be_visible()
