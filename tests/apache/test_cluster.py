"""The cluster: brokers, folders, elections, reassignments, producer ids, quotas and what has to do with security."""

from __future__ import annotations

from typing import Any

import pytest

from broker_core.protocol.api import ApiKey
from tests.apache.comparison import Case, Pair, Script, ask
from tests.apache.side import Side, batch

PREFERRED, UNCLEAN = 0, 1
ANY_ACL = {
    "resource_type_filter": 1, "resource_name_filter": None, "pattern_type_filter": 1, "principal_filter": None, "host_filter": None,
    "operation": 1, "permission_type": 1,
}  # fmt: skip


def elected(kind: int, *wanted: tuple[str, list[int]], version: int = 2, everything: bool = False) -> Script:
    rows = None if everything else [{"topic": topic, "partitions": partitions} for topic, partitions in wanted]

    def script(side: Side) -> Any:
        payload = {"election_type": kind, "topic_partitions": rows, "timeout": 10_000}
        return side.ask(ApiKey.ELECT_LEADERS, version, payload)

    return script


def moved(*wanted: tuple[str, int, list[int] | None]) -> Script:
    rows = [{"name": name, "partitions": [{"partition_index": index, "replicas": to}]} for name, index, to in wanted]

    def script(side: Side) -> Any:
        started = side.ask(ApiKey.ALTER_PARTITION_REASSIGNMENTS, 0, {"timeout": 10_000, "topics": rows})
        return started, side.ask(ApiKey.LIST_PARTITION_REASSIGNMENTS, 0, {"timeout": 10_000, "topics": None})

    return script


def after(topic: str, script: Script) -> Script:
    return lambda side: (side.create(topic, 2), script(side))


def folders(*wanted: tuple[str, list[int]], version: int = 4) -> Script:
    topics = [{"topic": topic, "partitions": partitions} for topic, partitions in wanted]
    return lambda side: side.ask(ApiKey.DESCRIBE_LOG_DIRS, version, {"topics": topics})


def producers(side: Side) -> Any:
    side.create("k-producers")
    for sequence in range(2):
        side.produce("k-producers", batch("a", producer_id=5, producer_epoch=1, base_sequence=sequence))
    rows = [{"name": name, "partition_indexes": [0, 3]} for name in ("k-producers", "k-none", "a b")]
    return side.ask(ApiKey.DESCRIBE_PRODUCERS, 0, {"topics": rows})


def ids(version: int, **fields: Any) -> Case:
    """Kafka says COORDINATOR_LOAD_IN_PROGRESS while it takes its first block of ids."""
    asked = {"transactional_id": None, "transaction_timeout": 1000, "producer_id": -1, "producer_epoch": -1} | fields

    def script(side: Side) -> Any:
        return side.until(lambda: side.ask(ApiKey.INIT_PRODUCER_ID, version, asked), lambda found: "LOAD" not in found["error_code"])

    return Case(f"producer id v{version} {fields or ''}".strip(), script)


def moved_folder(path: str) -> Script:
    def script(side: Side) -> Any:
        rows = [{"name": name, "partitions": [0]} for name in ("k-sizes", "k-none")]
        return side.ask(ApiKey.ALTER_REPLICA_LOG_DIRS, 2, {"dirs": [{"path": path, "topics": rows}]})

    return script


