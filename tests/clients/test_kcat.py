"""kcat, unmodified."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable

import pytest
from confluent_kafka.admin import AdminClient

from tests.support.clients import whole
from tests.support.cluster import TestCluster, eventually

pytestmark = pytest.mark.spec("G1")

NewTopic = Callable[..., str]


def kcat(cluster: TestCluster, *arguments: str, stdin: str = "") -> str:
    command = ["kcat", "-b", cluster.bootstrap_servers, *arguments]
    done = subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_lists_brokers_topics_and_isr(cluster: TestCluster, new_topic: NewTopic) -> None:
    topic = new_topic(partitions=2)
    found = json.loads(kcat(cluster, "-L", "-J", "-t", topic))
    assert {broker["id"] for broker in found["brokers"]} == {1, 2, 3}
    (listed,) = found["topics"]
    assert [len(p["isrs"]) for p in listed["partitions"]] == [3, 3]


def test_what_is_produced_is_consumed_with_keys_and_headers(cluster: TestCluster, new_topic: NewTopic) -> None:
    topic = new_topic(partitions=1)
    kcat(cluster, "-P", "-t", topic, "-K:", "-H", "origin=test", stdin="a:1\nb:2\nc:3\n")
    lines = kcat(cluster, "-C", "-t", topic, "-o", "beginning", "-e", "-q", "-f", "%k=%s %h\\n").splitlines()
    assert lines == ["a=1 origin=test", "b=2 origin=test", "c=3 origin=test"]


def test_a_group_reads_all_partitions(cluster: TestCluster, new_topic: NewTopic) -> None:
    topic = new_topic(partitions=3)
    kcat(cluster, "-P", "-t", topic, stdin="".join(f"{n}\n" for n in range(30)))
    lines = kcat(cluster, "-G", f"group-{topic}", "-X", "auto.offset.reset=earliest", "-c", "30", "-q", topic).split()
    assert sorted(lines, key=int) == [str(n) for n in range(30)]


def test_asks_for_offsets_by_time(cluster: TestCluster, new_topic: NewTopic) -> None:
    topic = new_topic(partitions=1)
    kcat(cluster, "-P", "-t", topic, stdin="x\ny\n")
    assert "offset 0" in kcat(cluster, "-Q", "-t", f"{topic}:0:1")
    assert "offset 2" in kcat(cluster, "-Q", "-t", f"{topic}:0:-1")


def test_an_unknown_topic_is_made_by_asking_for_it(cluster: TestCluster, admin: AdminClient) -> None:
    """auto.create.topics.enable, as Kafka has it. A consumer gives up where the broker it asks has not heard of the topic yet."""
    kcat(cluster, "-P", "-t", "made-by-kcat", stdin="hello\n")
    eventually(lambda: whole(admin, "made-by-kcat", 3), what="all brokers know the topic")
    assert kcat(cluster, "-C", "-t", "made-by-kcat", "-o", "beginning", "-e", "-q").split() == ["hello"]
