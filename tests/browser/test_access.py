"""Pages without a mouse and without eyes: every control is reached by Tab, is seen to have the focus and has a name; tables say what
their cells are; nothing is read out ten times a second, and nothing moves for those who do not want it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from playwright.sync_api import Browser, Page, expect

from broker_core.local.process import wait_until
from tests.support.axe import violations
from tests.support.clients import make, produce
from tests.support.cluster import eventually
from tests.support.console_system import ConsoleSystem
from tests.support.open_transactions import begun
from tests.support.pages import overflow, until_known, visit
from tests.support.rest import Visitor

TOPIC, GROUP = "seen-by-ear", "readers-by-ear"
OPEN = "opened-by-ear"
"""A topic, and the transactional id of who is in a transaction there."""
PATHS = {
    "overview": "/",
    "find": "/find?q=ear",
    "brokers": "/brokers",
    "broker": "/brokers/1",
    "broker_if_stopped": "/brokers/1/if-it-stops",
    "broker_settings": "/brokers/1/settings",
    "broker_defaults": "/broker-defaults",
    "topic_settings": f"/topics/{TOPIC}/settings",
    "controller": "/controller",
    "znodes": "/controller/zookeeper?path=/brokers/ids/1",
    "topics": "/topics",
    "topic_create": "/new-topic",
    "topic": f"/topics/{TOPIC}",
    "partition": f"/topics/{TOPIC}/0",
    "partition_log": f"/topics/{TOPIC}/0/log",
    "partition_producers": f"/topics/{OPEN}/0/producers",
    "transaction_abort": f"/topics/{OPEN}/0/abort?start_offset=0",
    "topic_records": f"/topics/{TOPIC}/records?start=oldest",
    "topic_records_new": f"/topics/{TOPIC}/records/new",
    "topic_record": f"/topics/{TOPIC}/records/0/0",
    "groups": "/groups",
    "group": f"/groups/{GROUP}",
    "transactions": "/transactions",
    "transaction": f"/transactions/{OPEN}",
    "transaction_end": f"/transaction-end/{OPEN}",
    "hanging_transactions": f"/hanging-transactions?topic={OPEN}",
    "heat_map": "/heat-map",
    "topology": "/topology",
    "topics_lately": f"/lately?topic={TOPIC}",
    "lag": "/lag",
    "over_time": f"/over-time?kind=group&name={GROUP}",
    "offset_change": "/offset-changes/1",
    "jobs": "/jobs",
    "job": "/jobs/1",
    "job_form": "/jobs/new/move",
    "left_throttles": "/jobs/throttles",
    "moving": "/jobs/moving",
    "moves": f"/jobs/move?topic={TOPIC}",
    "schedules": "/schedules",
    "schedule": "/schedules/1",
    "schedule_new": "/schedules/new",
    "schedule_change": "/schedules/1/change",
    "schedule_preview": "/schedules/preview?cron=0+2+*+*+*",
    "analytics": "/analytics",
    "alerts": "/alerts",
    "alert_rule_preview": "/alerts/preview?figure=group_lag&comparison=%3E&threshold=10&for_s=60",
    "health": "/health",
    "health_report": "/health/1",
    "health_compare": "/health/compare",
    "wanted": "/wanted",
    "events": "/events",
    "changes": "/changes",
    "audit": "/audit",
    "settings": "/settings",
    "console_settings": "/settings/console",
    "masking": "/settings/masking",
    "mask_rule": "/settings/masking/1",
    "schema_registry": "/settings/schema-registry",
    "topic_records_delete": f"/topics/{TOPIC}/records/delete",
    "topic_records_copy": f"/topics/{TOPIC}/records/copy",
    "topic_records_export": f"/topics/{TOPIC}/records/export?text=a",
    "clusters": "/clusters",
    "cluster_new": "/clusters/new",
}
"""By the names of their addresses."""
ELSEWHERE = {
    "cluster_change": "the form of cluster_new",
    "alert_rule_change": "a form of alerts",
    "alert_destination_change": "a form of alerts",
    "schema": "needs a registry that answers",
    "topic_records_found": "a part of topic_records",
    "topic_records_download": "a file",
    "topic_records_export_file": "a file",
    "topic_record_key": "a file",
    "topic_record_value": "a file",
    "group_export": "a file",
    "health_file": "a file",
    "analytics_table": "a file",
    "wanted_mend": "needs a wanted state that differs",
}
BOTH = {"overview": ("light", "dark")}
ONE = {1280: ("light",), 390: ("dark",)}
"""The themes in which a page is looked at: its own parts in one at each width, the frame of all pages in both."""
CONTROLS = """() => {
  const all = [...document.querySelectorAll("a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex]")];
  const shown = (one) => one.checkVisibility({ visibilityProperty: true }) && one.getClientRects().length;
  const stop = (one) => one.type !== "radio" || one.checked; // Tab comes to a group of radios once, arrows lead on within it
  const met = (one) => !one.disabled && one.tabIndex >= 0 && stop(one) && shown(one);
  const found = all.filter(met);
  window.controls = found.map((one) => Boolean(one.closest("[data-verdict], #partial, #heat-map")));
  return found.map((one, index) => { one.dataset.control = index; return one.outerHTML.slice(0, 120); });
}"""
FOCUSED = """() => {
  const one = document.activeElement, style = getComputedStyle(one);
  const box = one.getBoundingClientRect();
  const seen = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2 && box.bottom > 0 && box.top < innerHeight;
  return [one.dataset.control ?? null, seen];
}"""
WENT = """() => {
  const there = new Set([...document.querySelectorAll("[data-control]")].map((one) => Number(one.dataset.control)));
  return window.controls.flatMap((isLive, index) => (there.has(index) ? [] : [[index, isLive]]));
}"""
READ_OUT = """() => {
  const loud = ['[aria-live="polite"]', '[aria-live="assertive"]', '[role="status"]', '[role="alert"]', '[role="log"]'];
  const changing = "[data-field], [data-part], [data-verdict], .rung";
  const found = [...document.querySelectorAll(`main :is(${loud})`)].filter((one) => one.querySelector(changing) || one.closest("[hx-get]"));
  const feed = [document.querySelector(".feed")].filter((one) => one?.getAttribute("aria-live") !== "off");
  const rude = document.querySelectorAll('[aria-live="assertive"]');
  return [...found, ...rude, ...feed].map((one) => one?.outerHTML.slice(0, 200) ?? "no feed");
}"""
MARKS = """() => [...document.querySelectorAll("table")].filter((table) => {
  const heads = [...table.querySelectorAll("thead th")], rows = [...table.querySelectorAll("tbody tr")];
  const named = table.caption || table.getAttribute("aria-label") || table.closest("[aria-labelledby], [aria-label]");
  const headed = heads.length && heads.every((one) => one.textContent.trim());
  return !(named && headed && rows.every((row) => row.querySelector("th[scope=row]") || row.querySelector("[colspan]")));
}).map((table) => table.outerHTML.slice(0, 200))"""


@pytest.fixture(scope="module", autouse=True)
def heard(shared_system: ConsoleSystem) -> Iterator[None]:
    """A topic with records, a group that has read some, a producer in a transaction, and a row in each table: a token, jobs, an earlier
    report."""
    produce(shared_system, TOPIC, [b"x"] * 10)
    producer = Producer({"bootstrap.servers": shared_system.bootstrap_servers})
    producer.produce(TOPIC, b"x", partition=0)
    assert producer.flush(60) == 0
    consumer = Consumer({"bootstrap.servers": shared_system.bootstrap_servers, "group.id": GROUP})
    eventually(lambda: committed(consumer), what="an offset is committed")
    consumer.close()
    make(AdminClient({"bootstrap.servers": shared_system.bootstrap_servers}), NewTopic(OPEN, 1, 3))
    opened = begun(shared_system.bootstrap_servers, OPEN, OPEN, [b"x"] * 3, **{"transaction.timeout.ms": 900_000})
    visitor = Visitor(shared_system.layout.console_port, shared_system.password)
    eventually(lambda: visitor.post(f"/group-offsets/{GROUP}", how="earliest").status == 303, what="offsets are moved")
    visitor.post("/settings/tokens/new", name="by-ear", role="viewer")
    visitor.post("/settings/masking/new", topics="no-*", below="operator", part="value")
    for words in ("as of", "Earlier reports"):
        eventually(
            lambda: visitor.post("/health/run").status == 303, what="a report is asked for: the last is shown before its job is over"
        )
        eventually(lambda words=words: words in visitor.get("/health").body, 120, f"{words!r} on the health page")
    until_known(shared_system, PATHS.values())
    yield
    opened.abort_transaction(60)


def committed(consumer: Consumer) -> bool:
    """False while the group has no coordinator yet that could take it."""
    try:
        return bool(consumer.commit(offsets=[TopicPartition(TOPIC, 0, 1)], asynchronous=False))
    except KafkaException:
        return False


def nameless(page: Page) -> list[Any]:
    """What can have the focus and has no name, as the browser tells assistive software."""
    session = page.context.new_cdp_session(page)
    nodes = session.send("Accessibility.getFullAXTree")["nodes"]
    session.detach()
    focusable = [n for n in nodes if not n.get("ignored") and any(p["name"] == "focusable" for p in n.get("properties", []))]
    kinds = {"RootWebArea", "main", "generic"}
    return [n["role"]["value"] for n in focusable if n["role"]["value"] not in kinds and not n.get("name", {}).get("value", "").strip()]


def comes_into_view(page: Page) -> bool:
    """A live part above may have grown in the very moment: the browser then scrolls on."""
    return wait_until(lambda: page.evaluate(FOCUSED)[1], 10)  # not by the page's own polling, which the content policy forbids


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("name", PATHS)
def test_every_control_is_reached_by_tab_and_has_a_name(name: str, width: int, page: Page, system: ConsoleSystem) -> None:
    page.set_viewport_size({"width": width, "height": 844})
    visit(page, system, PATHS[name])
    expect(page.locator("main h1")).to_have_count(1)
    expect(page.locator("#found[hx-get]")).to_have_count(0, timeout=60_000)  # a search that goes on is made anew as it finds
    page.evaluate("document.activeElement.blur()")
    controls = page.evaluate(CONTROLS)
    reached, unseen = set(), []
    for _ in range(3 * len(controls) + 5):  # what is made anew meanwhile costs steps
        if len(reached) == len(controls):
            break
        page.keyboard.press("Tab")
        number, seen = page.evaluate(FOCUSED)
        if number is not None:
            reached.add(int(number))
            if not seen and not comes_into_view(page):
                unseen.append(controls[int(number)])
    went = dict(page.evaluate(WENT))
    assert all(went.values()), "only what is told live may be made anew under the reader"
    assert not [one for n, one in enumerate(controls) if n not in reached | went.keys()]
    assert not unseen
    assert not nameless(page)
    assert not page.evaluate(MARKS)
    assert not page.evaluate(READ_OUT), "only what a person did, or rare things, are announced, not the figures of an open page"
    assert not violations(page, *BOTH.get(name, ONE[width]))
    assert not overflow(page)


def test_every_page_that_there_is_is_looked_at() -> None:
    from console.urls import urlpatterns

    pages = {one.name for one in urlpatterns if getattr(getattr(one, "callback", None), "is_read", False)}
    assert pages - ELSEWHERE.keys() == PATHS.keys()


def test_the_first_page_is_for_everybody_too(browser: Browser, system: ConsoleSystem) -> None:
    with browser.new_page() as page:
        page.goto(f"{system.url}/login")
        assert not violations(page)
        assert not nameless(page)


MOVING = """() => [...document.querySelectorAll("body *")].filter((one) => {
  const style = getComputedStyle(one);
  return style.animationName !== "none" || style.transitionDuration.split(", ").some((length) => parseFloat(length) > 0);
}).length"""


def test_nothing_moves_for_those_who_do_not_want_it(page: Page, system: ConsoleSystem) -> None:
    visit(page, system, f"/topics/{TOPIC}/0")
    expect(page.locator(".rung").first).to_be_visible()
    page.evaluate("document.querySelector('[data-part=hw]').classList.add('changed')")
    page.emulate_media(reduced_motion="no-preference")
    assert page.evaluate(MOVING) > 0
    page.emulate_media(reduced_motion="reduce")
    assert page.evaluate(MOVING) == 0


def test_the_verdict_keeps_the_focus_when_its_words_change(page: Page, system: ConsoleSystem) -> None:
    visit(page, system, "/")
    link = page.locator('[data-verdict] a[href="/topics"]').first
    link.focus()
    page.evaluate("""async () => {
      const { paintVerdict } = await import(new URL("bind.js", document.querySelector("script[src*='console']").src));
      const box = document.querySelector("[data-verdict]"), text = "All 7 partitions are safe.";
      box.querySelector("a").dataset.old = "yes";
      paintVerdict(box, { level: "ok", text, parts: [{ pieces: [{ text, href: "/topics" }] }] });
    }""")
    expect(page.locator("[data-verdict] a[data-old]")).to_have_count(0)
    expect(link).to_be_focused()


def test_a_row_keeps_the_focus_when_its_list_is_fetched_anew(page: Page, system: ConsoleSystem) -> None:
    visit(page, system, "/topics")
    link = page.get_by_role("link", name=TOPIC, exact=True)
    link.focus()
    page.evaluate("document.querySelector('#partial table').dataset.old = 'yes'")
    page.evaluate("document.body.dispatchEvent(new Event('stale'))")
    expect(page.locator("#partial table[data-old]")).to_have_count(0)
    expect(link).to_be_focused()
