"""Examples of answers for the OpenAPI description: one for each shape, made from its schema, and one for each status of a problem.

What a field has goes by its name and type, so that a shape that comes or changes needs nothing here; a field that is called as no other
has nothing (0, an empty text, no rows), which is what is most often true of figures that tell of trouble.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import to_builtins

from console.api.answers import Problem
from console.rules.problems import INVALID, KINDS, TOPIC_EXISTS, Kind

Schema = Mapping[str, Any]
DEEP = 6
"""Shapes inside of each other that are gone into; a list below is empty."""
NOON_MS = 1_769_860_800_000
"""2026-01-31T12:00 UTC."""
TEXTS = {
    "action": "restart",
    "actor": "ci",
    "address": "127.0.0.1",
    "bootstrap_servers": "127.0.0.1:9092",
    "client_id": "billing-1",
    "cluster": "local",
    "cluster_id": "local",
    "code": "topic-exists",
    "created_by": "ci",
    "cron": "0 2 * * 1-5",
    "does": "Elect the preferred leaders of all topics.",
    "local": "Sat 2026-01-31 13:00",
    "next_words": "in 3 h (Sat 13:00 Europe/Berlin)",
    "format": "text",
    "group": "billing",
    "host": "127.0.0.1",
    "id": "local",
    "label": "retention.ms",
    "member_id": "billing-1-6f2c",
    "name": "orders",
    "object": "topic/orders",
    "outcome": "done",
    "process": "running",
    "protocol": "range",
    "protocol_type": "consumer",
    "role": "operator",
    "secret": "hw_told-once",
    "source": "orders.DLT",
    "state": "Stable",
    "subject": "orders-value",
    "target": "orders",
    "topic": "orders",
    "topic_id": "WhWmtF7xRo-vQ2E1YIjjCQ",
    "transactional_id": "payments-1",
    "url": "https://registry.example.org",
    "value": "604800000",
    "via": "api",
    "zone": "Europe/Berlin",
    "zookeeper": "127.0.0.1:2181",
}
NUMBERS = {
    "broker_id": 1,
    "brokers_online": 3,
    "brokers_total": 3,
    "committed": 1038,
    "controller_id": 1,
    "coordinator": 1,
    "epoch": 4,
    "every_ms": 5_000,
    "generation": 7,
    "high_watermark": 1042,
    "id": 12,
    "lag": 4,
    "lag_s": 0.8,
    "leader": 1,
    "leader_epoch": 4,
    "log_end_offset": 1042,
    "messages": 1042,
    "min_insync_replicas": 2,
    "offset": 1041,
    "partitions": 3,
    "port": 9092,
    "preferred": 1,
    "preferred_leader": 1,
    "replicas": 3,
    "replication_factor": 3,
    "status": 409,
    "version": 1,
}
ENDINGS: tuple[tuple[str, float], ...] = (
    (r"(^|_)(at|since|until|started|ends|from|to|changed|created|oldest|newest|timestamp|seen|known)_ms$", NOON_MS),
    (r"_ms$", 12),
    (r"(^|_)bytes$", 1_048_576),
    (r"_per_s$", 125.0),
)
MOMENT = re.compile(r"(_at|^at|^time|^due)$")
UNKNOWN = {"after", "before", "deleting", "error", "lost", "next", "offline_since_ms", "offline_why", "origin", "reassigning"}
UNKNOWN |= {"advice", "attention", "schema", "truncated", "unclean", "unclean_election", "undone_by"}
"""Null where it may be."""
USUAL = ("safe", "ok", "live", "succeeded", "caught_up", "online", "ready", "topic")
"""Of several states that one which a healthy cluster has, else the first."""
OF_SHAPES: Mapping[str, Mapping[str, Any]] = {
    "Cluster": {"name": "This machine", "colour": "teal", "security_protocol": "PLAINTEXT", "is_local": True, "topics": 1, "groups": 1},
    "BrokerAction": {"done": True},
    "DecodingPart": {"text": "order-17", "size": 8},
    "Job": {"kind": "analytics", "progress": {"done": 1, "total": 1, "unit": "analysis"}},
    "MaskRule": {"topics": "orders*", "part": "field", "expression": "$.card.number", "below": "admin"},
    "AfterReturn": {"is_on": True, "waiting": [], "sentence": "On."},
    "ProblemKind": {"title": TOPIC_EXISTS.title, "advice": TOPIC_EXISTS.advice},
    "RegistryTrial": {"ok": True},
    "Run": {"by": "beat", "sentence": "1 leader moved to its preferred replica.", "job": 12, "lasted_s": 2.0},
    "ScheduleSeen": {
        "name": "Leaders at night",
        "params": {},
        "next": {"at": "2026-01-31T12:00:00.000Z", "local": "Sat 2026-01-31 13:00", "offset": "UTC+01:00"},
        "changed_by": None,
    },
    "SearchState": {"id": "b7c1", "found": 1, "sentence": "1 record found."},
    "Setting": {
        "name": "retention.ms",
        "own": "604800000",
        "otherwise": "604800000",
        "default": "604800000",
        "type": "long",
        "group": "retention",
    },
    "Time": {"offset": "UTC+01:00"},
    "Token": {"name": "ci"},
    "Topic": {"sentence": "All 3 partitions are safe: every copy is in sync.", "groups": 1},
    "TopicWithConfigs": {"sentence": "All 3 partitions are safe: every copy is in sync.", "groups": 1},
    "TopicConfig": {"name": "retention.ms", "type": "long"},
    "Transaction": {"state": "Ongoing", "timeout_ms": 60_000},
    "OneTransaction": {"state": "Ongoing", "timeout_ms": 60_000, "ends_ms": NOON_MS + 60_000},
    "Termination": {"state": "Ongoing"},
    "Trial": {"ok": True},
    "Verdict": {"text": "No data is in danger."},
    "WhoAmI": {"name": "ci"},
    "WrittenRecords": {"written": 1},
}
"""By shape what a field has there and nowhere else."""
PLACES = ("assignment", "isr")
"""Lists of brokers."""
KEYS = {"own_settings": "retention.ms", "questions": "groups"}
"""Of maps; others by number."""


def example_of(schema: Schema, shapes: Mapping[str, Schema], name: str = "", deep: int = 0) -> Any:
    """A value that fits; `shapes` are all by name, `name` that of the field."""
    if "$ref" in schema:
        return example_of(shapes[schema["$ref"].rpartition("/")[2]], shapes, name, deep + 1)
    if "anyOf" in schema:
        return _of_several(schema["anyOf"], shapes, name, deep)
    if "enum" in schema:
        return next((one for one in USUAL if one in schema["enum"]), schema["enum"][0])
    return _of_type(schema, shapes, name, deep)


def _of_several(choices: Sequence[Schema], shapes: Mapping[str, Schema], name: str, deep: int) -> Any:
    known = [one for one in choices if one.get("type") != "null"]
    may_be_null = len(known) < len(choices)
    return None if may_be_null and (name in UNKNOWN or deep > DEEP) else example_of(known[0], shapes, name, deep)


def _of_type(schema: Schema, shapes: Mapping[str, Schema], name: str, deep: int) -> Any:
    kind = schema.get("type")
    if kind == "object":
        return _object(schema, shapes, name, deep)
    if kind == "array":
        return [] if deep > DEEP else _items(schema, shapes, name, deep)
    if kind == "string":
        return _text(schema, name)
    if kind in ("integer", "number"):
        return _number(kind, name)
    return False if kind == "boolean" else None


def _object(schema: Schema, shapes: Mapping[str, Schema], name: str, deep: int) -> dict[str, Any]:
    if "properties" in schema:
        own = OF_SHAPES.get(schema.get("title", ""), {})
        return {field: own[field] if field in own else example_of(one, shapes, field, deep) for field, one in schema["properties"].items()}
    values = schema.get("additionalProperties")
    return {KEYS.get(name, "1"): example_of(values, shapes, "value", deep)} if isinstance(values, dict) else {}


def _items(schema: Schema, shapes: Mapping[str, Schema], name: str, deep: int) -> list[Any]:
    if "prefixItems" in schema:
        return [example_of(one, shapes, name, deep) for one in schema["prefixItems"]]
    if name in PLACES:
        return [1, 2, 3]
    one = example_of(schema.get("items", {"type": "string"}), shapes, name.removesuffix("s"), deep)
    return [] if one == "" else [one]


def _text(schema: Schema, name: str) -> str:
    if schema.get("format") == "date-time" or MOMENT.search(name):
        return "2026-01-31T12:00:00Z"
    return TEXTS.get(name, "")


def _number(kind: str, name: str) -> int | float:
    found = NUMBERS.get(name, next((value for ending, value in ENDINGS if re.search(ending, name)), 0))
    return int(found) if kind == "integer" else float(found)


def put_examples(document: dict[str, Any]) -> None:
    """Into the description: each answer leads to the example of its shape or status in `components/examples`."""
    shapes, problems = document["components"]["schemas"], problem_examples()
    kept = document["components"].setdefault("examples", {})
    for responses in (operation["responses"] for found in document["paths"].values() for operation in found.values()):
        for status, answer in responses.items():
            for content in answer.get("content", {}).values():
                if "$ref" not in content["schema"]:
                    continue  # a file
                name = content["schema"]["$ref"].rpartition("/")[2]
                is_problem = name == Problem.__name__
                key = problems[status]["summary"] if is_problem else name
                kept.setdefault(key, problems[status] if is_problem else {"value": example_of(shapes[name], shapes)})
                content["examples"] = {key: {"$ref": f"#/components/examples/{key}"}}


def problem_examples() -> dict[int, dict[str, Any]]:
    """By status, the first kind that has it."""
    found: dict[int, dict[str, Any]] = {}
    for kind in KINDS.values():
        found.setdefault(kind.status, {"summary": kind.code, "value": _problem(kind)})
    return found


def _problem(kind: Kind) -> Any:
    field, detail = ("partitions", "partitions: Input should be a valid integer") if kind is INVALID else (None, kind.advice)
    return to_builtins(Problem(f"/api/v1/problems#{kind.code}", kind.title, kind.status, kind.code, detail, field))
