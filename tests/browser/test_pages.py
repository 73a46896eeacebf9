"""Every page, as a person meets it: on a phone, by keyboard, with hostile names, and while its feed is away."""

from __future__ import annotations

import contextlib
import re
import threading
from collections.abc import Iterator
from urllib.parse import quote

import pytest
from confluent_kafka import Consumer
from confluent_kafka.admin import AdminClient, NewTopic
from playwright.sync_api import BrowserContext, Locator, Page, ViewportSize, expect

from broker_core.local.process import wait_until
from tests.support.clients import make, produce
from tests.support.console_system import ConsoleSystem
from tests.support.pages import WAIT_MS, Complaints, brief, ground, overflow, tab_to, until_known, visit

TOPIC = "a-topic.with_a-name-as-long-as-some-company-would-like-it.and-then-a-little-longer-than-that"
MARKUP = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>&amp;"
GROUP = "group/" + MARKUP
PHONE: ViewportSize = {"width": 390, "height": 844}


@pytest.fixture(scope="module", autouse=True)
def busy(shared_system: ConsoleSystem) -> Iterator[None]:
    """A topic with records, and a member of a group whose ids are markup; both stay for the module."""
    admin = AdminClient({"bootstrap.servers": shared_system.bootstrap_servers})
    make(admin, NewTopic(TOPIC, 3, 3))
    produce(shared_system, TOPIC, [b"x" * 100] * 300)
    with member(shared_system):
        until_known(shared_system, PATHS.values())
        yield


@contextlib.contextmanager
def member(system: ConsoleSystem, client_id: str = MARKUP) -> Iterator[None]:
    """A consumer that has joined the group; it reads and commits until the end, and a commit in a rebalance may be refused."""
    settings = {"bootstrap.servers": system.bootstrap_servers, "group.id": GROUP, "client.id": client_id, "auto.offset.reset": "earliest"}
    consumer, over, joined = Consumer(settings), threading.Event(), threading.Event()

    def poll() -> None:
        consumer.subscribe([TOPIC], on_assign=lambda *_: joined.set())
        while not over.is_set():
            if consumer.consume(100, 0.2):
                consumer.commit()
        consumer.close()

    thread = threading.Thread(target=poll)
    thread.start()
    try:
        assert joined.wait(60), "the member did not join"
        yield
    finally:
        over.set()
        thread.join()


PATHS: dict[str, str] = {
    "overview": "/",
    "brokers": "/brokers",
    "broker": "/brokers/1",
    "broker's stop": "/brokers/1/if-it-stops",
    "controller": "/controller",
    "znodes": "/controller/zookeeper",
    "a znode": "/controller/zookeeper?path=/brokers/ids/1",
    "topics": "/topics",
    "new topic": "/new-topic",
    "topic": f"/topics/{TOPIC}",
    "partition": f"/topics/{TOPIC}/0",
    "internal topic": "/topics/__consumer_offsets",
    "groups": "/groups",
    "group": f"/groups/{quote(GROUP, safe='')}",
    "jobs": "/jobs",
    "schedules": "/schedules",
    "schedule": "/schedules/1",
    "new schedule": "/schedules/new",
    "analytics": "/analytics",
    "health": "/health",
    "wanted": "/wanted",
    "events": "/events",
    "audit": "/audit",
    "settings": "/settings",
}


@pytest.mark.parametrize("name", PATHS)
def test_page_fits_a_phone_and_complains_of_nothing(name: str, page: Page, system: ConsoleSystem) -> None:
    """Nothing sticks out at 390 px; the tab's fixture looks for errors and violations of the content policy."""
    page.set_viewport_size(PHONE)
    visit(page, system, PATHS[name])
    expect(page.locator("main h1")).to_have_count(1)
    assert not overflow(page)


def test_what_only_the_controller_tells_is_left_out_of_the_others_cards(page: Page, system: ConsoleSystem) -> None:
    """On a phone, where a dash has no column to stand in."""
    page.set_viewport_size(PHONE)
    visit(page, system, "/brokers")
    figures = page.locator('[aria-labelledby="h-waiting"] td.if-present:visible')
    expect(figures).to_have_count(5)
    assert "–" not in " ".join(figures.all_inner_texts())
    page.set_viewport_size({"width": 1440, "height": 900})
    expect(figures).to_have_count(15)


def test_names_with_markup_are_text(page: Page, system: ConsoleSystem) -> None:
    """A client chooses its ids; the lists, the page of the group and what comes live all show them as they are."""
    visit(page, system, "/groups")
    page.get_by_role("link", name=GROUP).click()
    expect(page.locator("h1")).to_have_text(GROUP)
    expect(page.locator('[data-field="client_id"]').first).to_have_text(MARKUP)
    produce(system, TOPIC, [b"more"] * 90)
    end = page.locator('tr[data-key^="lag/"] [data-field="high_watermark"]')
    eventually_sums_to(end, 390)
    with member(system, MARKUP + "second"):
        expect(page.get_by_role("cell", name=MARKUP + "second", exact=True).first).to_be_visible()
        expect(page.locator(".events")).to_contain_text(f"group {GROUP} rebalanced to generation 2")
        assert page.locator("main :is(img, script[src], b)").count() == 0
    for path in ("/events", f"/topics/{TOPIC}", "/"):
        visit(page, system, path)
    assert "owned" not in page.title()
    assert page.locator("img[src=x]").count() == 0


