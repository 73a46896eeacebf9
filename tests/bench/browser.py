"""From an append in a broker to the DOM of a page: the whole system, and Chromium on the topic's page.

The append's time is the broker's own (the topic has LogAppendTime, and the delivery report carries it); a MutationObserver in
the page notes when the partition's log end changed. Both read the same machine's clock, in milliseconds.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from confluent_kafka import Producer
from playwright.sync_api import Page, sync_playwright

from broker_core.local.layout import BROKER_IDS
from tests.bench import world
from tests.bench.figures import Figure
from tests.support.cluster import TestCluster

TOPIC = "seen"
CHANGES, CHANGES_QUICK = 60, 8
UP_SECONDS = 240.0
DOWN_SECONDS = 60.0
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
    with world.folder() as data, _system(data / "data") as (cluster, password):
        config = {"message.timestamp.type": "LogAppendTime"}
        world.create_topic(cluster.bootstrap_servers, TOPIC, replicas=len(BROKER_IDS), config=config)
        with sync_playwright() as playwright:
            chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
            page = chromium.new_page()
            _sign_in(page, cluster.layout.console_url, password)
            delays = _delays(page, cluster, CHANGES_QUICK if quick else CHANGES)
            chromium.close()
    return [
        Figure(
            "append in a broker → DOM of the topic's page", "ms", delays, at_most=TARGET_MS, note=f"{len(delays)} changes, one at a time"
        )
    ]


@contextlib.contextmanager
def _system(data: Path) -> Iterator[tuple[TestCluster, str]]:
    """`make up` without demo traffic; the first admin's password."""
    cluster = TestCluster(data)
    command = [sys.executable, "-m", "broker_core.cli.main", "--data", str(data), "up", "--no-demo"]
    process = subprocess.Popen(command, cwd=world.ROOT, env={**os.environ, **cluster.environment}, stdout=subprocess.PIPE, text=True)
    try:
        yield cluster, _password(process)
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(DOWN_SECONDS)


def _password(process: subprocess.Popen[str]) -> str:
    """Reads what `up` prints until it is ready."""
    assert process.stdout is not None
    printed, deadline = [], time.monotonic() + UP_SECONDS
    for line in process.stdout:
        printed.append(line)
        if "Bootstrap:" in line:
            return next(words.split()[-1] for words in printed if "admin password: " in words)
        if time.monotonic() > deadline:
            break
    raise RuntimeError(f"the system did not come up; it said last: {''.join(printed[-5:])}")


def _sign_in(page: Page, url: str, password: str) -> None:
    page.goto(f"{url}login?next=/topics/{TOPIC}/0")
    page.fill("#username", "admin")
    page.fill("#password", password)
    page.click("button[type=submit]")
    page.wait_for_selector('[data-part="leo"]', timeout=PAGE_MS)


def _delays(page: Page, cluster: TestCluster, count: int) -> list[float]:
    """Milliseconds from each append to its sight; the first record only shows that the page is live."""
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers, "acks": "all", "linger.ms": 0, **world.QUIET})
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
