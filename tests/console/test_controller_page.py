"""The controller's page, and the znodes of a real ZooKeeper."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client
from kazoo.client import KazooClient

from broker_core.contract.feed import Controller
from broker_core.contract.live import AsOf
from broker_core.contract.live import Cluster as LiveCluster
from console.models import Cluster, Event
from console.rules.controller_words import controller_sentence
from tests.support.live_rows import some
from tests.support.zookeeper import running_zookeeper

pytestmark = pytest.mark.spec("O1")
NOW, OLD = AsOf(1, 0, stale=False), AsOf(1, 99_000, stale=True)


@pytest.mark.parametrize(
    ("known", "as_of", "told", "level", "words"),
    [
        ({}, NOW, Controller(queue_size=0, queue_time_max_ms=0.0), "ok", "Nothing waits"),
        ({}, NOW, Controller(queue_size=0, queue_time_max_ms=0.0, partitions_moving=2), "ok", "Before it are reassignments."),
        ({}, NOW, Controller(queue_size=9, queue_time_max_ms=5_000.0), "notice", "longer than they should"),
        ({}, NOW, Controller(queue_size=0, queue_time_max_ms=0.0, topics_ineligible_to_delete=1), "notice", "waits for a broker"),
        ({}, NOW, None, "unknown", "not told"),
        ({"source": "collector"}, NOW, None, "ok", "not told"),
        ({"controller_id": None}, NOW, None, "bad", "Nobody is the controller"),
        ({}, OLD, Controller(queue_size=0, queue_time_max_ms=0.0), "unknown", "old"),
    ],
)
def test_what_is_said_first(known: dict[str, Any], as_of: AsOf, told: Controller | None, level: str, words: str) -> None:
    cluster = some(LiveCluster, **{"source": "feed", "controller_id": 2, "controller_epoch": 14} | known)
    found = controller_sentence(cluster, as_of, told)
    assert (found[0], words in found[1]) == (level, True), found


def test_its_page_names_who_it_is_and_was(people: dict[str, Client], shown: Any, tokens: Any) -> None:
    Event.objects.create(cluster_id="local", at_ms=1, kind="controller_moved", level="notice", sentence="broker 2 is the controller now.")
    page = people["viewer"].get("/controller").content.decode()
    assert "Broker 2 is the controller of epoch 14" in page
    assert "broker 2 is the controller now." in page
    assert "/controller/zookeeper" not in page, "a viewer may not read it"
    assert "/controller/zookeeper" in people["operator"].get("/controller").content.decode()
    found = Client().get("/api/v1/clusters/local/controller", headers=tokens["viewer"]).json()
    assert (found["controller_id"], found["controller_epoch"]) == (2, 14)


def test_who_it_is_before_anything_is_known_is_not_nobody(people: dict[str, Client], redis: Any, local: Cluster) -> None:
    assert "nobody" not in people["viewer"].get("/controller").content.decode()


@pytest.fixture(scope="module")
def znodes() -> Iterator[str]:
    """A ZooKeeper with a chroot; the address that ends with it."""
    with running_zookeeper() as server:
        client = KazooClient(server.hosts)
        client.start(timeout=30)
        for number in range(450):
            client.create(f"/kafka/brokers/topics/t{number}", b"{}", makepath=True)
        client.create("/kafka/config/users/alice", json.dumps({"config": {"SCRAM-SHA-256": "stored_key=abc"}}).encode(), makepath=True)
        client.create("/kafka/<script>alert(1)", b"<script>alert(2)</script>")
        client.stop()
        client.close()
        yield f"{server.hosts}/kafka"


@pytest.fixture
def rooted(local: Cluster, znodes: str) -> Cluster:
    local.zookeeper = znodes
    local.save()
    return local


def test_znodes_are_read_within_the_chroot(people: dict[str, Client], shown: Any, rooted: Cluster, tokens: Any) -> None:
    operator = people["operator"]
    top = operator.get("/controller/zookeeper").content.decode()
    assert ">brokers</a>" in top
    assert "<script>alert" not in top
    second = operator.get("/controller/zookeeper?path=/brokers/topics&page=2").content.decode()
    assert (">t200<" in second, ">t399<" in second, ">t400<" in second, "page 2 of 3" in second) == (True, True, False, True)
    assert ">t31<" in operator.get("/controller/zookeeper?path=/brokers/topics&q=t31").content.decode()
    user = operator.get("/controller/zookeeper?path=/config/users/alice").content.decode()
    assert "SCRAM-SHA-256" in user
    assert "stored_key" not in user
    markup = operator.get("/controller/zookeeper", {"path": "/<script>alert(1)"})
    assert (markup.status_code, b"<script>alert" in markup.content, b"&lt;script&gt;alert(2)" in markup.content) == (200, False, True)
    found = Client().get("/api/v1/clusters/local/znode?path=/brokers/topics/t7", headers=tokens["operator"]).json()
    assert (found["text"], found["children"], found["version"]) == ("{}", [], 0)


@pytest.mark.parametrize(("path", "status"), [("/nothing/here", 404), ("no-path", 422), ("/a/../b", 422)])
def test_what_is_not_there_is_said(people: dict[str, Client], shown: Any, rooted: Cluster, path: str, status: int) -> None:
    assert people["operator"].get("/controller/zookeeper", {"path": path}).status_code == status


def test_only_operators_read_znodes(people: dict[str, Client], shown: Any, rooted: Cluster, tokens: Any) -> None:
    assert people["viewer"].get("/controller/zookeeper").status_code == 403
    assert Client().get("/api/v1/clusters/local/znode", headers=tokens["viewer"]).status_code == 403


def test_a_zookeeper_that_is_away_or_not_known(people: dict[str, Client], shown: Any, local: Cluster) -> None:
    answer = people["operator"].get("/controller/zookeeper")
    assert (answer.status_code, "did not answer" in answer.content.decode()) == (503, True)
    local.zookeeper = ""
    local.save()
    answer = people["operator"].get("/controller/zookeeper")
    assert (answer.status_code, "No ZooKeeper of local is known" in answer.content.decode()) == (422, True)


def test_a_chroot_that_is_missing_is_not_made(people: dict[str, Client], shown: Any, local: Cluster, znodes: str) -> None:
    local.zookeeper = znodes.replace("/kafka", "/typo")
    local.save()
    assert people["operator"].get("/controller/zookeeper").status_code == 404
    local.zookeeper = znodes.replace("/kafka", "")
    local.save()
    assert ">typo<" not in people["operator"].get("/controller/zookeeper").content.decode()
