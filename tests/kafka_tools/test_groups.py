"""kafka-consumer-groups: what it lists and describes, each way to reset offsets, and what it deletes."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from datetime import UTC, datetime

from confluent_kafka import Consumer, TopicPartition

from tests.apache.side import TIME_MS
from tests.kafka_tools.sides import A_MINUTE_MS, Clusters, Side

OURS = "GROUP|readers|others|Error"
"""Of a list of groups, to which other tests add."""
HALF_WAY = datetime.fromtimestamp((TIME_MS + 15 * A_MINUTE_MS) / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%S.000")


def commit(side: Side, group: str, **offsets: int) -> None:
    """Of partition 0 of each topic, without ever being a member."""
    with closing(Consumer({"bootstrap.servers": side.bootstrap, "group.id": group})) as consumer:
        rows = [TopicPartition(topic.replace("_", "-"), 0, offset) for topic, offset in offsets.items()]
        consumer.commit(offsets=rows, asynchronous=False)


@contextlib.contextmanager
def closing(consumer: Consumer) -> Iterator[Consumer]:
    try:
        yield consumer
    finally:
        consumer.close()


def described(side: Side) -> None:
    run = side.run
    run("consumer-groups", "--list", told=False)
    side.topic("read", "1", "1")
    side.topic("read-no-more", "2")
    side.fill("read", 30)
    side.fill("read-no-more", 5)
    commit(side, "readers", read=10, read_no_more=5)
    commit(side, "others", read=30)
    run("consumer-groups", "--describe", "--group", "readers", ordered=False)
    run("consumer-groups", "--describe", "--group", "readers", "--group", "others", "--offsets", ordered=False)
    run("consumer-groups", "--describe", "--group", "readers", "--state", figures=False)
    run("consumer-groups", "--describe", "--group", "readers", "--members")
    run("consumer-groups", "--list", ordered=False, only=OURS)
    settings = {
        "bootstrap.servers": side.bootstrap,
        "group.id": "readers",
        "client.id": "live",
        "group.instance.id": "first",
        "partition.assignment.strategy": "range",
        "enable.auto.commit": False,
    }
    with closing(Consumer(settings)) as consumer:
        consumer.subscribe(["read"])
        side.until(lambda: bool(consumer.poll(0.2) and consumer.assignment()), "it is a member")
        run("consumer-groups", "--describe", "--group", "readers", ordered=False)
        run("consumer-groups", "--describe", "--group", "readers", "--members")
        run("consumer-groups", "--describe", "--group", "readers", "--members", "--verbose")
        run("consumer-groups", "--describe", "--group", "readers", "--state", figures=False)
        run("consumer-groups", "--describe", "--group", "readers", "--state", "--verbose", figures=False)
        run("consumer-groups", "--list", "--state", ordered=False, only=OURS)
        run("consumer-groups", "--list", "--state", "Stable,PreparingRebalance", ordered=False, only=OURS)
        run("consumer-groups", "--list", "--state", "Empty", ordered=False, only=OURS)
        run("consumer-groups", "--list", "--state", "Odd", status=1)
        run("consumer-groups", "--list", "--type", ordered=False, only=OURS)
        run("consumer-groups", "--list", "--type", "classic", ordered=False, only=OURS)
        run("consumer-groups", "--delete", "--group", "readers")
        run("consumer-groups", "--reset-offsets", "--group", "readers", "--topic", "read", "--to-earliest", "--execute")
        run("consumer-groups", "--delete-offsets", "--group", "readers", "--topic", "read")
        run("consumer-groups", "--delete-offsets", "--group", "readers", "--topic", "read-no-more")
    run("consumer-groups", "--describe", "--all-groups", "--state", ordered=False, told=False)
    run("consumer-groups", "--describe", "--group", "nobody")
    run("consumer-groups", "--describe", "--group", "nobody", "--members")
    run("consumer-groups", "--describe", "--group", "nobody", "--state")


def test_described(clusters: Clusters) -> None:
    told = clusters.compare(described)
    verbose = next(one for one in told if one.command.endswith("--members --verbose"))
    assert "first /127.0.0.1 live 2" in verbose.lines[1], verbose


def reset(side: Side) -> None:
    run = side.run
    side.topic("again", "1", "2")
    side.topic("again-too", "2")
    side.fill("again", 30)
    side.fill("again", 12, partition=1)
    side.fill("again-too", 20)
    commit(side, "resetting", again=7, again_too=20)
    for where in (
        ["--to-earliest"],
        ["--to-latest"],
        ["--to-current"],
        ["--to-offset", 11],
        ["--to-offset", 1000],
        ["--shift-by", 3],
        ["--shift-by", -1000],
        ["--by-duration", "P2D"],
        ["--by-duration", "PT1S"],
        ["--to-datetime", HALF_WAY],
        ["--to-datetime", f"{HALF_WAY}+01:00"],
    ):
        for topics in (["--topic", "again"], ["--topic", "again:0", "--topic", "again-too"], ["--all-topics"]):
            # Where nothing is committed nothing can be shifted.
            status = int(where[0] == "--shift-by" and topics[-1] == "again")
            run("consumer-groups", "--reset-offsets", "--group", "resetting", *topics, *where, "--dry-run", ordered=False, status=status)
    kept = run("consumer-groups", "--reset-offsets", "--group", "resetting", "--all-topics", "--to-current", "--dry-run", "--export")
    run(
        "consumer-groups",
        "--reset-offsets",
        "--group",
        "resetting",
        "--topic",
        "again",
        "--to-datetime",
        HALF_WAY,
        "--execute",
        ordered=False,
    )
    run("consumer-groups", "--reset-offsets", "--group", "resetting", "--topic", "again:0", "--shift-by", -4, "--execute")
    run("consumer-groups", "--describe", "--group", "resetting", ordered=False)
    path = side.file("offsets.csv", kept)
    run("consumer-groups", "--reset-offsets", "--group", "resetting", "--from-file", path, "--dry-run", ordered=False)
    run("consumer-groups", "--reset-offsets", "--group", "resetting", "--from-file", path, "--execute", ordered=False)
    run("consumer-groups", "--describe", "--group", "resetting", ordered=False)
    for words in (
        ["--topic", "again-none", "--to-earliest"],
        ["--topic", "again", "--to-datetime", "soon"],
        ["--topic", "again", "--by-duration", "soon"],
    ):
        run("consumer-groups", "--reset-offsets", "--group", "resetting", *words, "--dry-run")
    run("consumer-groups", "--reset-offsets", "--group", "resetting", "--to-earliest", "--dry-run", status=1)
    run("consumer-groups", "--reset-offsets", "--group", "new-one", "--topic", "again", "--to-latest", "--execute", ordered=False)
    run("consumer-groups", "--describe", "--group", "new-one", ordered=False)


def test_reset(clusters: Clusters) -> None:
    told = clusters.compare(reset)
    assert any("resetting again 0 15" in line for one in told for line in one.lines), "by time"


def deleted(side: Side) -> None:
    run = side.run
    side.topic("left", "1")
    side.topic("left-too", "2")
    side.fill("left", 5)
    for group in ("leaving", "leaving-too"):
        commit(side, group, left=3, left_too=0)
    run("consumer-groups", "--delete-offsets", "--group", "leaving", "--topic", "left", "--topic", "left-none")
    run("consumer-groups", "--delete-offsets", "--group", "leaving", "--topic", "left-too:0,1")
    run("consumer-groups", "--delete-offsets", "--group", "nobody", "--topic", "left")
    run("consumer-groups", "--describe", "--group", "leaving", ordered=False)
    run("consumer-groups", "--delete", "--group", "leaving-too", "--group", "nobody", ordered=False)
    run("consumer-groups", "--delete", "--group", "leaving-too")
    run("topics", "--delete", "--topic", "left-too")


def test_deleted(clusters: Clusters) -> None:
    clusters.compare(deleted)


def streams(side: Side) -> None:
    run = side.run
    side.topic("stream-in", "1")
    side.topic("stream-app-store-changelog", "1")
    side.fill("stream-in", 20)
    commit(side, "stream-app", stream_in=15)
    app = ("--application-id", "stream-app", "--input-topics", "stream-in")
    for where in (["--to-offset", 4], ["--shift-by", -3], ["--to-latest"], ["--to-datetime", HALF_WAY], ["--by-duration", "P2D"], []):
        run("streams-application-reset", *app, *where, "--dry-run")
    run("streams-application-reset", *app, "--to-offset", 4, ordered=False)
    run("consumer-groups", "--describe", "--group", "stream-app")
    run("streams-application-reset", "--application-id", "stream-app", "--input-topics", "stream-none", status=1)
    side.until(lambda: "changelog" not in side.run("topics", "--list", told=False), "its own topic is deleted")


def test_streams_application(clusters: Clusters) -> None:
    told = clusters.compare(streams)
    assert json.dumps(told).count("Topic: stream-in Partition: 0 Offset: 4") == 2
