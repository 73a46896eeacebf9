"""Every key that clients may send, in every version; those around the tools by their cases."""

from __future__ import annotations

import hashlib
import json
from typing import Any
from uuid import UUID

import pytest
from kazoo.client import KazooClient

from broker_core.admin.loggers import LEVELS
from broker_core.errors import ErrorCode
from broker_core.protocol.api import MAX_VERSION_3_9, ApiKey
from tests.apache.comparison import Case, Pair, ask
from tests.apache.side import CLOSED, Side, batch
from tests.handlers.test_versions import TOPIC, WALKED, payloads

TOPIC_TYPE, BROKER, LOGGER, CLIENT_METRICS, GROUP = 2, 4, 8, 16, 32
SET, DELETE, APPEND, SUBTRACT = range(4)
ELSEWHERE = {
    ApiKey.API_VERSIONS: "compared in test_versions",
    ApiKey.DESCRIBE_LOG_DIRS: "sizes of logs on disk, and topics of other tests",
    ApiKey.CONTROLLED_SHUTDOWN: "brokers ask so, in their epoch",
}
COMPARED = [(key, version) for key, version in WALKED if key not in ELSEWHERE]


def ready(side: Side) -> Any:
    """The topic's id, once it is there, and those of the coordinators, which answer otherwise before."""
    asked = {"topics": [{"name": TOPIC, "topic_id": UUID(int=0)}], "allow_auto_topic_creation": False}
    if side.raw(ApiKey.METADATA, 12, asked).topics[0].error_code:
        side.create(TOPIC, retention_ms="-1")
        for kind in (0, 1):
            find = {"key_type": kind, "coordinator_keys": ["g", "t"]}
            side.until(
                lambda find=find: side.raw(ApiKey.FIND_COORDINATOR, 4, find),
                lambda found: not any(c.error_code for c in found.coordinators),
            )
        group = {"group_id": "g", "topics": []}
        side.until(lambda: side.raw(ApiKey.OFFSET_FETCH, 7, group).error_code, lambda code: code == 0)
        transaction = {"transactional_ids": ["t"]}
        side.until(
            lambda: side.raw(ApiKey.DESCRIBE_TRANSACTIONS, 0, transaction).transaction_states[0].error_code,
            lambda code: code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND,
        )
        new = {"transactional_id": None, "transaction_timeout": 1, "producer_id": -1, "producer_epoch": -1}
        side.until(lambda: side.raw(ApiKey.INIT_PRODUCER_ID, 4, new).error_code, lambda code: code == 0)
    return side.raw(ApiKey.METADATA, 12, asked).topics[0].topic_id


def walked(key: ApiKey, version: int) -> Any:
    def script(side: Side) -> Any:
        asked = payloads(ready(side), version)[key]
        return side.ask(key, version, asked | ({"include_documentation": False} if key is ApiKey.DESCRIBE_CONFIGS else {}))

    return script


@pytest.mark.spec("N2")
@pytest.mark.parametrize(("key", "version"), COMPARED, ids=lambda value: value.name if isinstance(value, ApiKey) else f"v{value}")
def test_every_version_is_answered_alike(pair: Pair, key: ApiKey, version: int) -> None:
    pair.compare(Case(f"{key.name} v{version}", walked(key, version)))


# The keys of groups, asked by and of those that nobody knows.


def of_groups(key: ApiKey, version: int) -> dict[str, Any]:
    """A request with the field names of all versions; a group of its own for each."""
    group = f"k-{key.name}-{version}"
    member = {"group_id": group, "member_id": "nobody", "generation_id": 1, "group_instance_id": None}
    rows = [{"partition_index": 0, "committed_offset": 7, "committed_leader_epoch": -1, "committed_metadata": "note"}]
    offsets = [{"name": TOPIC, "partition_indexes": [0]}]
    payloads: dict[ApiKey, dict[str, Any]] = {
        ApiKey.JOIN_GROUP: member
        | {
            "session_timeout": 1,
            "rebalance_timeout": 1,
            "protocol_type": "consumer",
            "protocols": [{"name": "range", "metadata": b""}],
            "reason": None,
        },
        ApiKey.SYNC_GROUP: member | {"protocol_type": "consumer", "protocol_name": "range", "assignments": []},
        ApiKey.HEARTBEAT: member,
        ApiKey.LEAVE_GROUP: member | {"members": [{"member_id": "nobody", "group_instance_id": None, "reason": None}]},
        ApiKey.DESCRIBE_GROUPS: {"groups": [group, ""], "include_authorized_operations": True},
        ApiKey.DELETE_GROUPS: {"groups_names": [group, ""]},
        ApiKey.LIST_GROUPS: {"states_filter": ["Dead"], "types_filter": []},
        ApiKey.FIND_COORDINATOR: {"key": group, "key_type": 0, "coordinator_keys": [group, "t"]},
        ApiKey.OFFSET_COMMIT: member
        | {
            "member_id": "",
            "generation_id_or_member_epoch": -1,
            "retention_time": -1,
            "topics": [{"name": TOPIC, "partitions": rows}, {"name": "k-none", "partitions": rows}],
        },
        ApiKey.OFFSET_FETCH: {
            "group_id": group,
            "topics": offsets,
            "require_stable": True,
            "groups": [{"group_id": group, "member_id": None, "member_epoch": -1, "topics": offsets}],
        },
        ApiKey.OFFSET_DELETE: {"group_id": group, "topics": [{"name": TOPIC, "partitions": [{"partition_index": 0}]}]},
        ApiKey.INIT_PRODUCER_ID: {"transactional_id": None, "transaction_timeout": 1, "producer_id": -1, "producer_epoch": -1},
    }
    return payloads[key]


