"""A disk that takes no more, and data folders with rubbish in them."""

from __future__ import annotations

import resource
import shutil
from collections.abc import Callable

import pytest
from confluent_kafka import KafkaError, Message, Producer
from confluent_kafka.admin import AdminClient

from broker_core.local import control
from tests.support.clients import produce, read_all, whole
from tests.support.cluster import TestCluster, eventually
from tests.support.web import Web

pytestmark = pytest.mark.spec("S2", "S6")

MakeTopic = Callable[..., str]
VICTIM = 2
SAID = f"data folder of broker {VICTIM} is offline since"
RECORDS, RECORD_BYTES = 6_000, 1_000
QUOTA_BYTES = 400_000
"""Of one file: a quarter of the records leave some 250 kB in each partition."""


def allow_file_bytes(pid: int, limit_bytes: int) -> None:
    """From now on no file of the process may grow beyond that: what a quota does, and it needs no rights."""
    _, hard = resource.prlimit(pid, resource.RLIMIT_FSIZE)
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (limit_bytes, hard))


def verdict(api: Web) -> str:
    return str(api.get("/api/v1/clusters/local").json()["verdict"]["text"])


def leaders(admin: AdminClient, topic: str) -> set[int]:
    return {partition.leader for partition in admin.list_topics(topic, timeout=10).topics[topic].partitions.values()}


def test_a_disk_that_takes_no_more_moves_its_leaders_and_a_restart_brings_it_back(
    cluster: TestCluster, admin: AdminClient, api: Web, new_topic: MakeTopic
) -> None:
    """An idempotent producer goes on through other leaders: all is acknowledged, nothing is there twice; the page says what to do."""
    topic = new_topic(partitions=6)
    assert VICTIM in leaders(admin, topic)
    pid = cluster.pid(VICTIM)
    delivered, failed = 0, []

    def report(error: KafkaError | None, message: Message) -> None:
        nonlocal delivered
        delivered += error is None
        failed.extend([error] if error else [])

    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers, "enable.idempotence": True, "linger.ms": 5})
    try:
        for number in range(RECORDS):
            producer.produce(topic, b"%d " % number + bytes(RECORD_BYTES), partition=number % 6, on_delivery=report)
            producer.poll(0)
            if number == RECORDS // 4:
                assert producer.flush(60) == 0
                allow_file_bytes(pid, QUOTA_BYTES)
        assert producer.flush(60) == 0
        assert (delivered, failed) == (RECORDS, [])
        eventually(lambda: VICTIM not in leaders(admin, topic), 60, "others lead")
        assert cluster.pid(VICTIM) == pid, "the broker lives on"
        eventually(lambda: SAID in verdict(api), 60, "the verdict says so")
        assert f"then restart broker {VICTIM}." in verdict(api)
        folder = api.get(f"/api/v1/clusters/local/brokers/{VICTIM}").json()["log_dir"]
        assert (folder["state"], "File too large" in folder["offline_why"]) == ("folder_offline", True)
    finally:
        allow_file_bytes(pid, resource.RLIM_INFINITY)
        control.restart_broker(cluster.data, VICTIM)
    eventually(lambda: whole(admin, topic, 3), 60, "the broker is back in the ISRs")
    eventually(lambda: SAID not in verdict(api), 60, "the verdict is clear of it")
    values = [int((message.value() or b"").split()[0]) for message in read_all(cluster, topic, RECORDS, partitions=6)]
    assert sorted(values) == list(range(RECORDS))


def test_rubbish_in_the_data_folder_does_not_stop_a_start(cluster: TestCluster, admin: AdminClient, new_topic: MakeTopic) -> None:
    """Broken checkpoints, torn segments, foreign files: the broker starts, says so, and gets from its peers what it lost."""
    topic = new_topic(partitions=1)
    produce(cluster, topic, [b"%d" % number for number in range(1000)])
    cluster.kill(VICTIM)
    folder = cluster.layout.broker_folder(VICTIM) / "log"
    for name in ("recovery-point-offset-checkpoint", "replication-offset-checkpoint", "log-start-offset-checkpoint"):
        (folder / name).write_bytes(b"\xff\x00 not a checkpoint\n" * 10)
    (folder / "coordination-session.json").write_bytes(b"{")
    log = folder / f"{topic}-0"
    with (log / "00000000000000000000.log").open("r+b") as file:
        file.seek(200)
        file.write(b"\xde\xad" * 40)
    (log / "00000000000000000000.index").write_bytes(b"\x01" * 333)
    (log / "00000000000000000000.timeindex").write_bytes(b"\x02" * 77)
    (log / "leader-epoch-checkpoint").write_text("0\n1\nnonsense\n")
    (log / "partition.metadata").write_text("version: 0\ntopic_id: nonsense\n")
    (log / "00000000000000000900.snapshot").write_bytes(b"\x00" * 13)
    (log / "99999.log").write_bytes(b"x")
    (log / "notes.txt").write_text("mine")
    (folder / "not-a-partition").mkdir()
    (folder / "topic-x-0").mkdir()
    (folder / "half-7.0123456789abcdef0123456789abcdef-delete").mkdir()
    (folder / "file-3").write_text("a file, not a folder")
    cluster.start(VICTIM)
    eventually(lambda: whole(admin, topic, 3), 60, "the broker is back in the ISR")
    assert [int(message.value() or b"-1") for message in read_all(cluster, topic, 1000)] == list(range(1000))


def test_a_folder_of_another_broker_or_cluster_is_refused(cluster: TestCluster, admin: AdminClient) -> None:
    """The process ends with a sentence; the cluster goes on, and the right folder starts."""
    cluster.stop(VICTIM)
    meta = cluster.layout.broker_folder(VICTIM) / "log" / "meta.properties"
    kept = meta.read_text()
    for wrong, words in (
        (kept.replace(f"broker.id={VICTIM}", "broker.id=7"), "7"),
        ("version=0\nbroker.id=2\ncluster.id=AAAAAAAAAAAAAAAAAAAAAA\n", "AAAAAAAAAAAAAAAAAAAAAA"),
        ("\0\0rubbish", "meta.properties"),
    ):
        meta.write_text(wrong)
        with pytest.raises(Exception, match=words) as caught:
            cluster.start(VICTIM)
        assert "Traceback" not in str(caught.value)
    meta.write_text(kept)
    cluster.start(VICTIM)


def test_a_lost_folder_is_filled_again(cluster: TestCluster, admin: AdminClient, new_topic: MakeTopic) -> None:
    topic = new_topic(partitions=1)
    produce(cluster, topic, [b"%d" % number for number in range(100)])
    cluster.kill(VICTIM)
    shutil.rmtree(cluster.layout.broker_folder(VICTIM) / "log")
    cluster.start(VICTIM)
    eventually(lambda: whole(admin, topic, 3), 60, "the broker is back in the ISR")
    for other in (1, 3):
        cluster.kill(other)
    cluster.heal()
    assert [int(message.value() or b"-1") for message in read_all(cluster, topic, 100)] == list(range(100))
