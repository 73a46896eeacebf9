"""What is asked of the cluster as a whole, and what Kafka refuses in ZooKeeper mode or without an authorizer."""

from __future__ import annotations

import re

from tests.kafka_tools.sides import Clusters, Side

LINE = re.compile(r"^\t(\w+\(\d+\)): (.*?),?$", re.MULTILINE)


def asked(side: Side) -> None:
    run = side.run
    run("cluster", "cluster-id", "--bootstrap-server", side.bootstrap)
    run("cluster", "unregister", "--bootstrap-server", side.bootstrap, "--id", 1)
    run("features", "describe")
    run("features", "upgrade", "--metadata", "3.9", status=1)
    run("features", "downgrade", "--feature", "group.version=0", status=1)
    run("metadata-quorum", "describe", "--status", status=1)
    run("metadata-quorum", "describe", "--replication", status=1)
    run("acls", "--list", status=1)
    run("acls", "--add", "--allow-principal", "User:a", "--operation", "Read", "--topic", "x", "--force", status=1)
    run("delegation-tokens", "--describe", status=1)
    run("delegation-tokens", "--create", "--max-life-time-period", -1, status=1)


def test_asked(clusters: Clusters) -> None:
    clusters.compare(asked)


def test_versions(clusters: Clusters) -> None:
    """The tool knows each key of ours by the versions that it uses with Kafka; what is not served on purpose: `tests/apache`."""
    kafka, ours = (side.run("broker-api-versions", told=False) for side in clusters)
    assert kafka.count(" -> (") == ours.count(" -> (") == 2, ours
    served = {name: words for name, words in LINE.findall(ours) if words != "UNSUPPORTED"}
    assert len(served) > 50
    assert served == {name: words for name, words in LINE.findall(kafka) if name in served}
