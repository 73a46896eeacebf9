"""Whose limit holds: Kafka's eight steps, and what is written into ZooKeeper for them."""

from __future__ import annotations

import itertools

import pytest

from broker_core.quotas.entities import desanitized, entity_at, path_of, sanitized
from broker_core.quotas.limits import Limits, Payer

pytestmark = pytest.mark.spec("N4")

STEPS: list[tuple[dict[str, str | None], Payer]] = [
    ({"user": "alice", "client-id": "app"}, Payer("alice", "app")),
    ({"user": "alice", "client-id": None}, Payer("alice", "app")),
    ({"user": "alice"}, Payer("alice", "")),
    ({"user": None, "client-id": "app"}, Payer("alice", "app")),
    ({"user": None, "client-id": None}, Payer("alice", "app")),
    ({"user": None}, Payer("alice", "")),
    ({"client-id": "app"}, Payer("", "app")),
    ({"client-id": None}, Payer("", "app")),
]
"""The first that is set decides for alice's app."""


@pytest.mark.parametrize("count", range(1, 9))
def test_the_first_step_that_is_set_decides(count: int) -> None:
    for chosen in itertools.combinations(range(8), count):
        limits = Limits()
        for step in chosen:
            limits.put(STEPS[step][0], float(step))
        assert limits.of("alice", "app") == (STEPS[chosen[0]][1], float(chosen[0])), chosen
        for step in chosen:
            assert limits
            limits.put(STEPS[step][0], None)
        assert not limits
        assert limits.of("alice", "app")[1] is None


def test_others_are_not_meant() -> None:
    limits = Limits()
    for entity in ({"user": "alice"}, {"client-id": "app"}, {"user": "alice", "client-id": "app"}):
        limits.put(entity, 1.0)
    assert limits.of("bob", "other")[1] is None
    assert limits.of("bob", "app") == (Payer("", "app"), 1.0)
    assert limits.of("alice", "other") == (Payer("alice", ""), 1.0)


def test_who_names_no_client_id_has_the_limit_of_the_user() -> None:
    """Kafka finds that such a client is held by the default of client ids, and then looks for its user's limit."""
    limits = Limits()
    limits.put({"user": None, "client-id": None}, 1.0)
    assert limits.of("alice", "") == (Payer("alice", ""), None)
    limits.put({"user": None}, 2.0)
    assert limits.of("alice", "") == (Payer("alice", ""), 2.0)
    limits.put({"user": None}, None)
    limits.put({"user": None, "client-id": None}, None)
    limits.put({"client-id": None}, 3.0)
    assert limits.of("alice", "") == (Payer("", ""), None)


def test_a_name_like_the_defaults_is_a_name() -> None:
    limits = Limits()
    limits.put({"user": "<default>"}, 1.0)
    assert limits.of("alice", "app")[1] is None
    assert path_of({"user": "<default>"}) == "users/%3Cdefault%3E"


@pytest.mark.parametrize(
    ("entity", "path"),
    [
        ({"user": "alice"}, "users/alice"),
        ({"user": None}, "users/<default>"),
        ({"client-id": "app"}, "clients/app"),
        ({"client-id": None, "user": "CN=a, O=b"}, "users/CN%3Da%2C%20O%3Db/clients/<default>"),
        ({"user": "a/b*c+d~e", "client-id": "ü._-"}, "users/a%2Fb%2Ac%2Bd%7Ee/clients/%C3%BC._-"),
        ({"ip": "192.0.2.1"}, "ips/192.0.2.1"),
        ({"ip": None}, "ips/<default>"),
    ],
)
def test_where_a_quota_lies(entity: dict[str, str | None], path: str) -> None:
    assert path_of(entity) == path
    assert entity_at(path) == entity


@pytest.mark.parametrize("path", ["topics/t", "users", "users/a/b", "users/a/clients", "users/a/clients/b/c", "clients/a/b", ""])
def test_what_is_nobodys(path: str) -> None:
    assert entity_at(path) is None


def test_names_are_read_as_java_reads_them() -> None:
    assert desanitized("a+b%20c") == "a b c"
    assert sanitized("a b") == "a%20b"
