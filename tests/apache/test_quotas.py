"""Quotas of clients: what both brokers answer to keys 48 and 49, what they write into ZooKeeper, and how long they make clients wait."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from kazoo.client import KazooClient

from broker_core.errors import ErrorCode
from broker_core.protocol.api import ApiKey
from tests.apache.comparison import Case, Pair, Script
from tests.apache.side import Connection, Side, batch

Entity = Mapping[str, str | None]
EXACT, DEFAULT, ANY = 0, 1, 2
PATHS = ("/config/users", "/config/clients", "/config/ips")


def alter(side: Side, entity: Any, limits: Mapping[str, float | None], *, version: int = 1, validate_only: bool = False) -> Any:
    parts = [{"entity_type": kind, "entity_name": name} for kind, name in (entity.items() if isinstance(entity, dict) else entity)]
    ops = [{"key": key, "value": value or 0.0, "remove": value is None} for key, value in limits.items()]
    return side.ask(ApiKey.ALTER_CLIENT_QUOTAS, version, {"entries": [{"entity": parts, "ops": ops}], "validate_only": validate_only})


def describe(side: Side, *components: tuple[str, int, str | None], strict: bool = False, version: int = 1) -> Any:
    rows = [{"entity_type": kind, "match_type": how, "match": name} for kind, how, name in components]
    answer = side.ask(ApiKey.DESCRIBE_CLIENT_QUOTAS, version, {"components": rows, "strict": strict})
    for entry in answer["entries"] or ():
        entry["entity"].sort(key=repr)
        for value in entry["values"]:
            value["value"] = repr(value["value"])  # NaN is NaN
    return answer | {"entries": answer["entries"] and sorted(answer["entries"], key=repr)}


def znodes(side: Side) -> dict[str, Any]:
    """Those of quotas, with what they hold, and the last notification."""
    chroot = "kafka" if side.port == side_ports["kafka"] else "ours"
    client = KazooClient(hosts=f"{side_ports['zookeeper']}/{chroot}")
    client.start(30)
    try:
        found: dict[str, Any] = {}
        left = list(PATHS)
        while left:
            path = left.pop()
            data = client.get(path)[0]
            found[path] = json.loads(data)["config"] if data else {}
            left += [f"{path}/{name}" for name in client.get_children(path)]
        changes = sorted(client.get_children("/config/changes"))
        found["last"] = json.loads(client.get(f"/config/changes/{changes[-1]}")[0]) if changes else None
        return found
    finally:
        client.stop()
        client.close()


side_ports: dict[str, Any] = {}


@pytest.fixture(scope="module", autouse=True)
def places(pair: Pair) -> Iterator[None]:
    side_ports.update({"kafka": pair.kafka, "zookeeper": pair.zookeeper})
    yield
    side_ports.clear()


def altered(entity: Any, limits: Mapping[str, float | None], **how: Any) -> Script:
    """The answer, and what is there then; all of it is taken away again."""

    def script(side: Side) -> Any:
        found = alter(side, entity, limits, **how), znodes(side), describe(side)
        clear(side)
        return found, znodes(side)

    return script


def clear(side: Side) -> None:
    for entry in describe(side)["entries"]:
        entity = {part["entity_type"]: part["entity_name"] for part in entry["entity"]}
        alter(side, entity, dict.fromkeys(value["key"] for value in entry["values"]))


ENTITIES: list[dict[str, str | None]] = [
    {"user": "alice"}, {"user": None}, {"client-id": "app"}, {"client-id": None}, {"user": "alice", "client-id": "app"},
    {"user": "alice", "client-id": None}, {"user": None, "client-id": "app"}, {"user": None, "client-id": None},
    {"user": "CN=a, O=b/c*d+e~f", "client-id": "<default>"}, {"user": "ü"},
]  # fmt: skip
CLIENTS = {"producer_byte_rate": 1048576.0, "consumer_byte_rate": 1e7, "request_percentage": 12.5, "controller_mutation_rate": 1e7}
ODD = [0.0, 1.0, 0.1, 1e-3, 1e-4, 123456.789, 9999999.0, 12345678.9, 1e21, 1.5e300, -1.0, float("inf"), float("nan")]
WHOLE = [0.0, 1.0, 1.5, 1.0000001, 0.9999999, -3.0, 9e18, 1e19, float("inf"), float("nan")]


def filled(*components: tuple[str, int, str | None], strict: bool, version: int = 1) -> Script:
    def script(side: Side) -> Any:
        for entity in ENTITIES[:8]:
            alter(side, entity, {"consumer_byte_rate": 3.0})
        for address in ("10.0.0.1", None):
            alter(side, {"ip": address}, {"connection_creation_rate": 3000.0})
        found = describe(side, *components, strict=strict, version=version)
        clear(side)
        return found

    return script


FILTERS: list[tuple[tuple[str, int, str | None], ...]] = [
    (), (("user", EXACT, "alice"),), (("user", DEFAULT, None),), (("user", ANY, None),), (("client-id", EXACT, "app"),),
    (("client-id", DEFAULT, None),), (("client-id", ANY, None),), (("user", EXACT, "alice"), ("client-id", EXACT, "app")),
    (("user", EXACT, "alice"), ("client-id", DEFAULT, None)), (("user", ANY, None), ("client-id", EXACT, "app")),
    (("user", ANY, None), ("client-id", ANY, None)), (("user", EXACT, "nobody"),), (("ip", EXACT, "10.0.0.1"),), (("ip", DEFAULT, None),),
    (("ip", ANY, None),), (("ip", EXACT, "10.0.0.2"),), (("user", EXACT, "a"), ("user", ANY, None)),
    (("ip", ANY, None), ("user", ANY, None)),
    (("", ANY, None),), (("team", ANY, None),), (("user", 7, None),), (("user", EXACT, None),),
    (("team", ANY, None), ("team", ANY, None)),
]  # fmt: skip

CASES = [
    *(Case(f"limits of {entity}", altered(entity, CLIENTS)) for entity in ENTITIES),
    Case("limits v0", altered({"user": "alice"}, CLIENTS, version=0)),
    Case("limits of an address", altered({"ip": "192.0.2.1"}, {"connection_creation_rate": 10.0})),
    Case("limits of all addresses", altered({"ip": None}, {"connection_creation_rate": 10.0})),
    *(Case(f"an odd number {value}", altered({"user": "alice"}, {"request_percentage": value})) for value in ODD),
    *(Case(f"a whole number {value}", altered({"user": "alice"}, {"producer_byte_rate": value})) for value in WHOLE),
    *(Case(f"an address's {value}", altered({"ip": "10.0.0.1"}, {"connection_creation_rate": value}))
      for value in (0.0, 1.5, -1.0, 2147483647.0, 2147483648.0, float("inf"), float("nan"))),
    Case("a question", altered({"user": "alice"}, CLIENTS, validate_only=True)),
    Case("a question about nothing", altered({"user": "alice"}, {"nonsense": 1.0}, validate_only=True)),
    Case("a question about a negative rate", altered({"ip": "10.0.0.1"}, {"connection_creation_rate": -1.0}, validate_only=True)),
    Case("nothing to change", altered({"user": "alice"}, {})),
    Case("what is not there is taken away", altered({"user": "alice"}, {"nonsense": None})),
    Case("nobody", altered({}, CLIENTS)),
    Case("another type", altered({"team": "a"}, CLIENTS)),
    Case("an empty name", altered({"user": ""}, CLIENTS)),
    Case("an empty client id beside a user", altered({"user": "a", "client-id": ""}, CLIENTS)),
    Case("an address with a user", altered({"user": "a", "ip": "10.0.0.1"}, CLIENTS)),
    Case("an address with a client's limit", altered({"ip": "10.0.0.1"}, {"producer_byte_rate": 1.0})),
    Case("a user with an address's limit", altered({"user": "a"}, {"connection_creation_rate": 1.0})),
    Case("no address", altered({"ip": "no such host!"}, {"connection_creation_rate": 1.0})),
    Case("an IPv6 address", altered({"ip": "::1"}, {"connection_creation_rate": 1.0})),
    Case("an unknown limit", altered({"user": "a"}, {"nonsense": 1.0})),
    Case("a password", altered({"user": "a"}, {"SCRAM-SHA-256": 1.0})),
    Case("a client's password", altered({"client-id": "a"}, {"SCRAM-SHA-256": 1.0})),
    Case("one type twice", altered([("user", "a"), ("user", "b")], {"producer_byte_rate": 1.0})),
    *(Case(f"{'only ' if strict else ''}{components}", filled(*components, strict=strict))
      for components in FILTERS for strict in (False, True)),
    Case("filter v0", filled(("user", ANY, None), strict=True, version=0)),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_quotas(pair: Pair, case: Case) -> None:
    pair.compare(case)


def limited(side: Side, entity: Entity, limits: Mapping[str, float | None]) -> None:
    alter(side, entity, limits)
    time.sleep(2)  # the broker's watch on the notification


def throttles(side: Side, key: ApiKey, version: int, payloads: list[Mapping[str, Any]]) -> list[int]:
    return [side.raw(key, version, payload).throttle_time for payload in payloads]


def test_producers_are_told_to_wait_about_as_long(pair: Pair) -> None:
    """Until the tenth second's worth not at all; then as long as it takes for the rate to be right."""

    def script(side: Side) -> list[int]:
        side.create("q-produce")
        limited(side, {"client-id": "compared"}, {"producer_byte_rate": 100_000.0})
        rows = [{"name": "q-produce", "partition_data": [{"index": 0, "records": batch("x" * 100_000)}]}]
        payload = {"transactional_id": None, "acks": 1, "timeout": 10_000, "topic_data": rows}
        told = throttles(side, ApiKey.PRODUCE, 9, [payload] * 13)
        clear(side)
        return told

    kafka, ours = pair.both(script)
    assert max(ours[:9]) == max(kafka[:9]) == 0 < min(ours[-2:] + kafka[-2:]), (kafka, ours)
    assert ours[-2:] == pytest.approx(kafka[-2:], abs=1500), (kafka, ours)


