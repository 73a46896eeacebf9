"""Settings of topics and brokers: what is described, and what may be changed how."""

from __future__ import annotations

from typing import Any

import pytest

from broker_core.config.dynamic import THREADS
from broker_core.protocol.api import ApiKey
from tests.apache.comparison import Case, Pair, unequal
from tests.apache.differences import BROKER_SETTINGS, BROKER_SETTINGS_OURS
from tests.apache.side import Side

TOPIC, BROKER, LOGGER, CLIENT_METRICS = 2, 4, 8, 16
SET, DELETE, APPEND, SUBTRACT = range(4)
INT, LONG, CLASS = 3, 5, 8


def described(side: Side, kind: int, name: str, keys: list[str] | None = None, version: int = 4) -> Any:
    resource = {"resource_type": kind, "resource_name": name, "configuration_keys": keys}
    asked = {"resources": [resource], "include_synonyms": True, "include_documentation": False}
    return side.ask(ApiKey.DESCRIBE_CONFIGS, version, asked)["results"][0]


def altered(side: Side, kind: int, name: str, *changes: tuple[str, int, str | None], validate_only: bool = False) -> Any:
    rows = [{"name": setting, "config_operation": operation, "value": value} for setting, operation, value in changes]
    resource = {"resource_type": kind, "resource_name": name, "configs": rows}
    return side.ask(ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, {"resources": [resource], "validate_only": validate_only})


def topic_change(name: str, *changes: tuple[str, int, str | None], validate_only: bool = False) -> Case:
    """The change of a topic that has some settings of its own, and all of its own that it has afterwards."""
    topic = "s-" + "".join(char if char.isalnum() else "-" for char in name)

    def script(side: Side) -> Any:
        side.create(topic, retention_ms="1000", cleanup_policy="compact")
        answer = altered(side, TOPIC, topic, *changes, validate_only=validate_only)
        return answer, side.until(lambda: own_settings(side, topic), settled(answer, changes, validate_only))

    return Case(name, script)


def settled(answer: Any, changes: Any, validate_only: bool) -> Any:
    """Brokers learn of a change after it was answered: waits until what was set or deleted shows."""
    done = answer["responses"][0]["error_code"] == "NONE" and not validate_only
    expected = {name: value for name, operation, value in changes if done and operation == SET}
    gone = {name for name, operation, _ in changes if done and operation == DELETE}
    changed = done and any(operation in (APPEND, SUBTRACT) for _, operation, _ in changes)

    def there(found: dict[str, Any]) -> bool:
        shown = all(found.get(name) == value for name, value in expected.items())
        return shown and not gone & found.keys() and (not changed or found.get("cleanup.policy") != "compact")

    return there


def own_settings(side: Side, topic: str) -> dict[str, Any]:
    return {row["name"]: row["value"] for row in described(side, TOPIC, topic)["configs"] if row["config_source"] == 1}


def replaced(side: Side, topic: str, *settings: tuple[str, str | None]) -> Any:
    rows = [{"name": name, "value": value} for name, value in settings]
    resource = {"resource_type": TOPIC, "resource_name": topic, "configs": rows}
    return side.ask(ApiKey.ALTER_CONFIGS, 2, {"resources": [resource], "validate_only": False})


def replacing(name: str, *settings: tuple[str, str | None]) -> Case:
    topic = "r-" + name.replace(" ", "-")

    def script(side: Side) -> Any:
        side.create(topic, retention_ms="1000", cleanup_policy="compact")
        answer = replaced(side, topic, *settings)
        done = answer["responses"][0]["error_code"] == "NONE"
        return answer, side.until(lambda: own_settings(side, topic), lambda found: not done or found == dict(settings))

    return Case(name, script)


def broker_change(name: str, broker: str, *changes: tuple[str, int, str | None]) -> Case:
    return Case(name, lambda side: altered(side, BROKER, broker, *changes, validate_only=True))


def created_with(side: Side, policy: str = "compact,delete", topic: str = "s-created") -> Any:
    side.create(topic, retention_ms="5", segment_bytes="100000", cleanup_policy=policy)
    return described(side, TOPIC, topic)


