"""kafka-topics: create, list, describe with each filter, alter, delete, and what it refuses."""

from __future__ import annotations

from tests.kafka_tools.sides import Clusters, Side


def made(side: Side) -> None:
    run = side.run
    side.topic("made-one", "1:2", "2:1", retention_ms="3600000", cleanup_policy="compact,delete")
    side.topic("made_two.x", "2")
    run("topics", "--create", "--topic", "made-by-number", "--partitions", 2, "--replication-factor", 2, told=False)
    run("topics", "--create", "--topic", "made-by-default", told=False)
    for words in (
        ["--topic", "made-one"],
        ["--topic", "made-wide", "--replication-factor", 3],
        ["--topic", "made-none", "--partitions", 0],
        ["--topic", "made wrong"],
        ["--topic", "x" * 250],
        ["--topic", ".."],
        ["--topic", "made-odd", "--config", "retention.ms=soon"],
        ["--topic", "made-odd", "--config", "no.such.setting=1"],
        ["--topic", "made-odd", "--config", "min.insync.replicas=0"],
        ["--topic", "made-odd", "--replica-assignment", "1:1"],
        ["--topic", "made-odd", "--replica-assignment", "1,1:2"],
    ):
        run("topics", "--create", *words, status=1)
    run("topics", "--create", "--topic", "made-one", "--if-not-exists")
    # Names that differ in dots and underscores only are one in the names of metrics.
    run("topics", "--create", "--topic", "made.two.x", status=1)
    run("topics", "--list", "--topic", "made.*")
    run("topics", "--list", "--topic", "made-b.*", "--exclude-internal")
    run("topics", "--describe", "--topic", "made-one|made_two.x")
    run("topics", "--describe", "--topic", "made-none", status=1)
    run("topics", "--describe", "--topic", "made-none", "--if-exists")


def test_made_and_listed(clusters: Clusters) -> None:
    told = clusters.compare(made)
    assert told[-3].lines[0].startswith("Topic: made-one TopicId: ID PartitionCount: 2 ReplicationFactor: 2 Configs: cleanup.policy=")


def filtered(side: Side) -> None:
    run = side.run
    side.topic("having-plain", "1:2")
    side.topic("having-own", "1", retention_bytes="1000000")
    side.topic("having-at", "1:2", min_insync_replicas="2")
    side.topic("having-under", "1", "2", min_insync_replicas="2")
    for words in (
        ["--topics-with-overrides"],
        ["--under-min-isr-partitions"],
        ["--at-min-isr-partitions"],
        ["--under-replicated-partitions"],
        ["--unavailable-partitions"],
        ["--partition-size-limit-per-response", 1],
        ["--exclude-internal"],
    ):
        run("topics", "--describe", "--topic", "having-.*", *words)
    found = run("topics", "--describe", "--topic", "having-own")
    run("topics", "--describe", "--topic-id", found.split("TopicId: ")[1].split()[0])
    run("topics", "--describe", "--topic-id", "AAAAAAAAAAAAAAAAAAAAAg", status=1)


def test_described_by_each_filter(clusters: Clusters) -> None:
    told = {one.command.rsplit(" --", 1)[-1]: one.lines for one in clusters.compare(filtered)}
    assert len(told["under-min-isr-partitions"]) == 2
    assert {line.split()[1] for line in told["at-min-isr-partitions"]} == {"having-at", "having-own"}


def changed(side: Side) -> None:
    run = side.run
    side.topic("grown", "1")
    run("topics", "--alter", "--topic", "grown", "--partitions", 3, "--replica-assignment", "1,2,1")
    run("topics", "--describe", "--topic", "grown")
    for words in (
        ["--partitions", 3],
        ["--partitions", 2],
        ["--partitions", 0],
        ["--partitions", 4, "--replica-assignment", "1,2,1,7"],
        ["--partitions", 4, "--replica-assignment", "1,2,1,1:2"],
        ["--partitions", 4, "--replica-assignment", "1,2,1,2,1"],
    ):
        run("topics", "--alter", "--topic", "grown", *words, status=1)
    run("topics", "--alter", "--topic", "grown-none", "--partitions", 3, status=1)
    run("topics", "--alter", "--topic", "grown-none", "--partitions", 3, "--if-exists")
    run("topics", "--delete", "--topic", "grown")
    side.until(lambda: "grown" not in side.run("topics", "--list", told=False).split(), "it is deleted")
    run("topics", "--delete", "--topic", "grown", status=1)
    run("topics", "--delete", "--topic", "grown", "--if-exists")


def test_grown_and_deleted(clusters: Clusters) -> None:
    clusters.compare(changed)
