"""Another cluster: registered by a form, switched to by keyboard, looked at and left again."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from tests.support.console_system import ConsoleSystem
from tests.support.pages import Complaints, overflow, tab_to

HIDDEN = "no-word-of-this"


def test_a_cluster_is_tested_registered_switched_to_and_deleted(page: Page, complaints: Complaints, system: ConsoleSystem) -> None:
    """The system's own brokers, registered once more: what was typed stays while the answers come."""
    page.goto(f"{system.url}/clusters/new")
    page.get_by_label("Id", exact=True).fill("twin")
    page.get_by_label("Name", exact=True).fill("Its twin")
    page.get_by_label("Bootstrap servers").fill("nonsense")
    page.get_by_label("Security protocol").select_option("SASL_PLAINTEXT")
    page.get_by_label("User", exact=True).fill("ann")
    page.get_by_label("Password").fill(HIDDEN)
    with complaints.excused("422"):
        page.get_by_role("button", name="Test").click()
        expect(page.locator("#wrong-cluster-bootstrap_servers")).to_contain_text("is not host:port")
    page.get_by_label("Bootstrap servers").fill(system.bootstrap_servers)
    page.get_by_role("button", name="Test").click()
    expect(page.locator("#answer")).to_contain_text("asks for no user and password: choose PLAINTEXT")
    expect(page.locator("#wrong-cluster-bootstrap_servers")).to_be_hidden()
    expect(page.get_by_label("Password")).to_have_value(HIDDEN)
    page.get_by_label("Security protocol").select_option("PLAINTEXT")
    expect(page.get_by_label("Password")).to_be_hidden()
    page.get_by_role("button", name="Test").click()
    expect(page.locator("#answer")).to_contain_text("3 of 3 bootstrap servers answer")
    page.get_by_label("Read-only").check()
    page.get_by_role("button", name="Register").click()
    expect(page).to_have_url(f"{system.url}/c/twin/")
    expect(page.locator(".switcher summary")).to_contain_text("Its twin")
    expect(page.locator(".switcher summary")).to_contain_text("read-only")
    _switch_by_keyboard(page, system)
    _delete(page, system)


def _switch_by_keyboard(page: Page, system: ConsoleSystem) -> None:
    """To the own cluster: Tab, Enter, Tab, Enter; Escape closes the list and gives the focus back."""
    summary = page.locator(".switcher summary")
    tab_to(page, summary)
    page.keyboard.press("Enter")
    own = page.locator(".switcher .menu a").first
    expect(own).to_be_visible()
    page.keyboard.press("Escape")
    expect(own).to_be_hidden()
    expect(summary).to_be_focused()
    page.keyboard.press("Enter")
    tab_to(page, own)
    page.keyboard.press("Enter")
    expect(page).to_have_url(f"{system.url}/")
    page.set_viewport_size({"width": 390, "height": 800})
    page.goto(f"{system.url}/clusters")
    assert overflow(page) == ""
    page.locator("#cluster-twin").click()
    expect(page).to_have_url(f"{system.url}/c/twin/")
    page.get_by_role("link", name="Topics", exact=True).first.click()
    expect(page).to_have_url(f"{system.url}/c/twin/topics")
    expect(page.get_by_role("link", name="Create topic")).to_have_count(0)


def _delete(page: Page, system: ConsoleSystem) -> None:
    page.goto(f"{system.url}/clusters/twin")
    page.get_by_role("button", name="Delete…").click()
    page.get_by_label("Type twin to confirm").fill("twin")
    page.get_by_role("button", name="Delete the registration").click()
    expect(page).to_have_url(f"{system.url}/clusters")
    expect(page.get_by_text("The registration of Its twin is deleted")).to_be_visible()
    expect(page.locator("#cluster-twin")).to_have_count(0)
