"""What browser tests do with the console's pages again and again."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator

from playwright.sync_api import ConsoleMessage, Locator, Page, expect

from tests.support.cluster import eventually
from tests.support.console_system import ConsoleSystem
from tests.support.rest import Visitor

LIVE = re.compile("live|partial")
WAIT_MS = 60_000
expect.set_options(timeout=WAIT_MS)


REPLACED = ("htmx:sendAbort,", "htmx:afterRequest,")
"""What htmx says of a question that the next keystroke replaces; a failed one has a word of its own beside the second."""


class Complaints:
    """Errors and warnings of a tab: of its scripts, its console, and its content policy (which Chromium reports there)."""

    def __init__(self, page: Page) -> None:
        self.heard: list[str] = []
        self._excused: str | None = None
        page.on("pageerror", lambda error: self.heard.append(f"{page.url}: {error}"))
        page.on("console", lambda message: self._on_console(page, message))

    def _on_console(self, page: Page, message: ConsoleMessage) -> None:
        if message.text.startswith(REPLACED):
            return
        if message.type in ("error", "warning") and (self._excused is None or self._excused not in message.text):
            self.heard.append(f"{page.url}: {message.text}")

    @contextlib.contextmanager
    def excused(self, words: str) -> Iterator[None]:
        """What a test provokes: Chromium writes answers of 4xx and lost sockets to the console."""
        self._excused = words
        yield
        self._excused = None


def sign_in(page: Page, system: ConsoleSystem) -> None:
    page.goto(f"{system.url}/login")
    page.get_by_label("Name").fill("admin")
    page.get_by_label("Password").fill(system.password)
    page.get_by_role("button", name="Sign in").click()
    expect(page).to_have_url(f"{system.url}/")


def until_known(system: ConsoleSystem, paths: Iterable[str]) -> None:
    """Until the console has heard of all that these pages are about: before, they are not there. A list leads to what was chosen on it."""
    visitor = Visitor(system.layout.console_port, system.password)
    for path in paths:
        eventually(lambda path=path: visitor.get(path).status in (200, 302), what=f"the page {path}")


def visit(page: Page, system: ConsoleSystem, path: str) -> None:
    """Opens a page and waits until its feed is live, and its parts that come later are there."""
    page.goto(system.url + path)
    expect(page.locator(".feed")).to_have_attribute("data-state", LIVE)
    expect(page.locator("[data-awaited]")).to_have_count(0)


def ladder(page: Page, topic: str, partition: int) -> Locator:
    return page.locator(f'[data-ladder="partition/{topic}/{partition}"]')


def ground(page: Page, selector: str, name: str) -> bool:
    """Whether the element stands on the colour of that name (`--warn-soft`)."""
    script = """([selector, name]) => {
        const probe = document.createElement("i");
        probe.style.background = `var(${name})`;
        document.body.append(probe);
        const wanted = getComputedStyle(probe).backgroundColor;
        probe.remove();
        return getComputedStyle(document.querySelector(selector)).backgroundColor === wanted;
    }"""
    return bool(page.evaluate(script, [selector, name]))


def tab_to(page: Page, wanted: Locator) -> None:
    """Presses Tab until the element has the focus."""
    for _ in range(60):
        page.keyboard.press("Tab")
        if wanted.evaluate("one => one === document.activeElement"):
            return
    raise AssertionError("60 tabs did not reach it")


def brief(page: Page) -> Locator:
    """The cluster's verdict in the line on top of every page."""
    return page.locator("[data-brief]")


def verdict(page: Page) -> Locator:
    return page.locator("[data-verdict]")


def overflow(page: Page) -> str:
    """The first thing that sticks out at the right of the window, or nothing."""
    return str(
        page.evaluate(
            """() => {
                const wide = document.documentElement.clientWidth;
                if (document.documentElement.scrollWidth <= wide) return "";
                const out = [...document.querySelectorAll("body *")].find((one) => one.getBoundingClientRect().right > wide + 1);
                return out ? out.outerHTML.slice(0, 200) : `the page is ${document.documentElement.scrollWidth} wide`;
            }"""
        )
    )