CASES = [
    *(ask(f"describe cluster v{v}", ApiKey.DESCRIBE_CLUSTER, v, {"include_cluster_authorized_operations": True, "endpoint_type": 1})
      for v in (0, 1)),
    ask("describe controllers", ApiKey.DESCRIBE_CLUSTER, 1, {"include_cluster_authorized_operations": False, "endpoint_type": 2}),
    ask("describe nothing", ApiKey.DESCRIBE_CLUSTER, 1, {"include_cluster_authorized_operations": False, "endpoint_type": 9}),
    Case("folders", folders(("k-sizes", [0, 1]))),
    Case("folders of unknown partitions", folders(("k-sizes", [7]), ("k-none", [0]))),
    Case("folders of nothing", folders()),
    *(Case(f"folders v{v}", folders(("k-sizes", [0]), version=v)) for v in range(4)),
    Case("election not needed", after("k-elect", elected(PREFERRED, ("k-elect", [0, 1])))),
    Case("unclean election not needed", after("k-unclean", elected(UNCLEAN, ("k-unclean", [0])))),
    Case("election of the unknown", after("k-elect-2", elected(PREFERRED, ("k-elect-2", [0, 9]), ("k-none", [0])))),
    Case("election of all", elected(PREFERRED, everything=True)),
    Case("election of nothing", elected(PREFERRED)),
    Case("election of another kind", after("k-kind", elected(7, ("k-kind", [0])))),
    Case("election v0", after("k-elect-v0", elected(PREFERRED, ("k-elect-v0", [0]), version=0))),
    Case("move to where it is", after("k-same", moved(("k-same", 0, [1])))),
    Case("move to an unknown broker", after("k-unknown-b", moved(("k-unknown-b", 0, [9])))),
    Case("move to nobody", after("k-nobody", moved(("k-nobody", 0, [])))),
    Case("move to one twice", after("k-twice", moved(("k-twice", 0, [1, 1])))),
    Case("move to a negative broker", after("k-neg", moved(("k-neg", 0, [-1])))),
    Case("move of an unknown partition", after("k-part", moved(("k-part", 9, [1])))),
    Case("move of an unknown topic", moved(("k-none", 0, [1]))),
    Case("cancel what is not moving", after("k-cancel", moved(("k-cancel", 0, None)))),
    Case("one good one bad move", after("k-mixed", moved(("k-mixed", 0, [1]), ("k-mixed-none", 0, [1])))),
    Case("no moves", moved()),
    ask("moves of some", ApiKey.LIST_PARTITION_REASSIGNMENTS, 0, {"timeout": 1000, "topics": [
        {"name": "k-none", "partition_indexes": [0]}]}),
    Case("producers", producers),
    *(ids(v) for v in range(6)),
    ids(4, producer_id=5),
    ids(4, producer_epoch=5),
    ids(4, producer_id=5, producer_epoch=5),
    ids(4, transactional_id=""),
    Case("move to a folder that is not there", moved_folder("/nowhere")),
    Case("move to a folder by a relative path", moved_folder("nowhere")),
    ask("quotas", ApiKey.DESCRIBE_CLIENT_QUOTAS, 1, {"components": [], "strict": False}),
    ask("quotas of a user", ApiKey.DESCRIBE_CLIENT_QUOTAS, 1, {
        "components": [{"entity_type": "user", "match_type": 0, "match": "u"}], "strict": True}),
    ask("passwords", ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, 0, {"users": None}),
    ask("passwords of a user", ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, 0, {"users": [{"name": "u"}]}),
    ask("access rights", ApiKey.DESCRIBE_ACLS, 3, ANY_ACL),
    ask("new access rights", ApiKey.CREATE_ACLS, 3, {"creations": [{
        "resource_type": 2, "resource_name": "t", "resource_pattern_type": 3, "principal": "User:u", "host": "*", "operation": 3,
        "permission_type": 3}]}),
    ask("access rights to delete", ApiKey.DELETE_ACLS, 3, {"filters": [ANY_ACL]}),
    ask("tokens", ApiKey.DESCRIBE_DELEGATION_TOKEN, 3, {"owners": None}),
    ask("new token", ApiKey.CREATE_DELEGATION_TOKEN, 3, {"renewers": [], "max_lifetime": -1}),
    ask("token to renew", ApiKey.RENEW_DELEGATION_TOKEN, 2, {"hmac": b"x", "renew_period": 1}),
    ask("token to expire", ApiKey.EXPIRE_DELEGATION_TOKEN, 2, {"hmac": b"x", "expiry_time_period": 1}),
]  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def sizes(pair: Pair) -> None:
    def make(side: Side) -> None:
        side.create("k-sizes", 2)
        side.produce("k-sizes", batch("a", "b"))

    pair.both(make)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_cluster(pair: Pair, case: Case) -> None:
    pair.compare(case)