GROUPS_KEYS = (
    *(ApiKey.JOIN_GROUP, ApiKey.SYNC_GROUP, ApiKey.HEARTBEAT, ApiKey.LEAVE_GROUP, ApiKey.DESCRIBE_GROUPS, ApiKey.DELETE_GROUPS),
    *(
        ApiKey.LIST_GROUPS,
        ApiKey.FIND_COORDINATOR,
        ApiKey.OFFSET_COMMIT,
        ApiKey.OFFSET_FETCH,
        ApiKey.OFFSET_DELETE,
        ApiKey.INIT_PRODUCER_ID,
    ),
)
OF_GROUPS = [(key, version) for key in GROUPS_KEYS for version in range(MAX_VERSION_3_9[key] + 1)]


@pytest.mark.spec("N2")
@pytest.mark.parametrize(("key", "version"), OF_GROUPS, ids=lambda value: value.name if isinstance(value, ApiKey) else f"v{value}")
def test_strangers_to_groups_are_answered_alike(pair: Pair, key: ApiKey, version: int) -> None:
    def script(side: Side) -> Any:
        ready(side)
        answers = [side.ask(key, version, of_groups(key, version)) for _ in range(2)]
        if key is ApiKey.LIST_GROUPS:  # those of other tests are older on one side than on the other
            answers = [told | {"groups": [one for one in told["groups"] if one["group_id"].startswith("k-")]} for told in answers]
        if key is ApiKey.OFFSET_COMMIT:
            group = {"group_id": f"k-{key.name}-{version}", "topics": [{"name": TOPIC, "partition_indexes": [0]}]}
            answers += [side.ask(ApiKey.OFFSET_FETCH, asked, group) for asked in (0, 7)]
        return answers

    pair.compare(Case(f"{key.name} v{version} of strangers", script))


# SASL, features, groups of the newer protocol, forwarding: advertised in ZooKeeper mode, and refused.


def update(feature: str, level: int, kind: int = 1, version: int = 1) -> Any:
    row = {"feature": feature, "max_version_level": level, "upgrade_type": kind, "allow_downgrade": kind == 2}
    body = {"timeout": 5_000, "feature_updates": [row], "validate_only": False}
    return lambda side: side.ask(ApiKey.UPDATE_FEATURES, version, body)


def features(*updates: Any) -> Any:
    return lambda side: [one(side) for one in updates]


def two_features(side: Side) -> Any:
    rows = [{"feature": name, "max_version_level": 1, "upgrade_type": 1} for name in ("a", "b")]
    return side.ask(ApiKey.UPDATE_FEATURES, 1, {"timeout": 5_000, "feature_updates": rows, "validate_only": True})


def heartbeat(group_id: str, epoch: int = 0) -> dict[str, Any]:
    return {
        "group_id": group_id,
        "member_id": "",
        "member_epoch": epoch,
        "instance_id": None,
        "rack_id": None,
        "rebalance_timeout": 1_000,
        "subscribed_topic_names": ["t"],
        "server_assignor": None,
        "topic_partitions": [],
    }


def envelope(side: Side) -> Any:
    body = {"request_data": b"\0\0\0\0", "request_principal": b"", "client_host_address": b"\x7f\0\0\1"}
    return side.raw(ApiKey.ENVELOPE, 0, body) is CLOSED


def described_groups(side: Side) -> Any:
    body = {"group_ids": ["new", "g"], "include_authorized_operations": True}
    return side.ask(ApiKey.CONSUMER_GROUP_DESCRIBE, 0, body)


