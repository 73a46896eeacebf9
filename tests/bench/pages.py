"""The console as a person meets it: 2 000 topics of 5 partitions in a real system, and Chromium.

First paint is the browser's own (first-contentful-paint, from the click); a keystroke counts until the list shows its answer, the pause
before it is asked for included. A change is an append's time in the broker (LogAppendTime) until a page's DOM has it, while 49 more
listeners are told the same over websockets. A search reads a topic of JSON records to its end while pages are asked for.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from itertools import cycle
from statistics import quantiles
from typing import Any, NamedTuple

from confluent_kafka import Producer
from confluent_kafka.admin import NewTopic
from playwright.sync_api import Page, sync_playwright

from broker_core.cli.tokens import make_token
from tests.bench import world
from tests.bench.browser import ARGUMENTS, CHROMIUM, PAGE_MS, TOPIC, changes_seen, make_topic, sign_in, whole_system
from tests.bench.figures import Figure
from tests.support.cluster import eventually
from tests.support.console_system import ConsoleSystem
from tests.support.live_page import LivePage
from tests.support.rest import LOCAL, Answer, Visitor, ask


class Size(NamedTuple):
    topics: int
    rounds: int
    keys: int
    changes: int
    browsers: int
    searched_mb: int


FULL, QUICK = Size(2_000, 5, 30, 200, 50, 400), Size(20, 1, 3, 8, 3, 20)
PARTITIONS, AT_ONCE = 5, 50
PAINT_MS, KEY_MS, CHANGE_P50_MS, CHANGE_P99_MS = 700.0, 150.0, 60.0, 300.0
SEARCH_MB, BESIDE = 50.0, 1.5
SEARCHED, RECORD = "searched", {"order": {"id": 0, "status": "paid", "note": "x" * 940}}
ASKED = ("/", "/topics?sort=lag", f"/topics/{TOPIC}", "/brokers", "/groups?sort=lag", "/events?level=critical")
PAINTED = """() => new Promise((told) => new PerformanceObserver((list, watch) => {
  const paint = list.getEntriesByName("first-contentful-paint")[0];
  if (paint) { watch.disconnect(); told(paint.startTime); }
}).observe({ type: "paint", buffered: true }))"""
TYPED = """() => {
  window.typed = null;
  const field = document.querySelector("#q");
  field.addEventListener("input", () => {
    const began = performance.now();
    document.body.addEventListener("htmx:afterSettle", () => { window.typed = performance.now() - began; }, { once: true });
  });
}"""


def pages(quick: bool) -> list[Figure]:
    size = QUICK if quick else FULL
    with ExitStack() as held:
        system = held.enter_context(whole_system(held.enter_context(world.folder()) / "data"))
        _fill(system, size)
        token = make_token(system.layout, "bench", "admin", None, save=False).token
        last = f"{LOCAL}/topics/topic-{size.topics - 1}"
        eventually(lambda: _rest(system, token, "GET", last).status == 200, 300, "the console knows the last topic")
        playwright = held.enter_context(sync_playwright())
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        page = chromium.new_page(viewport={"width": 1440, "height": 900})
        sign_in(page, system)
        figures = [*_paints(page, system.url, size), *_keystrokes(page, system.url, size), *_changes(page, system, token, size)]
        page.close()
        return [*figures, *_search(system, token, size)]


def _fill(system: ConsoleSystem, size: Size) -> None:
    make_topic(system)
    world.create_topic(system.bootstrap_servers, SEARCHED, replicas=1)
    client = world.admin(system.bootstrap_servers)
    for start in range(0, size.topics, AT_ONCE):
        names = [f"topic-{number}" for number in range(start, min(start + AT_ONCE, size.topics))]
        for made in client.create_topics([NewTopic(name, PARTITIONS, 3) for name in names], operation_timeout=120).values():
            made.result(120)
    value = json.dumps(RECORD).encode()
    producer = Producer({"bootstrap.servers": system.bootstrap_servers, "linger.ms": 50, "batch.size": 1_000_000, **world.QUIET})
    for number in range(size.searched_mb * 1_000_000 // len(value)):
        producer.produce(SEARCHED, value)
        if number % 10_000 == 0:
            producer.flush(60)
    producer.flush(60)


# --- pages


def _paths() -> list[str]:
    topic = f"/topics/{TOPIC}"
    lists = ["/", "/topics", "/topics?sort=lag", "/brokers", "/groups", "/jobs", "/analytics", "/health", "/events", "/audit", "/changes"]
    return [
        *lists,
        "/clusters",
        "/settings",
        "/wanted",
        "/controller",
        "/brokers/1",
        topic,
        f"{topic}/0",
        f"{topic}/0/log",
        f"{topic}/records",
    ]


def _paints(page: Page, url: str, size: Size) -> Iterator[Figure]:
    note = f"{size.topics:,} topics of {PARTITIONS} partitions"
    for path in _paths():
        paints = [_paint(page, url + path) for _ in range(size.rounds)]
        yield Figure(f"first paint of {path}", "ms", paints, at_most=PAINT_MS, note=note)
        note = ""


def _paint(page: Page, url: str) -> float:
    page.goto(url, wait_until="commit")
    return float(page.evaluate(PAINTED))


def _keystrokes(page: Page, url: str, size: Size) -> Iterator[Figure]:
    for path in ("/topics", "/groups"):
        page.goto(f"{url}{path}?q=")
        page.evaluate(TYPED)
        page.focus("#q")
        yield Figure(f"a keystroke in the filter of {path}", "ms", [_keystroke(page, n) for n in range(size.keys)], at_most=KEY_MS)


def _keystroke(page: Page, number: int) -> float:
    """One letter, or the last one taken away, so that each answer is another one."""
    page.evaluate("() => { window.typed = null; }")
    page.keyboard.press("Backspace" if number % 2 else "1")
    return float(page.wait_for_function("() => window.typed", timeout=PAGE_MS).json_value())


def _changes(page: Page, system: ConsoleSystem, token: str, size: Size) -> list[Figure]:
    page.goto(f"{system.url}/topics/{TOPIC}/0")
    page.wait_for_selector('[data-part="leo"]', timeout=PAGE_MS)
    query = f"cluster=local&topics={TOPIC}:0-0"
    with ExitStack() as held:
        others = [held.enter_context(LivePage(system, token, query)) for _ in range(size.browsers - 1)]
        eventually(lambda: all(other.told for other in others), 60, "all listeners are told")
        delays = changes_seen(page, system, size.changes)
    note = f"{len(delays)} changes, one at a time"
    p99 = quantiles(delays, n=100, method="inclusive")[98]
    what = f"append → DOM with {size.browsers} listeners"
    return [
        Figure(f"{what}, p50", "ms", delays, at_most=CHANGE_P50_MS, note=note),
        Figure(f"{what}, p99", "ms", [p99], at_most=CHANGE_P99_MS),
    ]


# --- a search


def _search(system: ConsoleSystem, token: str, size: Size) -> list[Figure]:
    """The same pages in turn: a while alone, then until the search has ended."""
    visitor = Visitor(system.layout.console_port, system.password)
    turns = cycle(ASKED)
    alone = [_asked(visitor, next(turns)) for _ in range(size.keys * len(ASKED))]
    body = {"start": "oldest", "path": "$.order.id", "equals": "1", "count": 1}
    search = _rest(system, token, "POST", f"{LOCAL}/topics/{SEARCHED}/searches", body).body
    beside = []
    while search["state"] in ("queued", "running"):
        beside += [_asked(visitor, next(turns)) for _ in ASKED]
        search = _rest(system, token, "GET", f"{LOCAL}/searches/{search['id']}").body
    return [
        Figure(
            "a search by JSON path reads",
            "MB/s",
            [size.searched_mb * 1000 / search["read_ms"]],
            at_least=SEARCH_MB,
            note=search["sentence"],
        ),
        Figure("p95 of a page beside it / alone", "", [_p95(beside) / _p95(alone)], at_most=BESIDE, note=f"{len(beside)} pages beside it"),
    ]


def _rest(system: ConsoleSystem, token: str, method: str, path: str, body: Any = None) -> Answer:
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    return ask(system.layout.console_port, method, path, None if body is None else json.dumps(body).encode(), headers)


def _asked(visitor: Visitor, path: str) -> float:
    began = time.perf_counter()
    answer = visitor.get(path)
    if answer.status != 200:
        raise RuntimeError(f"{path} answered {answer.status}")
    return (time.perf_counter() - began) * 1000


def _p95(values: Sequence[float]) -> float:
    return quantiles(values, n=20, method="inclusive")[18]
