"""A broker is stopped: what the tools say of its partitions, an unclean election, and its return."""

from __future__ import annotations

from tests.kafka_tools.sides import Clusters, Side


def away(side: Side) -> None:
    run = side.run
    side.topic("halved", "1:2", "2:1", min_insync_replicas="2")
    side.topic("halved-alone", "2", unclean_leader_election_enable="false")
    side.topic("halved-lost", "2:1", "2:1")
    side.fill("halved-lost", 10)
    # Broker 1 leaves the ISR of a partition by a reassignment, so that only its own log can lead once 2 is gone.
    two = side.brokers[2]
    two.stop()
    describe = ("topics", "--describe", "--topic", "halved.*")

    def is_seen() -> bool:
        return "Leader: 2" not in side.run(*describe, told=False)

    side.until(is_seen, "its partitions have other leaders")
    for words in (
        [],
        ["--under-replicated-partitions"],
        ["--unavailable-partitions"],
        ["--under-min-isr-partitions"],
        ["--at-min-isr-partitions"],
    ):
        run(*describe, *words)
    run("leader-election", "--election-type", "preferred", "--topic", "halved", "--partition", 1, status=1)
    run("leader-election", "--election-type", "unclean", "--topic", "halved-alone", "--partition", 0, status=1)
    run("leader-election", "--election-type", "unclean", "--topic", "halved-lost", "--partition", 0)
    run("get-offsets", "--topic", "halved-lost")
    run("log-dirs", "--describe", "--broker-list", "1", "--topic-list", "halved", ordered=False)
    run("configs", "--describe", "--entity-type", "brokers")
    run("topics", "--create", "--topic", "halved-new", "--partitions", 1, "--replication-factor", 2, status=1)
    two.start()

    def is_whole() -> bool:
        return not side.run(*describe, "--under-replicated-partitions", told=False).strip()

    side.until(is_whole, "it is in sync again")
    run("leader-election", "--election-type", "preferred", "--all-topic-partitions", told=False)
    run(*describe)


def test_a_broker_is_away(clusters: Clusters) -> None:
    told = clusters.compare(away)
    assert "Leader: none" in " ".join(told[3].lines)
