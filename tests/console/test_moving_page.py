"""The page of moves under way: whose they are, and what others began taken over or cancelled."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from console.models import Cluster, Job

PATH = "/jobs/moving"


@pytest.fixture(autouse=True)
def stage(local: Cluster, shown: Any, kafka: Any, sent: Any) -> None:
    kafka.topics_ = {name: {p: [1, 2] for p in range(3)} for name in ("orders", "clicks")}
    kafka.moving = {("orders", 1): [2, 3], ("clicks", 0): [1, 2, 3]}


def text(client: Client) -> str:
    return client.get(PATH).content.decode()


def test_a_viewer_sees_whose_moves_are_under_way_and_changes_none(people: dict[str, Client], local: Cluster, kafka: Any) -> None:
    job = Job.objects.create(
        cluster=local, kind="reassignment", state=Job.RUNNING, params={"assignments": [{"topic": "clicks", "partition": 0}]}
    )
    page = text(people["viewer"])
    assert "orders-1" in page and "others’" in page and f">job {job.pk}<" in page and "1 begun by others" in page
    assert 'name="move"' not in page
    for action in ("adopt", "cancel"):
        assert people["viewer"].post(f"{PATH}/{action}", {"move": "orders/1", "confirm": "yes"}).status_code == 403
    assert not kafka.changes("reassign")


def test_moves_are_taken_over_with_a_throttle(people: dict[str, Client], kafka: Any) -> None:
    answer = people["operator"].post(f"{PATH}/adopt", {"move": ["orders/1", "clicks/0"], "throttle": "1 MiB"})
    job = Job.objects.get()
    assert (answer.status_code, answer["Location"]) == (303, f"/jobs/{job.pk}")
    assert job.params["throttle"] == 2**20 and len(job.params["assignments"]) == 2 and not kafka.changes("reassign")
    assert 'name="move"' not in text(people["operator"]), "they are the job's now"
    for action, advice in (("adopt", "it sees to it already"), ("cancel", "cancel that")):
        again = people["operator"].post(f"{PATH}/{action}", {"move": "orders/1"}).content.decode()
        assert f"orders-1 is being moved by job {job.pk}: {advice}." in again


@pytest.mark.parametrize(
    ("sent", "words"),
    [
        ({}, "Check the moves"),
        ({"move": "orders"}, "topic/partition"),
        ({"move": "orders/x"}, "topic/partition"),
        ({"move": "orders/2"}, "orders-2 is not being moved"),
        ({"move": "orders/1", "throttle": "fast"}, "is not a rate"),
    ],
)
def test_what_cannot_be_taken_over_is_said(people: dict[str, Client], sent: dict[str, str], words: str) -> None:
    answer = people["operator"].post(f"{PATH}/adopt", sent)
    assert answer.status_code == 422 and words in answer.content.decode()
    assert not Job.objects.exists()


def test_moves_of_others_are_cancelled_once_that_is_confirmed(people: dict[str, Client], kafka: Any) -> None:
    asked = people["operator"].post(f"{PATH}/cancel", {"move": "orders/1"})
    assert "Cancel 1 move?" in asked.content.decode() and "the replica on broker 3 is dropped again" in asked.content.decode()
    assert ("orders", 1) in kafka.moving
    answer = people["operator"].post(f"{PATH}/cancel", {"move": "orders/1", "confirm": "yes"})
    assert (answer.status_code, list(kafka.moving)) == (303, [("clicks", 0)])


def test_nothing_under_way_is_said(people: dict[str, Client], kafka: Any) -> None:
    kafka.moving = {}
    assert "Nothing is being moved." in text(people["operator"])