REFUSED = [
    *(ask(f"SASL handshake v{v}", ApiKey.SASL_HANDSHAKE, v, {"mechanism": "PLAIN"}) for v in range(2)),
    *(ask(f"SASL authentication v{v}", ApiKey.SASL_AUTHENTICATE, v, {"auth_bytes": b"\0a\0b"}) for v in range(3)),
    Case("envelope", envelope),
    ask("heartbeat of the newer protocol", ApiKey.CONSUMER_GROUP_HEARTBEAT, 0, heartbeat("new")),
    ask("heartbeat without a group", ApiKey.CONSUMER_GROUP_HEARTBEAT, 0, heartbeat("", -1)),
    Case("groups of the newer protocol", described_groups),
    ask("no groups of the newer protocol", ApiKey.CONSUMER_GROUP_DESCRIBE, 0, {"group_ids": [], "include_authorized_operations": False}),
    *(Case(f"unknown feature v{v}", update("x", 1, version=v)) for v in range(2)),
    *(Case(f"feature taken away v{v}", update("x", 0, 2, version=v)) for v in range(2)),
    Case("metadata version", update("metadata.version", 14)),
    Case("feature below one", update("x", 0)),
    Case("feature without a name", update("", 1)),
    Case("feature of an unknown kind of change", update("x", 1, 9)),
    Case("two features", two_features),
    ask("no features", ApiKey.UPDATE_FEATURES, 1, {"timeout": 5_000, "feature_updates": [], "validate_only": False}),
]


# Users' SCRAM credentials.


def upsertion(user: str, mechanism: int = 1, iterations: int = 4096, password: bytes = b"secret") -> dict[str, Any]:
    name = {2: "sha512"}.get(mechanism, "sha256")
    salted = hashlib.pbkdf2_hmac(name, password, b"salt", 1) if password else b""
    return {"name": user, "mechanism": mechanism, "iterations": iterations, "salt": b"salt", "salted_password": salted}


def altered(side: Side, *upsertions: dict[str, Any], deletions: tuple[tuple[str, int], ...] = ()) -> Any:
    gone = [{"name": user, "mechanism": mechanism} for user, mechanism in deletions]
    return side.ask(ApiKey.ALTER_USER_SCRAM_CREDENTIALS, 0, {"deletions": gone, "upsertions": list(upsertions)})


def described(side: Side, *users: str, null: bool = False) -> Any:
    asked = None if null else [{"name": user} for user in users]
    return side.ask(ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, 0, {"users": asked})


def lifetime(side: Side) -> Any:
    """Made, changed, described, taken away."""
    return [
        altered(side, upsertion("anna"), upsertion("anna", 2, 8192), upsertion("bert", 2)),
        described(side, "anna", "bert"),
        altered(side, upsertion("anna", 1, 5000), deletions=(("anna", 2), ("bert", 2))),
        described(side, "anna", "bert", "nobody"),
        altered(side, deletions=(("anna", 1), ("bert", 2))),
        described(side, "anna"),
    ]


def odd_names(side: Side) -> Any:
    """Of a user's name any character may be in a path of ZooKeeper."""
    names = ("CN=x,O=a/b c*~+", "é", "<default>", "%41")
    made = [altered(side, upsertion(name)) for name in names]
    return made, described(side, *names), [altered(side, deletions=((name, 1),)) for name in names]


def all_users(side: Side) -> Any:
    altered(side, upsertion("carl"), upsertion("dora"))
    found = described(side), described(side, null=True)
    return found, altered(side, deletions=(("carl", 1), ("dora", 1))), described(side)


SCRAM = [
    Case("credentials made and taken away", lifetime),
    Case("users with odd names", odd_names),
    Case("all users", all_users),
    Case("too few iterations", lambda side: altered(side, upsertion("e", 1, 4095), upsertion("f"), deletions=(("f", 2),))),
    Case("too many iterations", lambda side: altered(side, upsertion("e", 2, 16385))),
    Case("unknown mechanism", lambda side: altered(side, upsertion("e", 3), deletions=(("e2", 0),))),
    Case("user without a name", lambda side: (altered(side, upsertion("")), altered(side, deletions=(("", 1),)), described(side, ""))),
    Case("changed twice", lambda side: altered(side, upsertion("e"), upsertion("e", iterations=5000), deletions=(("g", 1),))),
    Case("made and taken away at once", lambda side: altered(side, upsertion("e"), deletions=(("e", 1),))),
    Case("nothing to take away", lambda side: altered(side, upsertion("e", 2), deletions=(("e", 1),))),
    Case("empty salted password", lambda side: altered(side, upsertion("e", password=b""))),
    Case("a path that is none", lambda side: (altered(side, upsertion(".")), described(side, ".."))),
    Case("described twice", lambda side: described(side, "e", "e", "f")),
    Case("no changes", altered),
]


