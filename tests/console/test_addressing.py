"""Pages of another cluster: the same ones, after `/c/<id>`, and every address on them stays there."""

from __future__ import annotations

import re
import time
from html import unescape
from typing import Any

import pytest
from django.test import Client
from django.urls import get_script_prefix

from broker_core.contract import live
from broker_core.contract.sentences import Verdict
from console.models import AuditEntry, Cluster, Event, Job
from console.snapshot import write
from tests.console.test_pages import PAGES
from tests.support.console_fixtures import publish
from tests.support.console_world import cluster_state

OF_CONSOLE = ("/static/", "/clusters", "/login", "/logout", "/settings", "/audit", "/healthz")
"""What links of another cluster's pages lead to outside of it, beside the pages of other clusters in the switcher."""


@pytest.fixture(autouse=True)
def stage(shown: Any, kafka: Any) -> None:
    """The own cluster. Both are told of by the same brokers."""
    kafka.topics_ = {"orders": {p: [1, 2, 3] for p in range(3)}, "only-north": {0: [1, 2, 3]}}


@pytest.fixture
def north(local: Cluster, redis: Any) -> Cluster:
    found = Cluster.objects.create(pk="north", name="North Sea", bootstrap_servers="127.0.0.1:3", colour="violet")
    now = time.time_ns() // 1_000_000
    state = cluster_state(now, {"orders": 2, "only-north": 1})
    state.take(now)
    publish(redis, state, now, cluster="north")
    return found


def links(page: str) -> set[str]:
    """Without the switcher's, which lead to other clusters on purpose."""
    inside = re.sub(r"<details class=\"switcher\">.*?</details>", "", page, flags=re.DOTALL)
    return {unescape(found) for found in re.findall(r'(?:href|action|hx-get|hx-post)="(/[^"#]*)', inside)}


@pytest.mark.parametrize("path", PAGES)
@pytest.mark.parametrize("htmx", [False, True])
def test_everyone_reads_every_page_of_another_cluster(people: dict[str, Client], north: Cluster, path: str, htmx: bool) -> None:
    for browser in people.values():
        answer = browser.get(f"/c/north{path}", headers={"HX-Request": "true"} if htmx else {})
        assert answer.status_code == 200, path
        assert answer.context["cluster"].pk == "north"
        assert "cluster=north" in answer.context["ws_url"]
        assert not [one for one in links(answer.content.decode()) if not one.startswith(("/c/north/", *OF_CONSOLE))]
    assert get_script_prefix() == "/"


def test_no_link_is_dead(people: dict[str, Client], north: Cluster) -> None:
    for browser in people.values():
        seen, next_paths = set[str](), ["/c/north/"]
        while next_paths:
            path = next_paths.pop()
            if path in seen or path.startswith("/static/") or not path.startswith("/c/north/"):
                continue
            seen.add(path)
            answer = browser.get(path)
            assert answer.status_code == 200, path
            next_paths += re.findall(r'href="(/[^"#]*)', unescape(answer.content.decode()))
        assert {f"/c/north{path}" for path in PAGES if not path.startswith("/groups/")} <= seen
        assert "/c/north/topics/only-north" in seen


def test_sentences_link_within_the_cluster(people: dict[str, Client], north: Cluster) -> None:
    for base in ("", "/c/north"):
        page = people["viewer"].get(f"{base}/").content.decode()
        verdict = page[page.index("data-verdict") :].partition("</div>")[0]
        found = re.findall(r'href="([^"]*)"', verdict)
        assert found and all(one.startswith(f"{base}/") for one in found)
        assert ("data-base" in page) == bool(base)


def test_forms_act_on_the_cluster_of_their_page(people: dict[str, Client], north: Cluster, kafka: Any, sent: Any, monkeypatch: Any) -> None:
    from console.gateway.kafka_cluster import KafkaCluster

    asked = []
    monkeypatch.setattr(KafkaCluster, "create_topic", lambda self, *_, **__: asked.append(self.connection.bootstrap_servers))
    form = {"name": "new", "partitions": "1", "replication_factor": "1"}
    answer = people["admin"].post("/c/north/new-topic", form)
    assert (answer.status_code, answer.headers["Location"]) == (303, "/c/north/topics")
    assert set(asked) == {"127.0.0.1:3"}
    assert people["operator"].post("/c/north/health/run").headers["Location"] == "/c/north/health"
    assert Job.objects.get().cluster_id == "north"
    assert {row.cluster for row in AuditEntry.objects.all()} == {"north"}


def test_what_is_kept_of_a_cluster_is_shown_at_its_pages_only(people: dict[str, Client], north: Cluster, local: Cluster) -> None:
    job = Job.objects.create(cluster=north, kind="health_report", created_by="x")
    for cluster in (local, north):
        Event.objects.create(cluster=cluster, at_ms=1, kind="broker_died", level="bad", sentence=f"a death in {cluster.pk}")
        AuditEntry.objects.create(actor="x", via="page", action="a", target=f"thing of {cluster.pk}", outcome="done", cluster=cluster.pk)
    assert [people["viewer"].get(f"{base}/jobs/{job.pk}").status_code for base in ("", "/c/north")] == [404, 200]
    assert people["operator"].post(f"/jobs/{job.pk}/cancel", {"confirm": "yes"}).status_code == 404
    for base, there, absent in (("", "local", "north"), ("/c/north", "north", "local")):
        page = people["viewer"].get(f"{base}/events").content.decode()
        assert f"a death in {there}" in page
        assert f"a death in {absent}" not in page
    audits = [people["admin"].get(f"{base}/audit").content.decode() for base in ("", "/c/north")]
    assert ["thing of local" in page for page in audits] == [True, False]
    assert all("thing of north" in page for page in audits)


