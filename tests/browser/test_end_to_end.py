"""One story told to the pages: a topic is made, written, loses a broker, gets it back, and is moved."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from tests.support.clients import produce
from tests.support.console_system import ConsoleSystem
from tests.support.pages import brief, ladder, visit

TOPIC = "harbour"
LOST = 3
LAST_SEEN = re.compile(r"broker is down, last seen \d+(\.\d)?\u202f(s|min) ago")


def test_a_topic_is_made_written_hurt_healed_and_moved(page: Page, system: ConsoleSystem) -> None:
    create_topic(page, system)
    watch_it_grow(page, system)
    kill_broker(page, system)
    see_it_hurt(page, system)
    start_broker(page, system)
    see_it_whole(page, system, count=1000)
    move_replicas(page, system)


def create_topic(page: Page, system: ConsoleSystem) -> None:
    visit(page, system, "/topics")
    page.get_by_role("link", name="Create topic").first.click()
    page.get_by_label("Name", exact=True).fill(TOPIC)
    page.get_by_label("Partitions").fill("1")
    page.get_by_label("Replicas of each").fill("3")
    page.get_by_role("button", name="Create topic").click()
    expect(page).to_have_url(f"{system.url}/topics")
    page.get_by_role("link", name=TOPIC, exact=True).click()
    page.get_by_role("button", name="Replicas of partition 0").press("Enter")
    expect(page).to_have_url(f"{system.url}/topics/{TOPIC}?open=0")
    expect(ladder(page, TOPIC, 0).locator(".rung")).to_have_count(3)
    expect(ladder(page, TOPIC, 0).locator('[data-part="state"]')).to_have_text("safe")


def watch_it_grow(page: Page, system: ConsoleSystem) -> None:
    """HW and LEO move on the open page, without a reload, as the records are acknowledged."""
    box = ladder(page, TOPIC, 0)
    page.evaluate("window.sameDocument = true")
    for end in (300, 1000):
        produce(system, TOPIC, [b"v%d" % n for n in range(300 if end == 300 else 700)])
        for name in ("hw", "leo"):
            expect(box.locator(f'[data-part="{name}"]')).to_have_text(f"{end:,}".replace(",", "\u202f"))
    expect(box.locator(".rung .leo")).to_have_text(["1\u202f000"] * 3)
    assert page.evaluate("window.sameDocument === true")


def kill_broker(page: Page, system: ConsoleSystem) -> None:
    """The button stays shut until the broker's id is typed."""
    visit(page, system, "/brokers")
    page.get_by_role("group", name=f"Actions on broker {LOST}").get_by_role("button", name="Kill…").click()
    dialog = page.get_by_role("dialog", name=f"Kill broker {LOST}?")
    confirm = dialog.get_by_role("button", name=f"Kill broker {LOST}")
    expect(confirm).to_be_disabled()
    dialog.get_by_label(f"Type {LOST} to confirm").fill("2")
    expect(confirm).to_be_disabled()
    dialog.get_by_label(f"Type {LOST} to confirm").fill(str(LOST))
    confirm.click()
    expect(page.get_by_text(f"Broker {LOST} was killed.")).to_be_visible()
    assert LOST not in system.running()


def see_it_hurt(page: Page, system: ConsoleSystem) -> None:
    """The page that was safe says what is wrong: in its sentence, in the ladder and among the events; writes go on."""
    visit(page, system, f"/topics/{TOPIC}?open=all")
    gone = ladder(page, TOPIC, 0).locator(".rung.out")
    for side in ("padding-left", "border-bottom-width"):
        expect(gone.first).to_have_css(side, "0px")  # it lines up with the others, whose offsets it is compared with
    expect(gone).to_have_count(1)
    expect(gone.locator(".who")).to_contain_text(str(LOST))
    expect(gone.locator(".why")).to_have_text(LAST_SEEN)
    expect(gone.locator(".leo")).to_have_text("1\u202f000")
    expect(page.get_by_role("group", name=f"Verdict on {TOPIC}")).to_contain_text("fewer copies than wanted")
    expect(brief(page)).to_have_attribute("data-level", "warn")
    expect(brief(page)).to_contain_text(f"Broker {LOST} is down")
    expect(ladder(page, TOPIC, 0).locator('[data-part="state"]')).to_have_text("under-replicated")
    produce(system, TOPIC, [b"while it is down"] * 500)
    expect(ladder(page, TOPIC, 0).locator('[data-part="hw"]')).to_have_text("1\u202f500")
    expect(gone.locator(".leo")).to_have_text("1\u202f000")
    visit(page, system, "/events")
    expect(page.locator(".events")).to_contain_text(f"broker {LOST} is gone")


def start_broker(page: Page, system: ConsoleSystem) -> None:
    visit(page, system, "/brokers")
    row = page.locator(f'tr[data-key="broker/{LOST}"]')
    expect(row.locator('[data-field="state"]')).to_have_text("offline")
    row.get_by_role("button", name="Start").click()
    expect(page.get_by_text(f"Broker {LOST} is starting.")).to_be_visible()
    expect(row.locator('[data-field="state"]')).to_have_text("online")


def see_it_whole(page: Page, system: ConsoleSystem, count: int) -> None:
    visit(page, system, f"/topics/{TOPIC}?open=all")
    box = ladder(page, TOPIC, 0)
    expect(box.locator(".rung.out")).to_have_count(0)
    expect(box.locator('[data-part="state"]')).to_have_text("safe")
    expect(box.locator(".rung .leo")).to_have_text(["1\u202f500"] * 3)
    expect(page.get_by_role("group", name=f"Verdict on {TOPIC}")).to_contain_text("Its one partition is safe")
    expect(brief(page)).to_contain_text("partitions are safe")
    expect(brief(page)).not_to_contain_text("down")


def move_replicas(page: Page, system: ConsoleSystem) -> None:
    """First to two brokers, then one of them to the third: the second job copies the records."""
    for replicas in ("1,2", "2,3"):
        visit(page, system, "/jobs/new/move")
        page.get_by_label("Assignments").fill(f"{TOPIC} 0 {replicas}")
        page.get_by_role("button", name="Preview").click()
        expect(page.locator(".moves")).to_contain_text(f"{TOPIC}-0")
        page.get_by_role("button", name="Start reassignment").click()
        expect(page.locator('[data-field="state"]').first).to_have_text("succeeded")
        expect(page.get_by_text("1 of 1 partition has moved.").first).to_be_visible()
        visit(page, system, f"/topics/{TOPIC}?open=all")
        expect(ladder(page, TOPIC, 0).locator(".rung")).to_have_count(2)
        for broker in replicas.split(","):
            expect(ladder(page, TOPIC, 0).locator(".rung .who").filter(has_text=broker)).to_have_count(1)
    expect(ladder(page, TOPIC, 0).locator(".rung .leo")).to_have_text(["1\u202f500"] * 2)
    visit(page, system, "/jobs")
    moves = page.locator('tr[data-key^="job/"]').filter(has_text="reassignment")
    expect(moves.locator('[data-field="state"]')).to_have_text(["succeeded", "succeeded"])