# Deletion of records.


def deleted(side: Side, *rows: tuple[str, int, int], version: int = 2, timeout_ms: int = 10_000) -> Any:
    """Rows of topic, partition and offset."""
    topics = [{"name": topic, "partitions": [{"partition_index": index, "offset": offset}]} for topic, index, offset in rows]
    return side.ask(ApiKey.DELETE_RECORDS, version, {"topics": topics, "timeout": timeout_ms})


def deletions(*offsets: int, policy: str = "delete", timeout_ms: int = 10_000, version: int = 2) -> Any:
    """One after the other from a log of ten records, and what can be read then."""

    def script(side: Side) -> Any:
        topic = "k-" + "-".join(str(offset) for offset in offsets) + f"-{policy.replace(',', '-')}-{timeout_ms}-{version}"
        side.create(topic, cleanup_policy=policy)
        side.produce(topic, batch(*(str(number) for number in range(10))))
        seen = [deleted(side, (topic, 0, offset), version=version, timeout_ms=timeout_ms) for offset in offsets]
        return seen, [side.fetch(topic, offset) for offset in (0, 4, 9, 10)], side.produce(topic, batch("more"))

    return script


def of_internal_topics(side: Side) -> Any:
    ready(side)
    return deleted(side, ("__consumer_offsets", 0, 0)), deleted(side, ("__transaction_state", 0, -1))


def in_one_request(side: Side) -> Any:
    side.create("k-one-request", 2)
    side.produce("k-one-request", batch("a", "b"))
    rows = (("k-one-request", 0, 1), ("k-none", 0, 0), ("k-one-request", 1, 0), ("k-one-request", 7, 0))
    return deleted(side, *rows), deleted(side), side.fetch("k-one-request", 0)


DELETIONS = [
    *(Case(f"deletion v{v}", deletions(3, version=v)) for v in range(3)),
    Case("deletion up to the end and beyond", deletions(10, 11)),
    Case("deletion of all, twice", deletions(-1, -1)),
    Case("deletion backwards", deletions(5, 2, 5, 0)),
    Case("deletion at negative offsets", deletions(-2, -(2**63), 2**63 - 1)),
    Case("deletion without time", deletions(4, timeout_ms=0)),
    Case("deletion where both are done", deletions(4, policy="compact,delete")),
    Case("deletion of a compacted topic", deletions(4, policy="compact")),
    Case("deletion of internal topics", of_internal_topics),
    Case("deletions in one request", in_one_request),
]


# Settings of what is no topic and no broker.


def configs(side: Side, *resources: tuple[int, str], keys: list[str] | None = None, version: int = 4) -> Any:
    rows = [{"resource_type": kind, "resource_name": name, "configuration_keys": keys} for kind, name in resources]
    return side.ask(ApiKey.DESCRIBE_CONFIGS, version, {"resources": rows, "include_synonyms": True, "include_documentation": False})


def levels(side: Side, *changes: tuple[str, int, str | None], broker: str = "1", validate_only: bool = False, version: int = 1) -> Any:
    rows = [{"name": name, "config_operation": operation, "value": value} for name, operation, value in changes]
    resource = {"resource_type": LOGGER, "resource_name": broker, "configs": rows}
    return side.ask(ApiKey.INCREMENTAL_ALTER_CONFIGS, version, {"resources": [resource], "validate_only": validate_only})


def resources(side: Side, key: ApiKey, *named: tuple[int, str]) -> Any:
    rows = [{"resource_type": kind, "resource_name": name, "configs": []} for kind, name in named]
    return side.ask(key, 1, {"resources": rows, "validate_only": True})


def root_level(side: Side, version: int = 4) -> Any:
    """Without the level itself: the Kafka that is compared writes its lines by a library that keeps to its own."""
    answer = configs(side, (LOGGER, "1"), keys=["root"], version=version)
    for row in answer["results"][0]["configs"]:
        row["value"] = "a level" if row["value"] in LEVELS else row["value"]
    return answer


def a_level_changes(side: Side) -> Any:
    seen = [root_level(side), levels(side, ("root", SET, "ERROR")), root_level(side)]
    return [*seen, levels(side, ("root", SET, "INFO")), root_level(side)]


def only_validated(side: Side) -> Any:
    return levels(side, ("root", SET, "FATAL"), validate_only=True), root_level(side)


