"""A whole system and a real Chromium. The browser ends with each module: its loop must not outlive it into other tests."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from tests.support.console_system import ConsoleSystem
from tests.support.pages import WAIT_MS, Complaints, sign_in
from tests.support.shared import healed, running

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
"""The first draws no window of its own, and costs two thirds of the time."""
CHROMIUM = next((path for name in NAMES if (path := shutil.which(name))), None)


@pytest.fixture(scope="package")
def shared_system(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConsoleSystem]:
    yield from running(ConsoleSystem(tmp_path_factory.mktemp("system") / "data"))


@pytest.fixture
def system(shared_system: ConsoleSystem) -> Iterator[ConsoleSystem]:
    yield from healed(shared_system)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    assert CHROMIUM, "the browser tests need Chromium: apt-get install chromium"
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-background-networking"])
        yield started
        started.close()


@pytest.fixture(scope="module")
def signed_in(browser: Browser, shared_system: ConsoleSystem) -> Iterator[BrowserContext]:
    """One session for all tests of a module; each has tabs of its own."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, reduced_motion="reduce")
    context.set_default_timeout(WAIT_MS)
    first = context.new_page()
    sign_in(first, shared_system)
    first.close()
    yield context
    context.close()


@pytest.fixture
def tab(signed_in: BrowserContext) -> Iterator[tuple[Page, Complaints]]:
    """A tab; at its end nothing may have been said in its console, and no content policy violated."""
    page = signed_in.new_page()
    heard = Complaints(page)
    yield page, heard
    page.close()
    assert not heard.heard, heard.heard


@pytest.fixture
def page(tab: tuple[Page, Complaints]) -> Page:
    return tab[0]


@pytest.fixture
def complaints(tab: tuple[Page, Complaints]) -> Complaints:
    return tab[1]
