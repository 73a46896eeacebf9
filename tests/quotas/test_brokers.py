"""Whole brokers in virtual time: quotas set through one are in ZooKeeper where Kafka has them, and hold clients of all."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator
from typing import Any, cast

import pytest

from broker_core.client.request import BrokerChannel
from broker_core.coordination import layout
from broker_core.coordination.znode_data import decode_config, decode_config_change, encode_config, encode_config_change
from broker_core.errors import ErrorCode
from broker_core.protocol.api import ApiKey
from broker_core.records.batch import Record, build_batch
from broker_core.seams import Node
from tests.support.broker_cluster import PORT, BrokerCluster

pytestmark = pytest.mark.spec("N4")

TOPIC = "t"
KB = 1000
Limits = dict[str, float]
Entity = dict[str, str | None]


@pytest.fixture(scope="module")
def shared() -> Iterator[BrokerCluster]:
    with BrokerCluster(brokers=2) as cluster:
        cluster.start_all()
        cluster.create(TOPIC, factor=1)
        cluster.world.run("client", lambda node: node.store.connect(5_000))
        yield cluster


@pytest.fixture
def cluster(shared: BrokerCluster) -> Iterator[BrokerCluster]:
    yield shared
    for entity, limits in described(shared):
        assert altered(shared, entity, dict.fromkeys(limits)) == (ErrorCode.NONE, None)
    applied(shared)
    assert leaves(shared) == []


def altered(
    cluster: BrokerCluster,
    entity: Entity,
    limits: dict[str, float | None],
    *,
    validate_only: bool = False,
    version: int = 1,
    broker: int = 1,
) -> tuple[int, str | None]:
    """The code and message."""
    ops = [{"key": key, "value": value or 0.0, "remove": value is None} for key, value in limits.items()]
    entry = {"entity": [{"entity_type": kind, "entity_name": name} for kind, name in entity.items()], "ops": ops}
    answer = cluster.ask(broker, ApiKey.ALTER_CLIENT_QUOTAS, version, {"entries": [entry], "validate_only": validate_only})
    (row,) = answer.entries
    assert {part.entity_type: part.entity_name for part in row.entity} == entity
    return ErrorCode(row.error_code), row.error_message


def applied(cluster: BrokerCluster) -> None:
    """Until every broker has been told of every change."""
    cluster.world.run_for(2_000)


def limit(cluster: BrokerCluster, entity: Entity, limits: dict[str, float | None]) -> None:
    assert altered(cluster, entity, limits) == (ErrorCode.NONE, None)
    applied(cluster)


def described(
    cluster: BrokerCluster, *components: tuple[str, int, str | None], strict: bool = False, version: int = 1, broker: int = 1
) -> list[tuple[Entity, Limits]]:
    rows = [{"entity_type": kind, "match_type": how, "match": name} for kind, how, name in components]
    answer = cluster.ask(broker, ApiKey.DESCRIBE_CLIENT_QUOTAS, version, {"components": rows, "strict": strict})
    assert answer.error_code == ErrorCode.NONE, answer
    return [
        ({part.entity_type: part.entity_name for part in entry.entity}, {value.key: value.value for value in entry.values})
        for entry in answer.entries
    ]


def in_store(cluster: BrokerCluster, work: Callable[[Node], Coroutine[Any, Any, Any]]) -> Any:
    return cluster.world.run("client", work)


def leaves(cluster: BrokerCluster) -> list[str]:
    """All znodes below the folders of quotas."""

    async def found(node: Node) -> list[str]:
        paths, left = [], [f"{layout.CONFIGS}/{kind}" for kind in ("users", "clients", "ips")]
        while left:
            path = left.pop()
            below = [f"{path}/{name}" for name in await node.store.children(path)]
            left += below
            paths += below
        return sorted(path.removeprefix(f"{layout.CONFIGS}/") for path in paths)

    return cast(list[str], in_store(cluster, found))


def stored(cluster: BrokerCluster, path: str) -> dict[str, str]:
    async def read(node: Node) -> dict[str, str]:
        return decode_config((await node.store.get(f"{layout.CONFIGS}/{path}"))[0])

    return cast(dict[str, str], in_store(cluster, read))


def notified(cluster: BrokerCluster) -> list[str]:
    async def read(node: Node) -> list[str]:
        names = await node.store.children(layout.CONFIG_CHANGES)
        return [decode_config_change((await node.store.get(f"{layout.CONFIG_CHANGES}/{name}"))[0]) for name in names]

    return cast(list[str], in_store(cluster, read))


# Keys 48 and 49.


@pytest.mark.parametrize(
    ("entity", "path"),
    [
        ({"user": "alice"}, "users/alice"),
        ({"user": None}, "users/<default>"),
        ({"client-id": "app"}, "clients/app"),
        ({"client-id": None}, "clients/<default>"),
        ({"user": "alice", "client-id": "a/b"}, "users/alice/clients/a%2Fb"),
        ({"user": None, "client-id": None}, "users/<default>/clients/<default>"),
    ],
    ids=str,
)
@pytest.mark.parametrize("version", [0, 1])
def test_a_limit_is_stored_where_kafka_has_it(cluster: BrokerCluster, entity: Entity, path: str, version: int) -> None:
    limits: Limits = {"producer_byte_rate": 1e7, "request_percentage": 12.5, "controller_mutation_rate": 1e7}
    assert altered(cluster, entity, dict(limits), version=version) == (ErrorCode.NONE, None)
    assert stored(cluster, path) == {"producer_byte_rate": "10000000", "request_percentage": "12.5", "controller_mutation_rate": "1.0E7"}
    assert notified(cluster)[-1] == path
    assert described(cluster, broker=2, version=version) == [(entity, limits)]
    assert altered(cluster, entity, {"producer_byte_rate": None}, broker=2) == (ErrorCode.NONE, None)
    assert described(cluster) == [(entity, {key: limits[key] for key in ("request_percentage", "controller_mutation_rate")})]


def test_what_has_no_limit_any_more_leaves_nothing_behind(cluster: BrokerCluster) -> None:
    both: Entity = {"user": "alice", "client-id": "app"}
    entities: list[Entity] = [{"user": "alice"}, both, {"user": "alice", "client-id": "other"}, {"user": "bob", "client-id": "app"}]
    for entity in entities:
        altered(cluster, entity, {"producer_byte_rate": 1.0})
    altered(cluster, both, {"producer_byte_rate": None})
    altered(cluster, {"user": "alice"}, {"producer_byte_rate": None})
    altered(cluster, {"user": "bob", "client-id": "app"}, {"producer_byte_rate": None})
    assert leaves(cluster) == ["users/alice", "users/alice/clients", "users/alice/clients/other"]
    altered(cluster, {"user": "nobody"}, {"producer_byte_rate": None})
    assert notified(cluster)[-1] == "users/nobody", "as in Kafka"


def test_credentials_beside_a_quota_stay(cluster: BrokerCluster) -> None:
    data = encode_config({"SCRAM-SHA-256": "salt=abc"})
    in_store(cluster, lambda node: node.store.create(f"{layout.CONFIGS}/users/alice", data))
    assert described(cluster) == []
    limit(cluster, {"user": "alice"}, {"producer_byte_rate": 5.0})
    assert described(cluster) == [({"user": "alice"}, {"producer_byte_rate": 5.0})]
    limit(cluster, {"user": "alice"}, {"producer_byte_rate": None})
    assert stored(cluster, "users/alice") == {"SCRAM-SHA-256": "salt=abc"}
    in_store(cluster, lambda node: node.store.delete(f"{layout.CONFIGS}/users/alice"))


def test_nothing_is_changed_by_a_question(cluster: BrokerCluster) -> None:
    before = notified(cluster)
    assert altered(cluster, {"user": "alice"}, {"producer_byte_rate": 1.0}, validate_only=True) == (ErrorCode.NONE, None)
    assert altered(cluster, {"user": "alice"}, {"nonsense": 1.0}, validate_only=True)[0] == ErrorCode.INVALID_REQUEST
    assert leaves(cluster) == [] and notified(cluster) == before


@pytest.mark.parametrize(
    ("entity", "limits", "code", "words"),
    [
        ({}, {}, ErrorCode.INVALID_REQUEST, "Invalid empty client quota entity"),
        ({"team": "a"}, {}, ErrorCode.INVALID_REQUEST, "Unhandled client quota entity type: team"),
        ({"user": ""}, {}, ErrorCode.INVALID_REQUEST, "Empty user not supported"),
        ({"ip": "10.0.0.1", "user": "a"}, {}, ErrorCode.INVALID_REQUEST, "Invalid quota entity combination"),
        ({"ip": "1.2.3"}, {"connection_creation_rate": 1.0}, ErrorCode.INVALID_REQUEST, "not a valid IP or resolvable host"),
        ({"ip": "10.0.0.1"}, {"producer_byte_rate": 1.0}, ErrorCode.INVALID_REQUEST, "Invalid configuration key producer_byte_rate"),
        ({"user": "a"}, {"connection_creation_rate": 1.0}, ErrorCode.INVALID_REQUEST, "Invalid configuration key"),
        ({"user": "a"}, {"producer_byte_rate": 1.5}, ErrorCode.INVALID_REQUEST, "must be a LONG value"),
        ({"user": "a"}, {"producer_byte_rate": float("inf")}, ErrorCode.INVALID_REQUEST, "must be a LONG value"),
        ({"ip": "10.0.0.1"}, {"connection_creation_rate": 1.5}, ErrorCode.INVALID_REQUEST, "must be a INT value"),
        ({"ip": "10.0.0.1"}, {"connection_creation_rate": -1.0}, ErrorCode.INVALID_REQUEST, "must be a INT value"),
        ({"user": "a"}, {"SCRAM-SHA-256": 1.0}, ErrorCode.UNKNOWN_SERVER_ERROR, ""),
    ],
    ids=str,
)
def test_what_cannot_be_a_quota(cluster: BrokerCluster, entity: Entity, limits: dict[str, float | None], code: int, words: str) -> None:
    told = altered(cluster, entity, limits)
    assert told[0] == code and words in (told[1] or ""), told


ALL: list[Entity] = [
    {"user": "alice"}, {"user": "bob"}, {"user": None}, {"client-id": "app"}, {"client-id": None},
    {"user": "alice", "client-id": "app"}, {"user": "alice", "client-id": None}, {"user": None, "client-id": "app"},
    {"user": None, "client-id": None}, {"ip": "10.0.0.1"}, {"ip": None},
]  # fmt: skip
EXACT, DEFAULT, ANY = 0, 1, 2


@pytest.fixture(scope="module")
def filled() -> Iterator[BrokerCluster]:
    with BrokerCluster(brokers=1) as cluster:
        cluster.start_all()
        for entity in ALL:
            limit(cluster, entity, {"connection_creation_rate" if "ip" in entity else "consumer_byte_rate": 3000.0})
        yield cluster


FILTERS: dict[tuple[tuple[str, int, str | None], ...], tuple[str, str]] = {
    (): ("0123456789a", ""),
    (("user", EXACT, "alice"),): ("056", "0"),
    (("user", DEFAULT, None),): ("278", "2"),
    (("user", ANY, None),): ("0125678", "012"),
    (("client-id", EXACT, "app"),): ("357", "3"),
    (("client-id", DEFAULT, None),): ("468", "4"),
    (("client-id", ANY, None),): ("345678", "34"),
    (("user", EXACT, "alice"), ("client-id", EXACT, "app")): ("5", "5"),
    (("user", EXACT, "alice"), ("client-id", DEFAULT, None)): ("6", "6"),
    (("user", ANY, None), ("client-id", EXACT, "app")): ("57", "57"),
    (("user", ANY, None), ("client-id", ANY, None)): ("5678", "5678"),
    (("user", EXACT, "nobody"),): ("", ""),
    (("ip", EXACT, "10.0.0.1"),): ("9", "9"),
    (("ip", DEFAULT, None),): ("a", "a"),
    (("ip", ANY, None),): ("9a", "9a"),
}
"""Which of `ALL` a filter takes, and which of them a strict one."""


@pytest.mark.parametrize("components", FILTERS, ids=str)
def test_filters(filled: BrokerCluster, components: tuple[tuple[str, int, str | None], ...]) -> None:
    for strict, taken in zip((False, True), FILTERS[components], strict=True):
        found = [ALL.index(entity) for entity, _ in described(filled, *components, strict=strict)]
        assert sorted(found) == [int(index, 16) for index in taken], strict


@pytest.mark.parametrize(
    ("components", "code"),
    [
        ([("user", EXACT, "a"), ("user", ANY, None)], ErrorCode.INVALID_REQUEST),
        ([("ip", ANY, None), ("user", ANY, None)], ErrorCode.INVALID_REQUEST),
        ([("", ANY, None)], ErrorCode.INVALID_REQUEST),
        ([("team", ANY, None)], ErrorCode.UNSUPPORTED_VERSION),
        ([("user", 7, None)], ErrorCode.UNKNOWN_SERVER_ERROR),
        ([("user", EXACT, None)], ErrorCode.UNKNOWN_SERVER_ERROR),
    ],
    ids=str,
)
def test_what_is_no_filter(filled: BrokerCluster, components: list[tuple[str, int, str | None]], code: int) -> None:
    rows = [{"entity_type": kind, "match_type": how, "match": name} for kind, how, name in components]
    for version in (0, 1):
        answer = filled.ask(1, ApiKey.DESCRIBE_CLIENT_QUOTAS, version, {"components": rows, "strict": False})
        assert (answer.error_code, answer.entries) == (code, None)


# Who has to wait.


def session(
    cluster: BrokerCluster, client_id: str, work: Callable[[BrokerChannel, Node], Coroutine[Any, Any, Any]], broker: int = 0
) -> Any:
    """A client of one connection that knows of no quotas: it sends as soon as it has an answer."""
    to = broker or cluster.leader(TOPIC)

    async def one(node: Node) -> Any:
        channel = BrokerChannel(node, f"b{to}", PORT, client_id)
        try:
            return await work(channel, node)
        finally:
            channel.close()

    return cluster.world.run("client", one, 600_000)


def producing(size: int, count: int, acks: int = 1) -> Callable[[BrokerChannel, Node], Coroutine[Any, Any, tuple[list[int], float]]]:
    """Produces `count` times; what each answer told to wait, and the milliseconds that all took."""
    batch = build_batch([Record(0, 1_000, None, b"x" * size, ())])
    rows = [{"name": TOPIC, "partition_data": [{"index": 0, "records": batch}]}]
    payload = {"transactional_id": None, "acks": acks, "timeout": 10_000, "topic_data": rows}

    async def work(channel: BrokerChannel, node: Node) -> tuple[list[int], float]:
        began_ms = node.clock.monotonic_ms()
        answers = [await channel.request(ApiKey.PRODUCE, 9, payload, 300_000) for _ in range(count)]
        assert all(answer.responses[0].partition_responses[0].error_code == 0 for answer in answers)
        return [answer.throttle_time for answer in answers], node.clock.monotonic_ms() - began_ms

    return work


@pytest.mark.parametrize("acks", [1, -1])
def test_a_producer_gets_its_rate_and_no_more(cluster: BrokerCluster, acks: int) -> None:
    """Though it does not heed what it is told: its connection is not heard for that time. Others are not held up."""
    limit(cluster, {"user": None, "client-id": "greedy"}, {"producer_byte_rate": 10.0 * KB})
    told, took_ms = session(cluster, "greedy", producing(10 * KB, 40, acks))
    assert max(told) > 0 and told[:9] == [0] * 9
    assert 400 * KB / took_ms * 1000 < 2 * 10 * KB, "never twice its rate, though it may take ten seconds' worth at first"
    told, took_ms = session(cluster, "modest", producing(10 * KB, 40, acks))
    assert max(told) == 0 and took_ms < 5_000


def test_a_user_shares_its_rate_among_connections(cluster: BrokerCluster) -> None:
    limit(cluster, {"user": "ANONYMOUS"}, {"producer_byte_rate": 10.0 * KB})
    session(cluster, "one", producing(10 * KB, 9))
    told, _ = session(cluster, "two", producing(10 * KB, 3))
    assert told[-1] > 0
    limit(cluster, {"user": "ANONYMOUS", "client-id": "two"}, {"producer_byte_rate": 1000.0 * KB})
    assert session(cluster, "two", producing(10 * KB, 3))[0] == [0, 0, 0], "what is nearer decides, at once"


def test_a_consumer_that_has_to_wait_gets_nothing_and_then_goes_on(cluster: BrokerCluster) -> None:
    cluster.create("read", factor=1)
    to = cluster.leader("read")
    for _ in range(20):
        cluster.produce("read", "x" * (20 * KB), acks=1)
    limit(cluster, {"client-id": None}, {"consumer_byte_rate": 10.0 * KB})

    async def reading(channel: BrokerChannel, node: Node) -> tuple[list[int], float]:
        """Within a session, to the end."""
        offset, told, session_id, epoch = 0, [], 0, 0
        began_ms = node.clock.monotonic_ms()
        while offset < 20:
            row = {"partition": 0, "fetch_offset": offset, "partition_max_bytes": 25 * KB}
            payload = {
                "replica_id": -1,
                "max_wait": 500,
                "min_bytes": 1,
                "max_bytes": 50 * KB,
                "topics": [{"topic": "read", "partitions": [row]}],
            }
            answer = await channel.request(ApiKey.FETCH, 11, payload | {"session_id": session_id, "session_epoch": epoch}, 300_000)
            assert answer.error_code == ErrorCode.NONE
            told.append(answer.throttle_time)
            session_id, epoch = answer.session_id, epoch + 1 if answer.session_id else 0
            assert not (answer.throttle_time and answer.responses)
            offset += sum(len(found.partitions[0].records or b"") // (20 * KB) for found in answer.responses)
        return told, node.clock.monotonic_ms() - began_ms

    told, took_ms = session(cluster, "reader", reading, to)
    assert told[:4] == [0] * 4 and max(told) > 0
    assert 400 * KB / took_ms * 1000 < 2 * 10 * KB


def test_followers_are_exempt(cluster: BrokerCluster) -> None:
    """Replication has quotas of its own."""
    limit(cluster, {"user": None, "client-id": None}, {"consumer_byte_rate": 1.0, "request_percentage": 0.001})
    limit(cluster, {"user": None}, {"consumer_byte_rate": 1.0})
    cluster.create("replicated", factor=2)
    for _ in range(20):
        cluster.produce("replicated", "x" * (10 * KB), acks=1)
    leader = cluster.leader("replicated")
    follower = next(broker for broker in cluster.ids if broker != leader)
    before_ms = cluster.world.scheduler.wall_ms()
    row = cluster.produce("replicated", "last", acks=-1)
    assert row.error_code == ErrorCode.NONE and cluster.world.scheduler.wall_ms() - before_ms < 5_000
    assert follower in cluster.isr(leader, "replicated")


def creating(*names: str, partitions: int = 5, version: int = 7, timeout: int = 30_000) -> tuple[ApiKey, int, dict[str, Any]]:
    rows = [{"name": name, "num_partitions": partitions, "replication_factor": 1, "assignments": [], "configs": []} for name in names]
    return ApiKey.CREATE_TOPICS, version, {"topics": rows, "timeout": timeout, "validate_only": False}


def test_topics_above_the_quota_are_refused_or_waited_for(cluster: BrokerCluster) -> None:
    """By clients that know the error (v6), and by older ones; deletions and new partitions are of one account with them (KIP-599)."""
    limit(cluster, {"user": "ANONYMOUS"}, {"controller_mutation_rate": 1.0})
    controller = cluster.controller()
    asked = cluster.ask(controller, *creating("m1", partitions=11))
    assert (asked.topics[0].error_code, asked.throttle_time) == (ErrorCode.NONE, 0)
    both = cluster.ask(controller, *creating("m2", "m3"))
    assert [row.error_code for row in both.topics] == [ErrorCode.NONE, ErrorCode.THROTTLING_QUOTA_EXCEEDED]
    assert 3_000 < both.throttle_time <= 5_000
    rows = [{"name": "m1", "count": 13, "assignments": None}]
    grown = cluster.ask(controller, ApiKey.CREATE_PARTITIONS, 3, {"topics": rows, "timeout": 30_000, "validate_only": False})
    assert (grown.results[0].error_code, grown.throttle_time > 0) == (ErrorCode.THROTTLING_QUOTA_EXCEEDED, True)
    gone = cluster.ask(controller, ApiKey.DELETE_TOPICS, 5, {"topic_names": ["m2"], "timeout": 30_000})
    assert (gone.responses[0].error_code, gone.throttle_time > 0) == (ErrorCode.THROTTLING_QUOTA_EXCEEDED, True)
    old = cluster.ask(controller, ApiKey.DELETE_TOPICS, 4, {"topic_names": ["m2"], "timeout": 30_000})
    assert old.responses[0].error_code == ErrorCode.NONE and old.throttle_time > 3_000

    async def impatient(channel: BrokerChannel, node: Node) -> tuple[int, float]:
        key, version, payload = creating("m4", partitions=3, version=5)
        answer = await channel.request(key, version, payload, 60_000)
        assert answer.topics[0].error_code == ErrorCode.NONE
        began_ms = node.clock.monotonic_ms()
        await channel.request(ApiKey.METADATA, 9, {"topics": []}, 60_000)
        return answer.throttle_time, node.clock.monotonic_ms() - began_ms

    told, waited = session(cluster, "old", impatient, controller)
    assert told > 3_000 and waited >= told - 1


def test_what_is_only_asked_costs_nothing(cluster: BrokerCluster) -> None:
    limit(cluster, {"user": "ANONYMOUS"}, {"controller_mutation_rate": 1.0})
    key, version, payload = creating("asked", partitions=1000)
    for _ in range(3):
        answer = cluster.ask(cluster.controller(), key, version, payload | {"validate_only": True})
        assert (answer.topics[0].error_code, answer.throttle_time) == (ErrorCode.NONE, 0)
    refused = cluster.ask(cluster.controller(), *creating(TOPIC, partitions=1000))
    assert (refused.topics[0].error_code, refused.throttle_time) == (ErrorCode.TOPIC_ALREADY_EXISTS, 0)


def test_an_address_that_connects_too_often(cluster: BrokerCluster) -> None:
    """In the simulated world an address is a machine's name, so the default's limit is set."""
    limit(cluster, {"ip": None}, {"connection_creation_rate": 1.0})
    refused = 0
    for _ in range(30):
        try:
            cluster.ask(1, ApiKey.API_VERSIONS, 0, {})
        except ConnectionError:
            refused += 1
    assert refused > 0
    cluster.world.run_for(15_000)
    assert cluster.ask(1, ApiKey.API_VERSIONS, 0, {}).error_code == ErrorCode.NONE


def test_quotas_are_there_after_a_start_and_after_a_lost_session(cluster: BrokerCluster) -> None:
    """Those that went meanwhile are gone, too."""
    both: Entity = {"user": "ANONYMOUS", "client-id": "app"}
    limit(cluster, both, {"producer_byte_rate": 7.0})
    limit(cluster, {"client-id": "other"}, {"producer_byte_rate": 7.0})
    cluster.stop(2)
    cluster.start(2)
    limits = cluster.brokers[2].services.quotas.produce.limits
    assert (limits.of("ANONYMOUS", "app")[1], limits.of("bob", "other")[1]) == (7.0, 7.0)
    cluster.world.cut("b2", "store")

    async def past_us(node: Node) -> None:
        """Somebody deletes a quota, and the notification of it as well."""
        await node.store.delete(f"{layout.CONFIGS}/clients/other")
        await node.store.create(f"{layout.CONFIG_CHANGES}/config_change_", encode_config_change("clients/other"), sequence=True)
        for name in await node.store.children(layout.CONFIG_CHANGES):
            await node.store.delete(f"{layout.CONFIG_CHANGES}/{name}")

    in_store(cluster, past_us)
    cluster.world.run_for(3_000)
    assert limits.of("bob", "other")[1] == 7.0
    cluster.world.heal("b2", "store")
    cluster.until(lambda: limits.of("bob", "other")[1] is None)
    assert limits.of("ANONYMOUS", "app")[1] == 7.0