def every_level(side: Side) -> Any:
    names = ("TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL", "info", "OFF", "ALL", "WARNING", "")
    return [levels(side, ("root", SET, name), validate_only=True) for name in names]


def legacy(side: Side) -> Any:
    row = {"resource_type": LOGGER, "resource_name": "1", "configs": [{"name": "root", "value": "INFO"}]}
    return side.ask(ApiKey.ALTER_CONFIGS, 2, {"resources": [row], "validate_only": True})


KINDS = ((GROUP, "g"), (CLIENT_METRICS, "m"), (CLIENT_METRICS, ""), (0, "x"), (TOPIC_TYPE, ""), (BROKER, "1"))
NUMBER = ["num.partitions"]
ALTERING = (ApiKey.ALTER_CONFIGS, ApiKey.INCREMENTAL_ALTER_CONFIGS)
CONFIGS = [
    *(Case(f"root logger v{v}", lambda side, v=v: root_level(side, v)) for v in range(5)),  # type: ignore[misc]
    Case("level of a logger", a_level_changes),
    Case("level only validated", only_validated),
    Case("names of levels", every_level),
    Case("unknown logger", lambda side: levels(side, ("no.such", SET, "INFO"))),
    Case("unknown logger's level taken away", lambda side: levels(side, ("no.such", DELETE, None))),
    Case("root's level taken away", lambda side: levels(side, ("root", DELETE, None))),
    Case("level appended", lambda side: levels(side, ("root", APPEND, "INFO"))),
    Case("level subtracted", lambda side: levels(side, ("root", SUBTRACT, "INFO"))),
    Case("level without a value", lambda side: levels(side, ("root", SET, None))),
    Case("one level right one wrong", lambda side: (levels(side, ("root", SET, "ERROR"), ("no.such", SET, "INFO")), root_level(side))),
    Case("logger named twice", lambda side: levels(side, ("root", SET, "INFO"), ("root", SET, "WARN"))),
    Case("loggers of another broker", lambda side: (levels(side, ("root", SET, "INFO"), broker="2"), configs(side, (LOGGER, "2")))),
    Case("loggers of no broker", lambda side: (levels(side, ("root", SET, "INFO"), broker=""), configs(side, (LOGGER, "")))),
    Case("loggers of x", lambda side: (levels(side, ("root", SET, "INFO"), broker="x"), configs(side, (LOGGER, "x")))),
    Case("loggers by the older request", legacy),
    Case("unknown loggers described", lambda side: configs(side, (LOGGER, "1"), keys=["no.such"])),
    Case("a group's settings", lambda side: configs(side, (GROUP, "g"))),
    Case("an unknown kind beside a topic", lambda side: configs(side, (TOPIC_TYPE, "no-such"), (3, "x"), (BROKER, "1"), keys=NUMBER)),
    Case("clients' metrics", lambda side: (configs(side, (CLIENT_METRICS, "m")), configs(side, (CLIENT_METRICS, "")))),
    Case("a broker by another numeral", lambda side: configs(side, (BROKER, "01"), (BROKER, "+1"), (BROKER, "1 "), keys=NUMBER)),
    *(Case(f"kinds changed by {key.name}", lambda side, key=key: resources(side, key, *KINDS)) for key in ALTERING),  # type: ignore[misc]
    # By the older request Kafka fails over its own answer, and the client waits in vain.
    Case("resources named twice", lambda side: resources(
        side, ApiKey.INCREMENTAL_ALTER_CONFIGS, (BROKER, "1"), (TOPIC_TYPE, "no-such"), (BROKER, "1"))),
]  # fmt: skip


@pytest.mark.spec("N2")
@pytest.mark.parametrize("case", [*REFUSED, *SCRAM, *DELETIONS], ids=lambda case: case.name)
def test_keys(pair: Pair, case: Case) -> None:
    pair.compare(case)


@pytest.mark.spec("O1")
@pytest.mark.parametrize("case", CONFIGS, ids=lambda case: case.name)
def test_settings_of_other_kinds(pair: Pair, case: Case) -> None:
    pair.compare(case)


def test_a_credential_is_kept_as_kafka_keeps_it(pair: Pair) -> None:
    """What the one writes the other reads: a Kafka broker of the same cluster signs users in by it."""
    pair.both(lambda side: altered(side, upsertion("kept / here"), upsertion("kept / here", 2, 5000)))
    client = KazooClient(pair.zookeeper, timeout=60)
    client.start(60)
    try:
        kafka, ours = (json.loads(client.get(f"/{whose}/config/users/kept%20%2F%20here")[0]) for whose in ("kafka", "ours"))
    finally:
        client.stop()
        client.close()
    assert kafka == ours
