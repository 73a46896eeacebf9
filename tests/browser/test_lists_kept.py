"""Lists and tables by keyboard, at both widths: sorted, filtered as one types, starred, and rows that open; all kept in the address."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic
from playwright.sync_api import Page, expect

from tests.support.clients import make
from tests.support.console_system import ConsoleSystem
from tests.support.pages import ladder, overflow, until_known, visit

LONG = "fjord-" + "x" * 243
NAMES = ("fjord-one", "fjord-two", LONG)
WIDTHS = {"desktop": {"width": 1440, "height": 900}, "phone": {"width": 390, "height": 844}}


@pytest.fixture(scope="module", autouse=True)
def stage(shared_system: ConsoleSystem) -> Iterator[None]:
    """Three topics, which are gone afterwards: other tests ask whether all partitions are safe."""
    admin = AdminClient({"bootstrap.servers": shared_system.bootstrap_servers})
    for count, name in enumerate(NAMES, 1):
        make(admin, NewTopic(name, count, replication_factor=3))
    until_known(shared_system, [f"/topics/{name}" for name in NAMES])
    yield
    for future in admin.delete_topics(list(NAMES)).values():
        future.result(60)


@pytest.fixture(params=list(WIDTHS))
def wide(request: pytest.FixtureRequest, page: Page, system: ConsoleSystem) -> Iterator[Page]:
    """A page of either width; what is chosen on the list is taken back."""
    page.set_viewport_size(WIDTHS[request.param])
    yield page
    visit(page, system, "/topics?clear=1")


def names(page: Page) -> list[str]:
    return [
        str(key).removeprefix("topic/")
        for key in page.locator("#partial tr[data-key]").evaluate_all("rows => rows.map((row) => row.dataset.key)")
    ]


def unfold(page: Page) -> None:
    """A phone shows but the first filter until the others are asked for."""
    button = page.get_by_role("button", name="More filters")
    if page.viewport_size == WIDTHS["desktop"]:
        expect(button).to_be_hidden()
        return
    expect(page.get_by_label("Favourites", exact=True)).to_be_hidden()
    button.press("Enter")
    expect(button).to_have_attribute("aria-expanded", "true")


def test_a_list_is_filtered_as_one_types_and_sorted_by_its_heads(wide: Page, system: ConsoleSystem) -> None:
    visit(wide, system, "/topics")
    wide.get_by_label("Name contains").press_sequentially("FJORD")
    expect(wide).to_have_url(re.compile(r"/topics\?q=FJORD$"))
    expect(wide.locator("#partial tr[data-key]")).to_have_count(3)
    expect(wide.get_by_label("Name contains")).to_be_focused()
    expect(wide.locator(".filtered")).to_contain_text("Filtered by “FJORD” in the name")
    if wide.viewport_size == WIDTHS["desktop"]:
        head = wide.get_by_role("columnheader", name="Partitions").get_by_role("link")
        head.press("Enter")
        expect(wide.locator("th[aria-sort]")).to_have_attribute("aria-sort", "descending")
        expect(wide.locator("#sort-by-partitions")).to_be_focused()
    else:
        unfold(wide)
        wide.get_by_label("Sort by").select_option("partitions")
    expect(wide).to_have_url(re.compile("sort=partitions"))
    expect(wide.locator("#partial tr[data-key]").first).to_have_attribute("data-key", f"topic/{LONG}")
    assert names(wide) == [LONG, "fjord-two", "fjord-one"]
    assert not overflow(wide)
    visit(wide, system, "/topics")
    expect(wide.get_by_label("Name contains")).to_have_value("FJORD")
    assert names(wide) == [LONG, "fjord-two", "fjord-one"], "the list is as it was left"
    wide.get_by_role("link", name="clear").press("Enter")
    expect(wide).to_have_url(f"{system.url}/topics")
    expect(wide.get_by_label("Name contains")).to_have_value("")


def test_the_rows_of_a_filter_are_followed_live(page: Page, system: ConsoleSystem) -> None:
    """What is shown after a filter was typed is asked for by a new connection."""
    visit(page, system, "/topics")
    page.get_by_label("Name contains").fill("fjord-one")
    row = page.locator('tr[data-key="topic/fjord-one"]')
    expect(row).to_be_visible()
    page.evaluate("window.sameDocument = true")
    admin = AdminClient({"bootstrap.servers": system.bootstrap_servers})
    for future in admin.create_partitions([NewPartitions("fjord-one", 4)]).values():
        future.result(60)
    expect(row.locator('[data-field="partitions"]')).to_have_text("4")
    assert page.evaluate("window.sameDocument === true")
    visit(page, system, "/topics?clear=1")


def test_a_star_is_kept(wide: Page, system: ConsoleSystem) -> None:
    visit(wide, system, "/topics?q=fjord")
    star = wide.get_by_role("button", name="Favourite fjord-two")
    expect(star).to_have_attribute("aria-pressed", "false")
    star.press("Enter")
    expect(star).to_have_attribute("aria-pressed", "true")
    expect(star).to_be_focused()
    unfold(wide)
    wide.get_by_label("Favourites", exact=True).select_option("only")
    expect(wide.locator("#partial tr[data-key]")).to_have_count(1)
    assert names(wide) == ["fjord-two"]
    star.press("Enter")
    expect(star).to_have_attribute("aria-pressed", "false")


def test_a_partitions_replicas_open_by_keyboard_and_stay_in_the_address(wide: Page, system: ConsoleSystem) -> None:
    visit(wide, system, "/topics/fjord-two")
    button = wide.get_by_role("button", name="Replicas of partition 1")
    expect(ladder(wide, "fjord-two", 1)).to_be_hidden()
    button.press("Enter")
    expect(button).to_have_attribute("aria-expanded", "true")
    expect(ladder(wide, "fjord-two", 1).locator(".rung")).to_have_count(3)
    expect(wide).to_have_url(f"{system.url}/topics/fjord-two?open=1")
    assert not overflow(wide)
    wide.reload()
    expect(ladder(wide, "fjord-two", 1).locator(".rung")).to_have_count(3)
    button.press("Enter")
    expect(ladder(wide, "fjord-two", 1)).to_be_hidden()
    expect(wide).to_have_url(f"{system.url}/topics/fjord-two?shut=1")


def test_a_long_name_breaks_no_page(wide: Page, system: ConsoleSystem) -> None:
    for path in (f"/topics/{LONG}?open=all", f"/topics/{LONG}/0", f"/new-topic?from={LONG}"):
        visit(wide, system, path)
        assert not overflow(wide), path


def test_several_topics_are_deleted_once_their_names_are_typed(page: Page, system: ConsoleSystem) -> None:
    admin = AdminClient({"bootstrap.servers": system.bootstrap_servers})
    for name in ("ebb-1", "ebb-2"):
        make(admin, NewTopic(name, 1, replication_factor=3))
    until_known(system, ["/topics/ebb-1", "/topics/ebb-2"])
    visit(page, system, "/topics?q=ebb")
    page.get_by_role("button", name="Choose all shown").press("Enter")
    page.get_by_role("button", name="Delete…").press("Enter")
    expect(page.locator("#plan")).to_contain_text("would be removed from every broker")
    button = page.get_by_role("button", name="Delete 2 topics")
    expect(button).to_be_disabled()
    page.get_by_label(re.compile("^Type")).fill("ebb-1, ebb-2")
    button.press("Enter")
    expect(page.locator("main")).to_contain_text("How it went")
    expect(page.locator("tbody .state")).to_have_text(["done", "done"])
    visit(page, system, "/topics?clear=1")