@pytest.mark.parametrize("path", ["/c/nowhere", "/c/nowhere/", "/c/nowhere/topics", "/c/UPPER/", "/c/", "/c//x", "/c/a%20b/"])
def test_a_cluster_that_is_not_registered_is_a_page_that_says_so(people: dict[str, Client], path: str) -> None:
    answer = people["viewer"].get(path)
    assert answer.status_code == 404
    page = answer.content.decode()
    assert "<nav" in page
    assert not [one for one in links(page) if one.startswith("/c/")]
    if "nowhere" in path:
        assert "There is no cluster" in page


@pytest.mark.parametrize(
    "path", ["login", "logout", "static/console.css", "api/v1/clusters", "healthz", "metrics", "clusters", "c/north/topics"]
)
def test_what_is_the_consoles_own_has_no_cluster_before_it(people: dict[str, Client], north: Cluster, path: str) -> None:
    answer = people["admin"].get(f"/c/north/{path}")
    assert answer.status_code == 404
    assert answer.context["cluster"].pk in ("north", "local")


def test_tokens_are_no_clusters(people: dict[str, Client], north: Cluster) -> None:
    assert people["admin"].post("/c/north/settings/tokens/new", {"name": "x", "role": "viewer"}).status_code == 404
    assert "token-name" not in people["admin"].get("/c/north/settings").content.decode()


def test_the_own_cluster_has_the_short_address(people: dict[str, Client]) -> None:
    for path, there in (("/c/local", "/"), ("/c/local/topics?q=a", "/topics?q=a"), ("/c/local//evil.example/", "/evil.example/")):
        answer = people["viewer"].get(path)
        assert (answer.status_code, answer.headers["Location"]) == (302, there)


def test_strangers_sign_in_first_whether_the_cluster_is_there_or_not(north: Cluster) -> None:
    for path in ("/c/north/topics", "/c/nowhere/topics"):
        answer = Client().get(path)
        assert (answer.status_code, answer.headers["Location"]) == (302, f"/login?next={path}")
    assert Client().post("/c/north/health/run").headers["Location"] == "/login?next=/c/north/"


def test_processes_are_controlled_of_the_own_cluster_only(people: dict[str, Client], north: Cluster, monkeypatch: Any) -> None:
    from console.gateway import local as processes

    done: list[Any] = []
    monkeypatch.setattr(processes, "act", lambda *what: done.append(what))
    answer = people["admin"].post("/c/north/brokers/1/kill", {"confirm": "1"})
    assert answer.status_code == 422
    assert "is not the local cluster" in answer.content.decode()
    assert done == []
    assert 'action="/c/north/brokers' not in people["admin"].get("/c/north/brokers").content.decode()


def test_analyses_are_not_available_from_another_cluster_and_that_is_said(people: dict[str, Client], north: Cluster) -> None:
    page = people["admin"].get("/c/north/analytics").content.decode()
    assert "Not available from North Sea" in page
    assert ">Run now<" not in page
    answer = people["admin"].post("/c/north/jobs/new", {"kind": "analytics"})
    assert answer.status_code == 422
    assert "not available from North Sea" in answer.content.decode()


def test_without_redis_the_switcher_says_that_nothing_is_known(people: dict[str, Client], north: Cluster, settings: Any) -> None:
    from console.snapshot.connect import sync_client

    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    sync_client.cache_clear()
    answer = people["viewer"].get("/c/north/")
    assert answer.status_code == 503
    assert answer.content.decode().count("not known now") == 2
    assert people["viewer"].get("/clusters").status_code == 503


def test_all_clusters_on_one_page(people: dict[str, Client], north: Cluster) -> None:
    Cluster.objects.create(pk="new", name="A new one", bootstrap_servers="k:1", read_only=True)
    answer = people["viewer"].get("/clusters")
    rows = answer.context["rows"]
    assert [(row.cluster.pk, row.url, row.words) for row in rows] == [
        ("local", "/", "safe"),
        ("new", "/c/new/", "not known now"),
        ("north", "/c/north/", "safe"),
    ]
    assert rows[2].sentence.startswith("All 3 partitions are safe.")
    page = answer.content.decode()
    assert page.count("not known</td>") == 3
    assert page.count('data-label="brokers">unknown</td>') == 1
    assert "never seen" in page
    assert "Change…" not in page
    assert "Change…" in people["admin"].get("/clusters").content.decode()
    assert people["viewer"].get("/clusters", headers={"HX-Request": "true"}).content.decode().count("<html") == 0


def test_a_cluster_that_has_never_answered_has_no_figures(people: dict[str, Client], local: Cluster, redis: Any) -> None:
    """Whoever asks it writes that it asked, and nothing was counted."""
    Cluster.objects.create(pk="away", name="Away", bootstrap_servers="k:1")
    pipe = redis.pipeline(transaction=True)
    said = Verdict("unknown", "The cluster does not answer: nothing is known of it.")
    write.put(pipe, "away", {"cluster": live.Cluster(id="away", brokers_online=0, brokers_total=0, offline=0, groups=0, verdict=said)})
    write.beat(pipe, "away", 1, 1)
    pipe.execute()
    row = people["viewer"].get("/clusters").context["rows"][1]
    assert (row.cluster.pk, row.live, row.behind, row.as_of.age_ms, row.level) == ("away", None, None, None, "unknown")
    assert row.sentence.endswith("nothing is known of it.")
