"""From an append in a broker to the DOM of a page: the whole system, and Chromium on the topic's page.

The append's time is the broker's own (the topic has LogAppendTime, and the delivery report carries it); a MutationObserver in
the page notes when the partition's log end changed. Both read the same machine's clock, in milliseconds.
"""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from confluent_kafka import Producer
from playwright.sync_api import Page, sync_playwright

from broker_core.local.layout import BROKER_IDS
from tests.bench import world
from tests.bench.figures import Figure
from tests.support.console_system import ConsoleSystem

TOPIC = "seen"
CHANGES, CHANGES_QUICK = 60, 8
PAGE_MS = 20_000
TARGET_MS = 250.0
CHROMIUM = "/usr/bin/chromium"
ARGUMENTS = ["--no-sandbox", "--headless", "--disable-background-networking"]
WATCH = """() => {
  window.seen = [];
  const end = document.querySelector('[data-part="leo"]');
  const note = () => window.seen.push([end.textContent, performance.timeOrigin + performance.now()]);
  new MutationObserver(note).observe(end, { childList: true, characterData: true, subtree: true });
  return end.textContent;
}"""
WAIT = "words => { const found = window.seen.find(([text]) => text === words); return found ? found[1] : null; }"


def browser(quick: bool) -> list[Figure]:
    """One record at a time, a while apart, so that each change is one of its own."""
    with world.folder() as data, whole_system(data / "data") as system, sync_playwright() as playwright:
        make_topic(system)
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        page = chromium.new_page()
        sign_in(page, system)
        delays = changes_seen(page, system, CHANGES_QUICK if quick else CHANGES)
        chromium.close()
    note = f"{len(delays)} changes, one at a time"
    return [Figure("append in a broker → DOM of the topic's page", "ms", delays, at_most=TARGET_MS, note=note)]


@contextlib.contextmanager
def whole_system(data: Path) -> Iterator[ConsoleSystem]:
    """What `make up` runs, without demo traffic."""
    system = ConsoleSystem(data)
    try:
        system.up()
        yield system
    finally:
        system.down()


def make_topic(system: ConsoleSystem) -> None:
    config = {"message.timestamp.type": "LogAppendTime"}
    world.create_topic(system.bootstrap_servers, TOPIC, replicas=len(BROKER_IDS), config=config)


def sign_in(page: Page, system: ConsoleSystem) -> None:
    """The page of the topic's partition is open then."""
    page.goto(f"{system.url}/login?next=/topics/{TOPIC}/0")
    page.fill("#username", "admin")
    page.fill("#password", system.password)
    page.click("button[type=submit]")
    page.wait_for_selector('[data-part="leo"]', timeout=PAGE_MS)


def changes_seen(page: Page, system: ConsoleSystem, count: int) -> list[float]:
    """Milliseconds from each append to its sight on the partition's page; the first record only shows that the page is live."""
    producer = Producer({"bootstrap.servers": system.bootstrap_servers, "acks": "all", "linger.ms": 0, **world.QUIET})
    page.evaluate(WATCH)
    choose, delays = random.Random(1), []
    for number in range(count + 1):
        appended_ms = _append(producer)
        seen_ms = page.wait_for_function(WAIT, arg=str(number + 1), timeout=PAGE_MS, polling=50).json_value()
        delays.append(float(seen_ms) - appended_ms)
        page.wait_for_timeout(choose.uniform(200, 700))
    return delays[1:]


def _append(producer: Producer) -> int:
    """Appends one record; the broker's time of it in milliseconds."""
    times: list[int] = []

    def delivered(error: Any, message: Any) -> None:
        if error is not None:
            raise RuntimeError(f"the record was not appended: {error}")
        times.append(message.timestamp()[1])

    producer.produce(TOPIC, b"x", on_delivery=delivered)
    producer.flush(30)
    return times[0]
