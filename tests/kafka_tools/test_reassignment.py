"""kafka-reassign-partitions: generate, execute with a throttle, list, verify, cancel; kafka-leader-election."""

from __future__ import annotations

from typing import Any

from tests.apache.side import batch
from tests.kafka_tools.sides import Clusters, Side

SLOW, QUICK = 1000, 50_000_000
BATCHES, BATCH_BYTES = 60, 200_000


def moves(side: Side, name: str, **replicas: list[int]) -> str:
    """The path of Kafka's JSON for partition 0 of each topic."""
    rows = [{"topic": topic.replace("_", "-"), "partition": 0, "replicas": ids} for topic, ids in replicas.items()]
    return side.file(name, {"version": 1, "partitions": rows})


def moved(side: Side) -> None:
    run = side.run
    side.topic("moved", "1")
    side.topic("moved-too", "2:1")
    for _ in range(BATCHES):
        side.write("moved", batch("x" * BATCH_BYTES))
    topics = side.file("topics.json", {"version": 1, "topics": [{"topic": "moved"}, {"topic": "moved-too"}]})
    found = run("reassign-partitions", "--generate", "--topics-to-move-json-file", topics, "--broker-list", "1,2", told=False)
    assert '{"version":1,"partitions":[{"topic":"moved","partition":0,"replicas":[1],"log_dirs":["any"]}' in found
    run("reassign-partitions", "--generate", "--topics-to-move-json-file", topics, "--broker-list", "2,9", status=1)
    path = moves(side, "moves.json", moved=[2])
    execute = ("reassign-partitions", "--execute", "--reassignment-json-file")
    run(*execute, path, "--throttle", SLOW)
    run("reassign-partitions", "--list")
    run("reassign-partitions", "--verify", "--reassignment-json-file", path)
    run("topics", "--describe", "--topic", "moved")
    run("configs", "--describe", "--topic", "moved")
    run("configs", "--describe", "--entity-type", "brokers")
    run(*execute, moves(side, "more.json", moved_too=[1, 2]), status=1)
    run(*execute, moves(side, "more.json", moved_too=[1, 2]), "--additional")
    run("reassign-partitions", "--cancel", "--reassignment-json-file", path, "--preserve-throttles")
    run("reassign-partitions", "--list")
    run("topics", "--describe", "--topic", "moved|moved-too")
    run("configs", "--describe", "--entity-type", "brokers")
    run(*execute, path, "--throttle", SLOW)
    run(*execute, path, "--additional", "--throttle", QUICK)

    def is_over() -> bool:
        return "No partition reassignments found" in side.run("reassign-partitions", "--list", told=False)

    side.until(is_over, "it is moved")
    run("reassign-partitions", "--verify", "--reassignment-json-file", path, "--preserve-throttles")
    run("configs", "--describe", "--topic", "moved")
    run("reassign-partitions", "--verify", "--reassignment-json-file", path)
    run("configs", "--describe", "--topic", "moved")
    run("configs", "--describe", "--entity-type", "brokers")
    run("reassign-partitions", "--cancel", "--reassignment-json-file", path)
    run("topics", "--describe", "--topic", "moved|moved-too")


def test_moved(clusters: Clusters) -> None:
    told = clusters.compare(moved)
    listed = next(one for one in told if one.command == "reassign-partitions --list")
    assert "moved-0: replicas: 2,1. adding: 2. removing: 1." in listed.lines


def refused(side: Side) -> None:
    run = side.run
    side.topic("staying", "1:2")
    execute = ("reassign-partitions", "--execute", "--reassignment-json-file")
    wrong: tuple[Any, ...] = (
        moves(side, "unknown-broker.json", staying=[1, 9]),
        moves(side, "twice.json", staying=[1, 1]),
        moves(side, "nobody.json", staying=[]),
        moves(side, "unknown-topic.json", gone=[1]),
        side.file("none.json", {"version": 1, "partitions": [{"topic": "staying", "partition": 7, "replicas": [1]}]}),
    )
    for path in wrong:
        run(*execute, path, status=1)
    run("reassign-partitions", "--cancel", "--reassignment-json-file", moves(side, "same.json", staying=[1, 2]))
    run("reassign-partitions", "--verify", "--reassignment-json-file", moves(side, "other.json", staying=[2, 1]))
    run("reassign-partitions", "--verify", "--reassignment-json-file", moves(side, "gone.json", gone=[2, 1]), status=1)


def test_refused(clusters: Clusters) -> None:
    clusters.compare(refused)


def elected(side: Side) -> None:
    run = side.run
    side.topic("led", "1:2", "2:1")
    side.topic("led-too", "1:2")
    elect = ("leader-election", "--election-type")
    run(*elect, "preferred", "--topic", "led", "--partition", 0)
    run("reassign-partitions", "--execute", "--reassignment-json-file", moves(side, "order.json", led=[2, 1], led_too=[2, 1]))
    side.until(lambda: "No partition" in side.run("reassign-partitions", "--list", told=False), "the order is changed")
    run("topics", "--describe", "--topic", "led.*")
    run(*elect, "preferred", "--topic", "led", "--partition", 0)
    run(*elect, "PREFERRED", "--path-to-json-file", side.file("led.json", {"partitions": [{"topic": "led-too", "partition": 0}]}))
    run("topics", "--describe", "--topic", "led.*")
    run(*elect, "unclean", "--topic", "led", "--partition", 0)
    run(*elect, "preferred", "--all-topic-partitions", told=False)
    run(*elect, "preferred", "--topic", "led", "--partition", 9, status=1)
    run(*elect, "preferred", "--topic", "led-none", "--partition", 0, status=1)


def test_elected(clusters: Clusters) -> None:
    told = clusters.compare(elected)
    last = [one for one in told if one.command.startswith("topics --describe")][-1]
    assert [line.split(" Leader: ")[1][0] for line in last.lines if " Leader: " in line] == ["2", "2", "2"], last