def test_consumers_get_nothing_while_they_are_told_to_wait(pair: Pair) -> None:
    """A batch of 100 kB, where 2 kB a second are allowed: ten seconds' worth are 20 kB, so 40 s are missing."""

    def script(side: Side) -> tuple[bool, int]:
        side.create("q-fetch")
        side.produce("q-fetch", batch("x" * 100_000))
        limited(side, {"client-id": "fetches"}, {"consumer_byte_rate": 2_000.0})
        row = {"partition": 0, "fetch_offset": 0, "partition_max_bytes": 100}
        topics = [{"topic": "q-fetch", "partitions": [row]}]
        connection = side.connect("fetches")
        asked = {"replica_id": -1, "max_wait": 0, "min_bytes": 0, "max_bytes": 1000, "session_id": 0, "session_epoch": -1}
        connection.send(ApiKey.FETCH, 11, asked | {"topics": topics})
        answer = connection.receive(ApiKey.FETCH, 11)
        clear(side)
        return bool(answer.responses), answer.throttle_time

    kafka, ours = pair.both(script)
    assert ours[0] == kafka[0] is False
    assert ours[1] == pytest.approx(kafka[1], abs=1_000) and ours[1] == pytest.approx(40_000, abs=1_000)


def changed(connection: Connection, key: ApiKey, version: int, payload: Mapping[str, Any]) -> tuple[str, int]:
    """The code of the one topic asked for, and how long the client is to wait."""
    connection.send(key, version, payload)
    answer = connection.receive(key, version)
    (row,) = answer.topics if key is ApiKey.CREATE_TOPICS else answer.responses
    return ErrorCode(row.error_code).name, answer.throttle_time