def eventually_sums_to(cells: Locator, total: int) -> None:
    """The figures of the cells, thin spaces and all, add up in the end."""
    shown: list[str] = []

    def holds() -> bool:
        shown[:] = cells.all_inner_texts()
        return sum(int(re.sub(r"\D", "", text) or 0) for text in shown) == total

    assert wait_until(holds, WAIT_MS / 1000), f"{shown} should make {total}"


def test_a_name_no_topic_can_have_is_told_so(page: Page, complaints: Complaints, system: ConsoleSystem) -> None:
    """The form, and an address typed by hand, show the name as text with the reason."""
    visit(page, system, "/new-topic")
    page.get_by_label("Name", exact=True).fill("<b>bold</b>")
    with complaints.excused("422"):
        page.get_by_role("button", name="Create topic").click()
        expect(page.locator("#wrong-new-topic-name")).to_contain_text("A topic's name has 1 to 249 letters")
    with complaints.excused("404"):
        page.goto(f"{system.url}/topics/{quote('<b>bold')}")
        expect(page.get_by_role("alert")).to_contain_text("<b>bold")
    assert page.locator("main b").count() == 0


def test_a_refused_dialog_is_open_again_with_what_was_typed(page: Page, complaints: Complaints, system: ConsoleSystem) -> None:
    """The error stands on its field, which has the focus; Escape leaves it."""
    visit(page, system, f"/topics/{TOPIC}")
    page.get_by_role("button", name="Add partitions…").click()
    dialog, count = page.locator("#add-partitions"), page.get_by_label(re.compile("New number of partitions"))
    count.evaluate("one => one.removeAttribute('min')")
    count.fill("2")
    with complaints.excused("422"):
        dialog.get_by_role("button", name="Add partitions").click()
        expect(dialog.locator(".wrong")).to_contain_text("has 3 partitions")
    expect(count).to_have_value("2")
    expect(count).to_be_focused()
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()


def test_an_election_is_confirmed_by_keyboard(page: Page, system: ConsoleSystem) -> None:
    visit(page, system, "/jobs")
    page.get_by_role("link", name="Elect leaders…").press("Enter")
    page.get_by_role("dialog").get_by_role("button", name="Elect preferred leaders…").press("Enter")
    expect(page.get_by_role("heading", name="Elect preferred leaders?")).to_be_visible()
    page.get_by_role("button", name="Elect preferred leaders", exact=True).press("Enter")
    expect(page).to_have_url(re.compile(r"/jobs/\d+$"))


def test_page_says_that_the_feed_is_lost_and_recovers(page: Page, system: ConsoleSystem) -> None:
    """Amber and an age while `live` is dead; live again, with what came meanwhile, when it is back. No reload."""
    visit(page, system, f"/topics/{TOPIC}")
    page.evaluate("window.sameDocument = true")
    feed = page.locator(".feed")
    system.kill_program("live")
    try:
        expect(feed).to_have_attribute("data-state", "stale")
        expect(feed).to_have_text(re.compile(r"feed silent, \d+(\.\d)?\u202fs old"))
        assert ground(page, ".feed", "--warn-soft")
        expect(brief(page)).to_have_attribute("data-level", "unknown")
        expect(brief(page)).to_contain_text("Last known: ")
        produce(system, TOPIC, [b"unseen"])
    finally:
        system.start_program("live")
    expect(feed).to_have_attribute("data-state", "live")
    expect(brief(page)).to_contain_text(re.compile("^Cluster: .All .* partitions are safe"))
    assert page.evaluate("window.sameDocument === true")


def test_page_reconnects_when_the_console_restarts(page: Page, complaints: Complaints, system: ConsoleSystem) -> None:
    visit(page, system, "/")
    feed = page.locator(".feed")
    with complaints.excused(""):
        system.kill_program("console")
        try:
            expect(feed).to_have_attribute("data-state", "reconnecting")
        finally:
            system.start_program("console")
        expect(feed).to_have_attribute("data-state", "live")


def test_broker_can_be_killed_by_keyboard_alone(page: Page, system: ConsoleSystem) -> None:
    """Tab reaches the button, Enter opens the dialog, focus is inside and stays there, Escape closes it and gives focus back."""
    visit(page, system, "/brokers")
    opener = page.get_by_role("group", name="Actions on broker 2").get_by_role("button", name="Kill…")
    tab_to(page, opener)
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog", name="Kill broker 2?")
    expect(dialog).to_be_visible()
    expect(dialog.get_by_label("Type 2 to confirm")).to_be_focused()
    page.keyboard.type("2")
    expect(dialog.get_by_role("button", name="Kill broker 2")).to_be_enabled()
    for _ in range(2):
        page.keyboard.press("Tab")
    expect(dialog.get_by_role("button", name="Kill broker 2")).to_be_focused()
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    expect(opener).to_be_focused()
    assert 2 in system.running()


def test_theme_is_kept(page: Page, system: ConsoleSystem) -> None:
    visit(page, system, "/")
    page.get_by_role("button", name="Dark").click()
    page.reload()
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    expect(page.get_by_role("button", name="Dark")).to_have_attribute("aria-pressed", "true")
    page.get_by_role("button", name="Auto").click()
    assert page.evaluate("document.documentElement.dataset.theme") is None


def test_a_stranger_sees_only_the_sign_in(signed_in: BrowserContext, system: ConsoleSystem) -> None:
    assert signed_in.browser is not None
    stranger = signed_in.browser.new_context()
    page = stranger.new_page()
    page.goto(f"{system.url}/topics")
    expect(page).to_have_url(re.compile(r"/login\?next=/topics$"))
    page.get_by_label("Name").fill("admin")
    page.get_by_label("Password").fill("wrong")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_contain_text("Not signed in")
    stranger.close()
