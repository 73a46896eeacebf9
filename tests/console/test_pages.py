"""Each page for each role, as a page and as htmx's partial."""

from __future__ import annotations

import html
import json
import re
from datetime import timedelta
from html import unescape
from typing import Any
from urllib.parse import unquote

import pytest
from django.contrib.staticfiles import finders
from django.test import Client
from django.urls import resolve, reverse
from django.utils import timezone

from broker_core.contract.feed import Member
from console.models import AuditEntry, Job
from console.rules.pieces import link
from console.snapshot import keys
from tests.support.console_fixtures import publish
from tests.support.console_world import BROKERS
from tests.support.feed_rows import batch, group_claim, requests
from tests.support.logs import looked_at

pytestmark = pytest.mark.spec("O1")

PAGES = (
    "/",
    "/brokers",
    "/topics",
    "/topics/orders",
    "/topics/orders/1",
    "/topics/orders/1/log",
    "/topics/orders/1/producers",
    "/topics/orders/records",
    "/topics/orders/records/export",
    "/groups",
    "/groups/billing",
    "/transactions",
    "/hanging-transactions",
    "/jobs",
    "/schedules",
    "/analytics",
    "/health",
    "/alerts",
    "/wanted",
    "/events",
    "/settings",
)


@pytest.fixture(autouse=True)
def stage(shown: Any, kafka: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every page has the pretended cluster."""
    kafka.topics_ = {"orders": {p: [1, 2, 3] for p in range(3)}, "clicks": {p: [1, 2, 3] for p in range(2)}}
    monkeypatch.setattr("console.log_looks.look", looked_at)


@pytest.mark.parametrize("path", PAGES)
@pytest.mark.parametrize("htmx", [False, True])
def test_everyone_signed_in_reads_every_page(people: dict[str, Client], path: str, htmx: bool) -> None:
    headers = {"HX-Request": "true"} if htmx else {}
    for browser in people.values():
        answer = browser.get(path, headers=headers)
        assert answer.status_code == 200, path
        assert (b"<html" in answer.content) is not htmx
        assert "script-src 'self'" in answer.headers["Content-Security-Policy"]


def test_no_link_is_dead(people: dict[str, Client]) -> None:
    """Every page that links lead to, from the overview on, is there for whoever may see the link."""
    for browser in people.values():
        seen, next_paths = set[str](), ["/"]
        while next_paths:
            path = next_paths.pop()
            if path in seen:
                continue
            seen.add(path)
            if path.startswith("/static/"):
                assert finders.find(path.removeprefix("/static/")), path
                continue
            if path == "/controller/zookeeper":  # of a cluster that is pretended: test_controller_page has a real one
                continue
            answer = browser.get(path)
            assert answer.status_code == 200, path
            if answer.headers["Content-Type"].startswith("text/html"):
                next_paths += [unescape(found) for found in re.findall(r'href="(/[^"#]*)', answer.content.decode())]
        assert set(PAGES) <= seen


@pytest.mark.parametrize("path", [*PAGES, "/audit", "/new-topic", "/topics/orders/records/new"])
def test_nobody_reads_a_page_without_signing_in(local: Any, path: str) -> None:
    answer = Client().get(path)
    assert answer.status_code == 302
    assert answer.headers["Location"].startswith("/login")


@pytest.mark.parametrize(
    ("ask", "back"),
    [
        (lambda browser: browser.get("/topics?q=a"), "/topics%3Fq%3Da"),
        (lambda browser: browser.post("/health/run"), "/"),
        (lambda browser: browser.post("/brokers/1/kill", {"confirm": "1"}), "/"),
    ],
)
def test_signing_in_leads_to_a_page_that_can_be_read(people: dict[str, Client], ask: Any, back: str) -> None:
    """A form that was sent after the session's end is not sent again, and its address alone is no page."""
    answer = ask(Client())
    assert (answer.status_code, answer.headers["Location"]) == (302, f"/login?next={back}")
    assert people["admin"].get(unquote(back)).status_code == 200


def test_a_part_of_a_page_is_not_filled_with_the_sign_in(local: Any) -> None:
    """The whole page goes there."""
    answer = Client().get("/health", headers={"HX-Request": "true"})
    assert (answer.status_code, answer.headers["HX-Redirect"], answer.content) == (204, "/login?next=/health", b"")


def test_only_admins_read_the_audit(people: dict[str, Client]) -> None:
    assert [people[p].get("/audit").status_code for p in ("viewer", "operator", "admin")] == [403, 403, 200]


def test_the_form_of_a_new_topic_is_for_operators(people: dict[str, Client]) -> None:
    assert [people[p].get("/new-topic").status_code for p in ("viewer", "operator", "admin")] == [403, 200, 200]


def test_a_page_names_what_it_needs_live(people: dict[str, Client]) -> None:
    assert people["viewer"].get("/topics/orders").context["ws_url"] == "/ws/v1/live?cluster=local&topics=orders:0-49&events=1"
    assert "groups=billing" in people["viewer"].get("/groups/billing").context["ws_url"]


def test_the_overview_says_the_verdict_first(people: dict[str, Client]) -> None:
    context = people["viewer"].get("/").context
    assert context["verdict"].text.startswith("All 5 partitions are safe.")
    assert context["live"].controller_epoch == 14
    assert [b.broker_id for b in context["brokers"]] == [1, 2, 3]


@pytest.mark.parametrize(("about", "view"), [("brokers", "brokers"), ("topics", "topics"), ("groups", "groups"), ("topic/a.b", "topic")])
def test_what_a_sentence_names_is_where_its_link_leads(about: str, view: str) -> None:
    """The addresses are made without Django, which has its own table of them."""
    found = resolve(link("words", about).href)
    assert (found.url_name, found.kwargs) == (view, {"name": "a.b"} if view == "topic" else {})


@pytest.mark.parametrize("path", ["/topics/nothing", "/groups/nothing", "/jobs/99", "/topics/%3Cscript%3Ealert(1)%3C%2Fscript%3E"])
def test_what_is_not_there_is_a_page_that_says_so(people: dict[str, Client], path: str) -> None:
    answer = people["viewer"].get(path)
    assert answer.status_code == 404
    assert b"<script>alert" not in answer.content


def test_markup_in_names_is_only_text(people: dict[str, Client], shown: Any, redis: Any) -> None:
    """Hostile group and client ids reach pages as text."""

    hostile = "<img src=x onerror=alert(1)>/é&"
    group = group_claim(hostile, {"orders": {0: 5}}, members=[Member("m0", "<script>alert(2)</script>", assignment={"orders": [0]})])
    shown.apply_batch(batch(1, [], 2000, groups=[group]), 2000)
    shown.take(2000)
    publish(redis, shown, 2000)
    from urllib.parse import quote

    for path in ("/", "/groups", "/groups/" + quote(hostile, safe="")):
        answer = people["viewer"].get(path)
        assert answer.status_code == 200, path
        assert b"<img src=x" not in answer.content
        assert b"<script>alert(2)" not in answer.content


@pytest.mark.parametrize("name", ["", " ", "a\nb", "a\n", "%2F", "x" * 3_000])
def test_a_group_may_be_called_anything(people: dict[str, Client], shown: Any, redis: Any, kafka: Any, name: str) -> None:
    """Any client may choose it, the empty one included: offsets may be committed for that. No page fails by a link to it."""
    shown.apply_batch(batch(1, [], 2000, groups=[group_claim(name, {"orders": {0: 5}}, members=0)]), 2000)
    shown.take(2000)
    publish(redis, shown, 2000)
    kafka.topics_ = {"orders": {0: [1, 2, 3]}}
    own = reverse("group", args=[name])
    for path in ("/", "/groups", "/topics/orders"):
        answer = people["admin"].get(path)
        assert answer.status_code == 200, path
        assert f'href="{own}"' in answer.content.decode(), path
    assert people["admin"].get(own).context["group"].group == name
    assert people["operator"].post(reverse("group_offsets", args=[name]), {"topic": "orders", "to": "latest"}).status_code == 303
    assert people["admin"].get(link(name, f"group/{name}").href).context["group"].group == name


@pytest.mark.spec("P1", "P2")
def test_what_waits_at_a_broker_is_shown_by_kind(people: dict[str, Client], shown: Any, redis: Any) -> None:
    """The four purgatories, and what is before the controller; a broker that did not tell shows none."""

    kinds = ("produce", "fetch", "join", "heartbeat")
    waiting, expired = dict(zip(kinds, (61, 62, 63, 64), strict=True)), dict(zip(kinds, (71, 72, 73, 74), strict=True))
    office = {"queue_size": 5, "queue_time_max_ms": 1500, "requests_waiting": {1: 0, 3: 4}}
    said = {"purgatory": waiting, "purgatory_expired": expired, "controller": office}
    shown.apply_batch(batch(1, [], 2000, said=said), 2000)
    shown.set_brokers({broker: BROKERS[broker] for broker in (1, 2)}, 2000)
    shown.take(2000)
    publish(redis, shown, 2000)
    page = people["viewer"].get("/brokers").content.decode()
    for name in kinds:
        for field, figures in (("purgatory", waiting), ("purgatory_expired", expired)):
            told = re.findall(rf'data-field="{field}.{name}" data-as="whole" data-quiet>([^<]*)</span>', page)
            assert told == [str(figures[name]), "0", "–"]
    assert re.findall(r'data-as="present" data-present="(\w*)"', page) == ["yes", "", ""]
    told = re.findall(r'data-field="controller.requests_waiting" data-as="byBroker" data-quiet>([^<]*)</td>', page)
    assert told == ["3: 4", "–", "–"]


@pytest.mark.spec("P1")
def test_the_timing_wheels_stand_on_their_broker_s_page(people: dict[str, Client], shown: Any, redis: Any) -> None:
    wheels = [{"tick_ms": 1, "slots": [0] * 20}, {"tick_ms": 400, "slots": [0, 3, *[0] * 17, 1200]}, {"tick_ms": 8000, "slots": [1] * 20}]
    shown.apply_batch(batch(1, [], 2000, said={"timing_wheels": wheels}), 2000)
    shown.set_brokers({broker: BROKERS[broker] for broker in (1, 2)}, 2000)
    shown.take(2000)
    publish(redis, shown, 2000)

    def rows(broker: int) -> list[tuple[str, ...]]:
        page = people["viewer"].get(f"/brokers/{broker}").content.decode()
        body = page[page.index('data-as="wheels"') :]
        cells = (r'<th scope="row">', r'<td class="num" data-label="deadlines">', r'<td class="mono full" data-label="slots">')
        row = r"</t[hd]>".join(rf"{cell}([^<]*)" for cell in cells)
        return re.findall(row, body[: body.index("</tbody>")])

    assert rows(1) == [
        ("1\u202fms", "0", " ".join("·" * 20)),
        ("400\u202fms", "1\u202f203", f"· 3 {' '.join('·' * 17)} 1200"),
        ("8\u202fs", "20", " ".join("1" * 20)),
    ]
    assert rows(3) == [], "it does not run"


def test_one_of_a_kind_is_not_told_as_many(people: dict[str, Client], shown: Any, redis: Any) -> None:
    """Live figures with their noun; of a broker that does not tell neither is known."""
    shown.apply_batch(batch(1, [], 2000, said={"loop_stalls": 1, "connections": 1}), 2000)
    shown.apply_batch(batch(2, [], 2000, said={"loop_stalls": 2_000, "connections": 0}), 2000)
    shown.set_brokers({broker: BROKERS[broker] for broker in (1, 2)}, 2000)
    shown.take(2000)
    publish(redis, shown, 2000)
    page = people["viewer"].get("/brokers").content.decode()
    for noun, told in (
        ("stall", ["1 stall", "2\u202f000 stalls", "– stalls"]),
        ("connection", ["1 connection", "0 connections", "– connections"]),
    ):
        assert re.findall(rf'data-as="counted" data-noun="{noun}" data-quiet>([^<]*)</span>', page) == told


@pytest.mark.spec("N1")
def test_where_requests_spend_their_time_is_shown(people: dict[str, Client], shown: Any, redis: Any) -> None:
    """The mean of each stage; nothing of a kind that never came."""
    spent = {"request_queue": 2, "local": 8, "remote": 10_480, "response_send": 0.4, "total": 10_490.4}
    said = {"requests": {"Produce": requests(4, stages_ms=spent), "Fetch": requests(0)}}
    shown.apply_batch(batch(1, [], 2000, said=said), 2000)
    shown.take(2000)
    publish(redis, shown, 2000)
    page = people["viewer"].get("/brokers").content.decode()
    told = re.findall(r'data-field="requests.(\w+).stages_ms" data-as="stages" data-quiet>([^<]*)</span>', page)
    assert ("Produce", "0.5 + 2.0 + 2\u202f620 + 0.1\u202fms") in told
    assert dict(told)["Fetch"] == ""


FOLDER_GONE = {
    "path": "/data",
    "offline_since_ms": 1_700_000_000_000,
    "offline_why": "append of orders-0 failed: [Errno 28] No space left on device",
    "free_bytes": None,
    "total_bytes": 1 << 30,
    "full_in_s": None,
}


def test_an_offline_data_folder_is_told_on_every_way_with_what_to_do(people: dict[str, Client], shown: Any, redis: Any) -> None:
    """The verdict, the brokers' page, the metrics; and the page has the one action."""
    shown.apply_batch(batch(1, [], 2000, said={"log_dir": {**FOLDER_GONE, "offline_since_ms": None, "free_bytes": 1 << 29}}), 2000)
    shown.apply_batch(batch(2, [], 2000, said={"log_dir": FOLDER_GONE}), 2000)
    shown.take(2000)
    publish(redis, shown, 2000)
    page = html.unescape(people["admin"].get("/brokers").content.decode())
    verdict = re.findall(r'data-text="([^"]*)"', page)[0]
    assert "The data folder of broker 2 is offline since 14 Nov 22:13:20 UTC (append of orders-0 failed" in verdict
    assert "then restart broker 2." in verdict
    states = re.findall(r'data-field="log_dir.state" data-as="state" data-level="(\w+)">([^<]*)<', page)
    assert states == [("ok", "serves"), ("bad", "offline"), ("ok", "serves")]
    assert 'action="/brokers/2/restart"' in page
    metrics = people["viewer"].get("/metrics").content.decode()
    assert 'highwater_broker_log_dir_offline{cluster="local",broker="1"} 0' in metrics
    assert 'highwater_broker_log_dir_offline{cluster="local",broker="2"} 1' in metrics
    assert f'highwater_broker_log_dir_free_bytes{{cluster="local",broker="1"}} {1 << 29}' in metrics
    assert 'log_dir_free_bytes{cluster="local",broker="2"}' not in metrics


def test_a_brokers_page_has_all_its_data_folders(people: dict[str, Client], shown: Any, redis: Any) -> None:
    serves = {**FOLDER_GONE, "path": "/one", "offline_since_ms": None, "free_bytes": 1 << 29, "logs": 41}
    said = {"log_dir": {**FOLDER_GONE, "path": "/two", "logs": 7}, "other_log_dirs": [serves]}
    shown.apply_batch(batch(2, [], 2000, said=said), 2000)
    shown.take(2000)
    publish(redis, shown, 2000)
    page = html.unescape(people["viewer"].get("/brokers/2").content.decode())
    assert "The data folder /two of broker 2 is offline since" in page
    assert re.findall(r'data-label="replicas">41<.*data-label="free">([^<]*)<', page) == ["512\u202fMiB"]
    assert '<span class="under mono">/one</span>' in page


def test_without_redis_pages_say_so(people: dict[str, Client], settings: Any) -> None:
    from console.snapshot.connect import sync_client

    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    sync_client.cache_clear()
    answer = people["viewer"].get("/")
    assert answer.status_code == 503
    assert answer.context["form_error"]["title"] == "The live snapshot is away"
    assert answer.context["live"] is None
    assert people["viewer"].get("/healthz").json()["redis"] is False


def test_without_brokers_a_topic_is_still_shown(people: dict[str, Client], kafka: Any) -> None:
    kafka.away = True
    answer = people["viewer"].get("/topics/orders")
    assert answer.status_code == 200
    assert "CLUSTER_UNREACHABLE" in answer.context["configs_error"]


def test_a_topic_that_is_being_deleted_says_so_and_what_it_waits_for(people: dict[str, Client], shown: Any, redis: Any) -> None:
    held = "orders is being deleted; this waits for broker 2, which is down and holds copies of it."
    before = people["admin"].get("/topics/orders").content.decode()
    assert 'data-dialog="delete-topic"' in before
    shown.set_brokers({b: BROKERS[b] for b in (1, 3)}, 5000)
    shown.set_deleting({"orders"}, 5000)
    shown.take(5000)
    publish(redis, shown, 5000)
    page = people["admin"].get("/topics/orders").content.decode()
    assert f">Topic {held}</p>" in page
    assert 'data-dialog="delete-topic"' not in page
    assert page.count('data-level="notice">being deleted</span>') == 6
    rows = people["viewer"].get("/topics").content.decode()
    assert rows.count('data-level="notice">being deleted</span>') == 1


def test_what_no_leader_tells_of_is_a_bound_or_a_dash_and_never_0(people: dict[str, Client], shown: Any, redis: Any) -> None:
    shown.set_brokers({b: BROKERS[b] for b in (1, 2)}, 5000)
    shown.take(5000)
    publish(redis, shown, 5000)
    orders = people["admin"].get("/topics/orders").content.decode()
    kept = re.findall(r'data-field="(?:messages|size_bytes)" data-as="measured-\w+" data-quiet>([^<]*)<', orders)
    assert len(kept) == 2 and all(words.startswith("≥") for words in kept), kept
    assert "<p>All records in 3 partitions" in orders
    shown.set_brokers({}, 6000)
    shown.take(6000)
    publish(redis, shown, 6000)
    for path, of in (("/topics/orders", 2), ("/brokers", 3)):
        page = people["admin"].get(path).content.decode()
        found = re.findall(r'data-field="(?:messages|size_bytes)" data-as="measured-\w+" data-quiet>([^<]*)<', page)
        assert found == ["–"] * of


def test_a_list_is_cut_into_pages(people: dict[str, Client], redis: Any) -> None:
    """10 000 partitions are never scanned for a page: it reads the 50 it shows."""
    from tests.support.console_world import cluster_state

    state = cluster_state(1000, {f"t{n:03}": 1 for n in range(120)} | {"wide": 500})
    state.take(1000)
    publish(redis, state, 1000)
    first = people["viewer"].get("/topics")
    assert len(first.context["rows"]) == 50
    assert first.context["pages"] == {"page": 1, "last": 3, "total": 123, "prev_url": None, "next_url": "?page=2"}
    wide = people["viewer"].get("/topics/wide?page=3")
    assert [row.partition for row in wide.context["rows"]][:2] == [100, 101]
    assert people["viewer"].get("/topics?q=t11").context["pages"]["total"] == 10


@pytest.fixture
def torn(shown: Any, redis: Any) -> Any:
    """300 topics of one partition, one of 120, and one of the system's own.

    Three of the small ones, the system's own and 70 partitions of the wide one lack a copy, two lack two.
    """
    from tests.support.console_world import cluster_state
    from tests.support.feed_rows import batch, claim

    state = cluster_state(1000, {f"t{n:03}": 1 for n in range(300)} | {"wide": 120, "__own": 1})
    state.take(1000)
    publish(redis, state, 1000)
    worse = {("t005", 0), ("wide", 99)}
    for topic, number in [("__own", 0), *((f"t{n:03}", 0) for n in (3, 5, 7)), *(("wide", n) for n in range(30, 100))]:
        replicas = [(number + i) % 3 + 1 for i in range(3)]
        isr = replicas[: 1 if (topic, number) in worse else 2]
        row = claim(topic, number, replicas[0], replicas, leader=replicas[0], isr=isr, end=100)
        state.apply_batch(batch(replicas[0], [row], 1100), 1100)
    publish_changes(redis, state, 1100)
    return state


def publish_changes(redis: Any, state: Any, now_ms: int) -> None:
    """As `live` does: only what changed is written."""
    from console.snapshot import write

    pipe = redis.pipeline(transaction=True)
    write.put(pipe, "local", state.take(now_ms)[0])
    pipe.execute()


def test_troubled_topics_are_listed_alone_the_worst_first(people: dict[str, Client], torn: Any) -> None:
    found = people["viewer"].get("/topics?troubled=1").context
    assert [row.topic for row in found["rows"]] == ["t005", "wide", "t003", "t007", "__own"]
    assert [(v["label"], v["chosen"], v["count"]) for v in found["views"]] == [("All", False, None), ("Troubled only", True, 5)]
    assert "topic_rows=t005,wide,t003,t007,__own" in found["ws_url"]
    assert [row.topic for row in people["viewer"].get("/topics?troubled=1&q=T00").context["rows"]] == ["t005", "t003", "t007"]
    some = people["viewer"].get("/topics?q=t1&page=2").context
    assert [v["url"] for v in some["views"]] == ["/topics?q=t1", "/topics?q=t1&troubled=1"]
    assert some["pages"]["prev_url"] == "?q=t1&page=1"


def test_nothing_troubled_is_said_in_words(people: dict[str, Client]) -> None:
    for path in ("/topics?troubled=1", "/topics/orders?troubled=1"):
        assert "in trouble.</span>" in people["viewer"].get(path).content.decode()


def test_troubled_partitions_are_listed_alone_and_followed_live(people: dict[str, Client], torn: Any, redis: Any) -> None:
    """The worst first, a page at a time; the page's websocket is told these partitions and no others."""
    from console.live.browser.subscription import parse

    first = people["viewer"].get("/topics/wide?troubled=1").context
    numbers = [row.partition for row in first["rows"]]
    assert numbers == [99, *range(30, 79)]
    assert (first["pages"]["last"], first["pages"]["next_url"]) == (2, "?troubled=1&page=2")
    wanted = parse(first["ws_url"].partition("?")[2])
    assert [n for n in range(120) if wanted.wants(f"partition/wide/{n}")] == sorted(numbers)
    assert first["views"][1]["count"] == 70
    assert "Troubled only" in people["viewer"].get("/topics/wide").content.decode()
    torn.drop_topic("wide", 2000)
    publish_changes(redis, torn, 2000)
    assert "wide" not in [row.topic for row in people["viewer"].get("/topics?troubled=1").context["rows"]]


def test_whoever_may_not_see_tokens_is_not_told_that_there_are_none(people: dict[str, Client], tokens: Any) -> None:
    said = {name: people[name].get("/settings").content.decode() for name in people}
    assert [name for name in said if "No token yet" in said[name]] == []
    assert [name for name in said if "Only admins see tokens." in said[name]] == ["viewer", "operator"]


def test_a_job_has_a_page(people: dict[str, Client], local: Any) -> None:
    job = Job.objects.create(cluster=local, kind="health_report", created_by="x", message="<b>bold</b>")
    answer = people["viewer"].get(f"/jobs/{job.pk}")
    assert answer.context["job"].state == "queued"
    assert b"<b>bold" not in answer.content


def test_audit_rows_are_paged(people: dict[str, Client]) -> None:
    AuditEntry.objects.bulk_create([AuditEntry(actor="x", via="page", action="a", target=str(n), outcome="done") for n in range(60)])
    first = people["admin"].get("/audit")
    assert len(first.context["rows"]) == 50
    assert len(people["admin"].get("/audit" + first.context["pages"]["next_url"]).context["rows"]) == 10


@pytest.mark.parametrize("text", ["{", '{"broker_id": "one"}'], ids=["no JSON", "of another version"])
def test_a_value_that_cannot_be_read_is_as_good_as_absent(
    people: dict[str, Client], shown: Any, redis: Any, caplog: pytest.LogCaptureFixture, text: str
) -> None:
    for key in ("cluster", "broker/1", "topic/orders", "partition/clicks/0", "group/billing"):
        redis.hset(*keys.place("local", key), text)
    assert [broker.broker_id for broker in people["viewer"].get("/").context["brokers"]] == [2, 3]
    assert [people["viewer"].get(path).status_code for path in ("/topics/orders", "/groups/billing", "/topics/clicks")] == [404, 404, 200]
    left_out = {record.args[0] for record in caplog.records if "left out" in record.msg and record.args}
    assert left_out == {"Cluster", "Broker", "Topic", "Partition", "Group"}


def test_the_tour_says_what_each_role_may_do(people: dict[str, Client]) -> None:
    """Five steps for everybody, on pages that are there; offered on the overview only."""
    for role, browser in people.items():
        page = browser.get("/brokers").content.decode()
        found = re.search(r'<script id="tour-steps" type="application/json">(.*?)</script>', page)
        assert found is not None, role
        steps = json.loads(found[1])
        assert [browser.get(step["url"]).status_code for step in steps] == [200] * 5
        said = " ".join(step["words"] for step in steps)
        assert ("An operator moves partitions" in said) is (role == "viewer")
        assert ("An admin, on the machine" in said) is (role != "admin")
        assert "data-tour-invite" not in page
        assert "data-tour-invite" in browser.get("/").content.decode()


def test_a_job_that_nobody_goes_on_with_says_so_in_the_list_and_on_its_page(people: dict[str, Client], local: Any) -> None:
    """What it said last stands there, too: as of when that was."""
    before = timezone.now() - timedelta(minutes=5)
    job = Job.objects.create(
        cluster=local,
        kind="health_report",
        state=Job.RUNNING,
        message="2 are moving.",
        created_at=before,
        started_at=before,
        stepped_at=before,
    )
    for path in ("/jobs", f"/jobs/{job.pk}"):
        page = people["viewer"].get(path).content.decode()
        assert "2 are moving." in page
        assert f"What is said of it is as of {before:%H:%M:%S} UTC." in page
