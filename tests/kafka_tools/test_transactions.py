"""kafka-transactions: list, describe, describe-producers, find-hanging and abort."""

from __future__ import annotations

import json

from confluent_kafka import Producer

from broker_core.protocol.api import ApiKey
from tests.apache import side as apache
from tests.apache.side import batch
from tests.kafka_tools.sides import Clusters, Side


def watched(side: Side) -> None:
    run = side.run
    side.topic("in-it", "1:2", "2:1")
    side.topic("in-one", "1")
    producer = Producer({"bootstrap.servers": side.bootstrap, "transactional.id": "watched", "transaction.timeout.ms": 600_000})
    producer.init_transactions(60)
    run("transactions", "describe", "--transactional-id", "watched", figures=False)
    producer.begin_transaction()
    producer.produce("in-it", "a", partition=0)
    producer.produce("in-it", "b", partition=1)
    producer.flush(60)
    run("transactions", "list", figures=False, ordered=False, told=False)
    assert "watched" not in run("transactions", "list", "--duration-filter", 3_600_000, told=False)
    assert "Ongoing" in run("transactions", "list", "--duration-filter", 1, told=False)
    run("transactions", "describe", "--transactional-id", "watched", figures=False)
    run("transactions", "describe", "--transactional-id", "nobody", status=1)
    for words in (["--partition", 0], ["--partition", 1, "--broker-id", 1], ["--partition", 1, "--broker-id", 2]):
        run("transactions", "describe-producers", "--topic", "in-it", *words, figures=False)
    run("transactions", "describe-producers", "--topic", "in-one", "--partition", 0, "--broker-id", 2, status=1)
    run("transactions", "find-hanging", "--topic", "in-it", "--max-transaction-timeout", 0)
    run("transactions", "find-hanging", "--broker-id", 1, "--max-transaction-timeout", 15)
    producer.commit_transaction(60)  # answered once that is decided; its markers follow
    side.until(lambda: "CompleteCommit" in run("transactions", "describe", "--transactional-id", "watched", told=False), "it is complete")
    run("transactions", "describe", "--transactional-id", "watched", figures=False)
    run("transactions", "describe-producers", "--topic", "in-it", "--partition", 0, figures=False)
    run("transactions", "abort", "--topic", "in-it", "--partition", 0, "--start-offset", 0, status=1)


def test_watched(clusters: Clusters) -> None:
    clusters.compare(watched)


def hanging(side: Side) -> None:
    """Transactional records whose producer never told the coordinator of them, which the brokers were set to believe."""
    run = side.run
    side.topic("hung", "1", "2")
    asking = apache.Side(side.leader("__transaction_state").port)
    asked = {"transactional_id": "gone", "transaction_timeout": 60_000, "producer_id": -1, "producer_epoch": -1}
    found = asking.until(lambda: asking.raw(ApiKey.INIT_PRODUCER_ID, 4, asked), lambda answer: answer.error_code == 0)
    asking.close()
    ids = {"producer_id": found.producer_id, "producer_epoch": found.producer_epoch, "base_sequence": 0, "transactional": True}
    for partition in (0, 1):
        side.write("hung", batch("a", "b", **ids), partition, transactional_id="gone")
    found_text = run("transactions", "find-hanging", "--topic", "hung", "--max-transaction-timeout", 0, figures=False, ordered=False)
    assert found_text.count("hung") == 2, found_text
    run("transactions", "find-hanging", "--topic", "hung", "--partition", 1, "--max-transaction-timeout", 0, figures=False)
    run("transactions", "find-hanging", "--broker-id", 1, "--max-transaction-timeout", 0, figures=False)
    run("transactions", "find-hanging", status=1)
    run("get-offsets", "--topic", "hung")
    run("transactions", "abort", "--topic", "hung", "--partition", 0, "--start-offset", 1, status=1)
    run("transactions", "abort", "--topic", "hung", "--partition", 0, "--start-offset", 0)
    ids = {"--producer-id": found.producer_id, "--producer-epoch": found.producer_epoch, "--coordinator-epoch": 0}
    run("transactions", "abort", "--topic", "hung", "--partition", 1, *(word for pair in ids.items() for word in pair), told=False)
    run("transactions", "abort", "--topic", "hung", "--partition", 0, status=1)
    run("transactions", "find-hanging", "--topic", "hung", "--max-transaction-timeout", 0)
    run("transactions", "describe-producers", "--topic", "hung", "--partition", 0, figures=False)
    run("get-offsets", "--topic", "hung")
    run(
        "console-consumer",
        "--topic",
        "hung",
        "--from-beginning",
        "--isolation-level",
        "read_committed",
        "--timeout-ms",
        3000,
        ordered=False,
    )


def test_hanging(clusters: Clusters) -> None:
    told = clusters.compare(hanging)
    assert ["hung:0:3", "hung:1:3"] in [list(one.lines) for one in told], json.dumps(told)