def creation(name: str, partitions: int) -> dict[str, Any]:
    row = {"name": name, "num_partitions": partitions, "replication_factor": 1, "assignments": [], "configs": []}
    return {"topics": [row], "timeout": 30_000, "validate_only": False}


def test_partitions_above_the_quota(pair: Pair) -> None:
    """Refused to clients that know of it while they are in debt; made for the others, who have to wait. What finds a client out of
    debt is carried out whole."""

    def script(side: Side) -> list[tuple[str, int]]:
        limited(side, {"client-id": "new"}, {"controller_mutation_rate": 2.0})
        limited(side, {"client-id": "old"}, {"controller_mutation_rate": 2.0})
        new, old = side.connect("new"), side.connect("old")
        found = [
            changed(new, ApiKey.CREATE_TOPICS, 6, creation("q-new", 40)),
            changed(new, ApiKey.CREATE_TOPICS, 6, creation("q-new-2", 1)),
        ]
        found.append(changed(old, ApiKey.CREATE_TOPICS, 5, creation("q-old", 40)))
        limited(side, {"client-id": "other"}, {"controller_mutation_rate": 0.1})
        other = side.connect("other")
        found += [changed(other, ApiKey.DELETE_TOPICS, 5, {"topic_names": [name], "timeout": 30_000}) for name in ("q-new", "q-old")]
        clear(side)
        return found

    kafka, ours = pair.both(script)
    assert (
        [code for code, _ in ours]
        == [code for code, _ in kafka]
        == [
            *("NONE", "THROTTLING_QUOTA_EXCEEDED", "NONE", "NONE", "THROTTLING_QUOTA_EXCEEDED"),
        ]
    )
    for told in ([ms for _, ms in kafka], [ms for _, ms in ours]):
        assert max(told[1:3]) <= 9_000, "18 partitions too many, less what came while the first were made"
        assert told[4] == pytest.approx(389_000, abs=10_000), told
    assert [ms > 0 for _, ms in ours] == [ms > 0 for _, ms in kafka] == [False, True, True, False, True]
