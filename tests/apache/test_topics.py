"""Creating, describing, growing and deleting topics: every good and bad way that admin clients have."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from broker_core.protocol.api import ApiKey
from tests.apache.comparison import Case, Pair, Script, ask
from tests.apache.side import Side

NO_ID = uuid.UUID(int=0)
UNKNOWN_ID = uuid.UUID(int=7 << 64 | 7)


def wanted(name: str | None, partitions: int = 1, factor: int = 1, assignments: Any = (), **configs: str | None) -> dict[str, Any]:
    rows = [{"name": config.replace("_", "."), "value": value} for config, value in configs.items()]
    placed = [{"partition_index": index, "broker_ids": list(brokers)} for index, brokers in assignments]
    return {"name": name, "num_partitions": partitions, "replication_factor": factor, "assignments": placed, "configs": rows}


def creation(*topics: dict[str, Any], version: int = 7, validate_only: bool = False, timeout_ms: int = 30_000) -> Script:
    """Which configs the answer lists is compared where configs are described; here only whether it lists any."""
    payload = {"topics": list(topics), "timeout": timeout_ms, "validate_only": validate_only}

    def script(side: Side) -> Any:
        answer = side.ask(ApiKey.CREATE_TOPICS, version, payload)
        rows = [row | {"configs": row["configs"] and "some"} if "configs" in row else row for row in answer["topics"]]
        return answer | {"topics": rows}

    return script


def created(name: str, *topics: dict[str, Any], version: int = 7, timeout_ms: int = 30_000) -> Case:
    """The request once to be validated only, once in earnest, and what there is afterwards."""
    names = sorted({topic["name"] for topic in topics})

    def script(side: Side) -> Any:
        tried = creation(*topics, version=version, validate_only=True)(side)
        made = creation(*topics, version=version, timeout_ms=timeout_ms)(side)
        there = [row for row in described(None)(side)["topics"] if row["name"] in names]
        return tried, made, there

    return Case(name, script)


def described(names: list[str] | None, version: int = 12, auto_create: bool = False) -> Script:
    topics = None if names is None else [{"name": name, "topic_id": NO_ID} for name in names]
    payload = {"topics": topics, "allow_auto_topic_creation": auto_create, "include_topic_authorized_operations": False}
    return lambda side: side.ask(ApiKey.METADATA, version, payload)


def steps(*scripts: Script) -> Script:
    return lambda side: [script(side) for script in scripts]


def deletion(*names: str, version: int = 6, ids: tuple[uuid.UUID, ...] = ()) -> Script:
    rows = [{"name": name, "topic_id": NO_ID} for name in names] + [{"name": None, "topic_id": each} for each in ids]
    by_version = {"topics": rows, "topic_names": list(names), "timeout": 30_000}
    return lambda side: side.ask(ApiKey.DELETE_TOPICS, version, by_version)


def growth(name: str, count: int, assignments: list[list[int]] | None = None, validate_only: bool = False) -> Script:
    placed = None if assignments is None else [{"broker_ids": brokers} for brokers in assignments]
    payload = {"topics": [{"name": name, "count": count, "assignments": placed}], "timeout": 30_000, "validate_only": validate_only}
    return lambda side: side.ask(ApiKey.CREATE_PARTITIONS, 3, payload)


CREATE = [
    created("plain", wanted("c-plain")),
    created("defaults", wanted("c-defaults", -1, -1)),
    created("default factor", wanted("c-factor", 3, -1)),
    created("version 2", wanted("c-v2", 2), version=2),
    created("version 4", wanted("c-v4", -1, -1), version=4),
    created("default partitions before version 4", wanted("c-v3", -1, -1), version=3),
    created("no partitions", wanted("c-none", 0)),
    created("negative partitions", wanted("c-negative", -2)),
    created("factor zero", wanted("c-factor-0", 1, 0)),
    created("negative factor", wanted("c-factor-n", 1, -3)),
    created("factor above the brokers", wanted("c-factor-4", 1, 4)),
    created("no partitions and bad factor", wanted("c-both", 0, 0)),
    created("unknown config", wanted("c-unknown", no_such_setting="1")),
    created("config out of range", wanted("c-range", segment_bytes="3")),
    created("config of the wrong type", wanted("c-type", retention_ms="soon")),
    created("config of no choice", wanted("c-choice", cleanup_policy="keep")),
    created("empty cleanup policy", wanted("c-policy", cleanup_policy="")),
    created("null config", wanted("c-null", retention_ms=None)),
    created("good configs", wanted("c-good", cleanup_policy="compact,delete", retention_ms="-1", min_insync_replicas="2")),
    created("min lag above max lag", wanted("c-lag", min_compaction_lag_ms="10", max_compaction_lag_ms="5")),
    created(
        "config named twice",
        {**wanted("c-dup"), "configs": [{"name": "retention.ms", "value": "1"}, {"name": "retention.ms", "value": "2"}]},
    ),
    created("empty name", wanted("")),
    created("name of a dot", wanted(".")),
    created("name of two dots", wanted("..")),
    created("name with a slash", wanted("a/b")),
    created("name with a blank", wanted("a b")),
    created("name beyond ASCII", wanted("käse")),
    created("longest name", wanted("n" * 249)),
    created("name too long", wanted("n" * 250)),
    created("internal name", wanted("__cluster_metadata")),
    created("twice in one request", wanted("c-twice"), wanted("c-twice")),
    created("one good one bad", wanted("c-one-good"), wanted("c-one-bad", 0)),
    created("no topics"),
    Case(
        "collision in one request",
        lambda side: sorted(row["error_code"] for row in creation(wanted("c.x_y"), wanted("c_x.y"))(side)["topics"]),
    ),
    created("assignment", wanted("c-assigned", -1, -1, [(0, [1]), (1, [1])])),
    created("assignment with numbers", wanted("c-assigned-n", 1, 1, [(0, [1])])),
    created("assignment with a gap", wanted("c-gap", -1, -1, [(0, [1]), (2, [1])])),
    created("assignment not from zero", wanted("c-from-1", -1, -1, [(1, [1])])),
    created("assignment to nobody", wanted("c-nobody", -1, -1, [(0, [])]), timeout_ms=500),
    created("assignment to an unknown broker", wanted("c-unknown-b", -1, -1, [(0, [9])]), timeout_ms=500),
    created("assignment to a broker twice", wanted("c-dup-b", -1, -1, [(0, [1, 1])])),
    created("partition assigned twice", wanted("c-dup-p", -1, -1, [(0, [1]), (0, [1])])),
    created("assignments of unequal length", wanted("c-unequal", -1, -1, [(0, [1]), (1, [1, 9])])),
    created("negative broker", wanted("c-neg-b", -1, -1, [(0, [-1])]), timeout_ms=500),
    Case(
        "topic that is there",
        steps(creation(wanted("c-there")), creation(wanted("c-there")), creation(wanted("c-there"), validate_only=True)),
    ),
    Case("collision with one that is there", steps(creation(wanted("c.a_b")), creation(wanted("c_a.b")), creation(wanted("c_a_b")))),
]

METADATA = [
    *(Case(f"unknown topic v{v}", described([f"m-unknown-{v}"], v)) for v in (0, 1, 4, 5, 7, 9, 11, 12)),
    *(
        Case(f"unknown topic among known v{v}", steps(creation(wanted("m-known")), described(["m-known", f"m-none-{v}"], v)))
        for v in (1, 12)
    ),
    Case("no topics v0 means all", lambda side: len(described([], 0)(side)["topics"]) > 0),
    Case("no topics", described([])),
    Case("invalid name", described(["a b"])),
    Case("invalid name to be created", described(["a b"], auto_create=True)),
    Case("empty name in metadata", described([""])),
    Case("name too long in metadata", described(["n" * 250])),
    Case("collision to be created", steps(creation(wanted("m.a_b")), described(["m_a.b"], auto_create=True))),
    Case("twice", steps(creation(wanted("m-twice")), described(["m-twice", "m-twice"]))),
    Case(
        "authorized operations",
        lambda side: side.ask(
            ApiKey.METADATA, 10, {"topics": [], "include_cluster_authorized_operations": True, "include_topic_authorized_operations": True}
        ),
    ),
    Case(
        "created by asking",
        lambda side: (described(["m-auto"], auto_create=True)(side), side.until_led("m-auto", 2), described(["m-auto"])(side)),
    ),
    ask("unknown id", ApiKey.METADATA, 12, {"topics": [{"name": None, "topic_id": UNKNOWN_ID}]}),
    ask("null name without an id", ApiKey.METADATA, 12, {"topics": [{"name": None, "topic_id": NO_ID}]}),
    ask("null name before ids", ApiKey.METADATA, 10, {"topics": [{"name": None, "topic_id": NO_ID}]}),
    ask("unknown id before ids count", ApiKey.METADATA, 11, {"topics": [{"name": None, "topic_id": UNKNOWN_ID}]}),
    Case(
        "by id",
        lambda side: (
            side.create("m-by-id"),
            side.ask(ApiKey.METADATA, 12, {"topics": [{"name": None, "topic_id": side.topic_id("m-by-id")}]}),
        ),
    ),
    Case(
        "by id and another name",
        lambda side: (
            side.create("m-by-id-2"),
            side.ask(ApiKey.METADATA, 12, {"topics": [{"name": "other", "topic_id": side.topic_id("m-by-id-2")}]}),
        ),
    ),
    Case(
        "by id and by name",
        lambda side: (
            side.create("m-by-both"),
            side.ask(
                ApiKey.METADATA,
                12,
                {"topics": [{"name": None, "topic_id": side.topic_id("m-by-both")}, {"name": "m-by-both", "topic_id": NO_ID}]},
            ),
        ),
    ),
]

DELETE = [
    *(Case(f"unknown v{v}", deletion("d-unknown", version=v)) for v in (1, 4, 5, 6)),
    Case("there", steps(creation(wanted("d-there")), deletion("d-there"), deletion("d-there"), described(["d-there"]))),
    Case("two of which one is there", steps(creation(wanted("d-two")), deletion("d-two", "d-none"))),
    Case("the same twice", steps(creation(wanted("d-twice")), deletion("d-twice", "d-twice"))),
    Case("unknown id to delete", deletion(ids=(UNKNOWN_ID,))),
    Case("neither name nor id", deletion(ids=(NO_ID,))),
    Case("delete by id", lambda side: (side.create("d-id"), deletion(ids=(side.topic_id("d-id"),))(side), described(["d-id"])(side))),
    Case("by id twice", lambda side: (side.create("d-id2"), deletion(ids=(side.topic_id("d-id2"),) * 2)(side))),
    Case("by name and by id", lambda side: (side.create("d-both"), deletion("d-both", ids=(side.topic_id("d-both"),))(side))),
    Case(
        "name with an id",
        lambda side: (
            side.create("d-name-id"),
            side.ask(
                ApiKey.DELETE_TOPICS, 6, {"topics": [{"name": "d-name-id", "topic_id": side.topic_id("d-name-id")}], "timeout": 30_000}
            ),
        ),
    ),
    Case("nothing", deletion()),
    Case("invalid name to delete", deletion("a b")),
]

GROW = [
    Case("more", steps(creation(wanted("g-more")), growth("g-more", 3), described(["g-more"]))),
    Case("more, only validated", steps(creation(wanted("g-val")), growth("g-val", 3, validate_only=True), described(["g-val"]))),
    Case("as many", steps(creation(wanted("g-same", 2)), growth("g-same", 2))),
    Case("fewer", steps(creation(wanted("g-fewer", 2)), growth("g-fewer", 1))),
    Case("zero", steps(creation(wanted("g-zero")), growth("g-zero", 0))),
    Case("negative", steps(creation(wanted("g-neg")), growth("g-neg", -1))),
    Case("of an unknown topic", growth("g-unknown", 3)),
    Case("assigned", steps(creation(wanted("g-assign")), growth("g-assign", 2, [[1]]), described(["g-assign"]))),
    Case("assigned too many", steps(creation(wanted("g-many")), growth("g-many", 2, [[1], [1]]))),
    Case("assigned too few", steps(creation(wanted("g-few")), growth("g-few", 3, [[1]]))),
    Case("assigned to nobody", steps(creation(wanted("g-nobody")), growth("g-nobody", 2, [[]]))),
    Case("assigned nothing", steps(creation(wanted("g-empty")), growth("g-empty", 2, []))),
    Case("assigned to the unknown", steps(creation(wanted("g-unk-b")), growth("g-unk-b", 2, [[9]]))),
    Case("assigned twice", steps(creation(wanted("g-dup-b")), growth("g-dup-b", 2, [[1, 1]]))),
    Case("assigned another factor", steps(creation(wanted("g-factor")), growth("g-factor", 2, [[1, 9]]))),
    Case(
        "twice in one",
        lambda side: (
            side.create("g-twice"),
            side.ask(
                ApiKey.CREATE_PARTITIONS,
                3,
                {"topics": [{"name": "g-twice", "count": 2, "assignments": None}] * 2, "timeout": 30_000, "validate_only": False},
            ),
        ),
    ),
]


@pytest.mark.parametrize("case", [*CREATE, *METADATA, *DELETE, *GROW], ids=lambda case: case.name)
def test_topics(pair: Pair, case: Case) -> None:
    pair.compare(case)