LIST = "leader.replication.throttled.replicas"
BAD_VALUES = [
    ("retention.ms", "soon"), ("retention.ms", "-2"), ("retention.ms", ""), ("segment.bytes", "13"), ("segment.bytes", "99999999999"),
    ("cleanup.policy", "keep"), ("compression.type", "none"), ("compression.gzip.level", "0"), ("compression.zstd.level", "23"),
    ("min.cleanable.dirty.ratio", "1.5"), ("preallocate", "perhaps"), ("message.timestamp.type", "createtime"), ("no.such", "1"),
    ("min.insync.replicas", "0"), ("message.format.version", "x"), ("message.format.version", "9.9"),
    ("message.format.version", "0.10.0.0"), ("message.format.version", "2.8.1"), ("message.format.version", "3.0-IV9"),
    ("remote.storage.enable", "true"), ("max.message.bytes", "-1"),
    ("unclean.leader.election.enable", "1"), ("flush.messages", "0"), ("index.interval.bytes", "-1"), ("segment.ms", "0"),
    ("retention.bytes", " 7 "), ("preallocate", "TRUE"), ("message.timestamp.difference.max.ms", "7"), ("file.delete.delay.ms", "-1"),
    ("min.compaction.lag.ms", "9223372036854775807"), ("max.compaction.lag.ms", "0"), ("delete.retention.ms", "1.0"),
    (LIST, "0:1"), (LIST, "*"), (LIST, "0:1,1:x"), (LIST, "nonsense"), ("segment.jitter.ms", "-1"), ("local.retention.ms", "-3"),
]  # fmt: skip

CASES = [
    Case("topic with settings of its own", created_with),
    Case("list in another order", lambda side: created_with(side, "delete, compact", "s-order")),
    Case("some keys", lambda side: (side.create("s-keys"), described(side, TOPIC, "s-keys", ["retention.ms", "no.such"]))),
    Case("no keys", lambda side: (side.create("s-none"), described(side, TOPIC, "s-none", []))),
    *(Case(f"describe version {v}", lambda side, v=v: (  # type: ignore[misc]
        side.create(f"s-v{v}"), described(side, TOPIC, f"s-v{v}", ["retention.ms"], v))) for v in range(5)),
    Case("unknown topic", lambda side: described(side, TOPIC, "s-unknown")),
    Case("invalid topic name", lambda side: described(side, TOPIC, "a b")),
    Case("empty topic name", lambda side: described(side, TOPIC, "")),
    Case("another broker", lambda side: described(side, BROKER, "2")),
    Case("broker that is no number", lambda side: described(side, BROKER, "one")),
    Case("all brokers", lambda side: described(side, BROKER, "")),
    Case("unknown kind", lambda side: described(side, 3, "x")),
    Case("client metrics", lambda side: described(side, CLIENT_METRICS, "x")),
    topic_change("set", ("retention.ms", SET, "5"), ("segment.bytes", SET, "2000")),
    topic_change("set only validated", ("retention.ms", SET, "5"), validate_only=True),
    topic_change("delete", ("retention.ms", DELETE, None)),
    topic_change("delete with a value", ("retention.ms", DELETE, "7")),
    topic_change("delete what is not set", ("segment.bytes", DELETE, None)),
    topic_change("delete an unknown one", ("no.such", DELETE, None)),
    topic_change("append", ("cleanup.policy", APPEND, "delete")),
    topic_change("append what is there", ("cleanup.policy", APPEND, "compact"), ("retention.ms", SET, "5"), validate_only=True),
    topic_change("append to a number", ("retention.ms", APPEND, "5")),
    topic_change("append nonsense", ("cleanup.policy", APPEND, "keep")),
    topic_change("subtract", ("cleanup.policy", SUBTRACT, "compact")),
    topic_change("subtract what is not there", ("cleanup.policy", SUBTRACT, "delete"), validate_only=True),
    topic_change("subtract from a number", ("retention.ms", SUBTRACT, "5")),
    topic_change("unknown operation", ("retention.ms", 9, "5")),
    topic_change("null", ("retention.ms", SET, None)),
    topic_change("twice the same", ("retention.ms", SET, "5"), ("retention.ms", SET, "6")),
    topic_change("set and delete", ("retention.ms", SET, "5"), ("retention.ms", DELETE, None)),
    topic_change("one good one bad", ("retention.ms", SET, "5"), ("segment.bytes", SET, "x")),
    topic_change("nothing"),
    *(topic_change(f"{name}={value}", (name, SET, value), validate_only=True) for name, value in BAD_VALUES),
    Case("change of an unknown topic", lambda side: altered(side, TOPIC, "s-unknown", ("retention.ms", SET, "5"))),
    Case("change of an invalid name", lambda side: altered(side, TOPIC, "a b", ("retention.ms", SET, "5"))),
    Case("change of an unknown kind", lambda side: altered(side, 3, "x", ("retention.ms", SET, "5"))),
    Case("change of client metrics", lambda side: altered(side, CLIENT_METRICS, "x", ("interval.ms", SET, "5000"))),
    broker_change("dynamic setting of a broker", "1", ("log.cleaner.backoff.ms", SET, "5")),
    broker_change("dynamic setting of all brokers", "", ("log.cleaner.backoff.ms", SET, "5")),
    broker_change("static setting of a broker", "1", ("num.partitions", SET, "5")),
    broker_change("static setting of all brokers", "", ("broker.id", SET, "5")),
    broker_change("setting of another broker", "2", ("log.cleaner.backoff.ms", SET, "5")),
    broker_change("setting of broker x", "x", ("log.cleaner.backoff.ms", SET, "5")),
    broker_change("bad value of a broker", "1", ("log.cleaner.backoff.ms", SET, "soon")),
    broker_change("bad value of all brokers", "", ("message.max.bytes", SET, "-1")),
    broker_change("setting of a broker without effect here", "1", ("log.cleaner.threads", SET, "2")),
    broker_change("unknown setting of a broker", "1", ("no.such", SET, "5")),
    broker_change("delete what a broker has not", "1", ("log.cleaner.backoff.ms", DELETE, None)),
    broker_change("append to a number of a broker", "1", ("log.cleaner.backoff.ms", APPEND, "1")),
    replacing("replace", ("retention.ms", "7"), ("segment.bytes", "2000")),
    replacing("replace by nothing"),
    replacing("replace by nonsense", ("retention.ms", "x")),
    replacing("replace by an unknown one", ("no.such", "x")),
    replacing("replace by null", ("retention.ms", None)),
    replacing("replace twice the same", ("retention.ms", "1"), ("retention.ms", "2")),
    Case("replace in an unknown topic", lambda side: replaced(side, "s-unknown", ("retention.ms", "1"))),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_configs(pair: Pair, case: Case) -> None:
    pair.compare(case)


def test_all_settings_of_a_topic_are_described_alike(pair: Pair) -> None:
    kafka, ours = pair.both(lambda side: (side.create("s-all"), described(side, TOPIC, "s-all")))
    assert not list(unequal(kafka, ours))


def broker_settings(side: Side) -> dict[str, Any]:
    return {row["name"]: row for row in described(side, BROKER, "1")["configs"]}


def test_settings_of_a_broker_are_described_alike(pair: Pair) -> None:
    """All that Kafka has: value, default, type, places it comes from, whether it may be changed in a running broker."""
    kafka, ours = pair.both(broker_settings)
    assert ours.keys() - kafka.keys() == BROKER_SETTINGS_OURS
    assert kafka.keys() - ours.keys() == set()
    found = {name: list(unequal(kafka[name], ours[name])) for name in sorted(kafka)}
    assert {name: lines for name, lines in found.items() if lines and name not in BROKER_SETTINGS} == {}
    assert [name for name in sorted(BROKER_SETTINGS) if not found[name]] == []


def test_settings_are_changed_for_whom_they_are_in_kafka(pair: Pair) -> None:
    """For one broker, for all of them, or for nobody: each setting is given a value of its type in both ways."""
    kafka, _ = pair.both(broker_settings)

    def answers(side: Side) -> dict[str, Any]:
        told = {}
        for name, row in kafka.items():
            if row["value"] is None and row["config_type"] == CLASS:
                continue  # there is no class that both could load
            value = row["value"] if row["value"] is not None else "1" if row["config_type"] in (INT, LONG) else "x"
            told[name] = [
                altered(side, BROKER, whose, (name, SET, value), validate_only=True)["responses"][0]["error_code"] for whose in ("1", "")
            ]
        return told

    asked, got = pair.both(answers)
    differ = {name: (asked[name], got[name]) for name in asked if asked[name] != got[name]}
    assert len(asked) > 300
    assert {name: codes for name, codes in differ.items() if name not in BROKER_SETTINGS} == {}


def test_a_setting_is_changed_at_run_time_by_both_names_of_all(pair: Pair) -> None:
    """What no file has: rates of throttled replicas are described once they are set; a listener's own settings too."""

    def script(side: Side) -> Any:
        rate, own = "leader.replication.throttled.rate", "listener.name.plaintext.ssl.keystore.location"
        seen = [altered(side, BROKER, "1", (rate, SET, "1000000"))["responses"][0]["error_code"]]
        seen.append(side.until(lambda: broker_settings(side).get(rate), bool))
        seen.append(altered(side, BROKER, "", (rate, SET, "2000000"))["responses"][0]["error_code"])
        seen.append(side.until(lambda: described(side, BROKER, "")["configs"], bool))
        seen += [altered(side, BROKER, whose, (rate, DELETE, None))["responses"][0]["error_code"] for whose in ("1", "")]
        seen.append(side.until(lambda: described(side, BROKER, "")["configs"], lambda rows: not rows))
        seen.append(side.until(lambda: rate in broker_settings(side), lambda there: not there))
        seen += [altered(side, BROKER, whose, (own, SET, "/x"), validate_only=True)["responses"][0]["error_code"] for whose in ("1", "")]
        return seen

    pair.compare(Case("rates", script))


@pytest.mark.parametrize("name", THREADS)
def test_numbers_of_threads_change_by_half_or_double(pair: Pair, name: str) -> None:
    def script(side: Side) -> Any:
        now = int(broker_settings(side)[name]["value"])
        values = {now // 2, now // 2 - 1, now * 2, now * 2 + 1, 0, now}
        return [altered(side, BROKER, "", (name, SET, str(value)), validate_only=True) for value in sorted(values)]

    pair.compare(Case(name, script))
