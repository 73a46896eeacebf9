"""Signing in and out, first set-up, roles, headers."""

from __future__ import annotations

import re
import stat
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command
from django.http import HttpResponse
from django.test import Client

from console import env
from console.actions import tries
from console.models import ApiToken, AuditEntry, Cluster
from console.roles import role_of


@pytest.fixture
def bootstrapped(db: None, settings: Any) -> str:
    """With passwords hashed so that many tries take no time."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    out = StringIO()
    call_command("bootstrap", stdout=out)
    return out.getvalue()


def test_the_first_password_is_printed_once(bootstrapped: str) -> None:
    password = re.search(r"admin password: (\S{12,})", bootstrapped)
    assert password
    assert role_of(User.objects.get(username="admin")) == "admin"
    assert User.objects.get(username="admin").check_password(password[1])
    again = StringIO()
    call_command("bootstrap", stdout=again)
    assert again.getvalue().strip() == "admin exists"
    assert Cluster.objects.get().pk == "local"


def test_signing_in_and_out(bootstrapped: str, redis: Any) -> None:
    browser = Client(enforce_csrf_checks=True)
    browser.get("/login")
    form = {"username": "admin", "password": bootstrapped.rsplit(maxsplit=1)[-1], "next": "/brokers"}
    assert browser.post("/login", form).status_code == 403
    form["csrfmiddlewaretoken"] = browser.cookies["csrftoken"].value
    assert browser.post("/login", form).headers["Location"] == "/brokers"
    assert browser.get("/events").status_code == 200
    out = browser.post("/logout", {"csrfmiddlewaretoken": browser.cookies["csrftoken"].value})
    assert out.headers["Location"] == "/login"
    assert browser.get("/events").status_code == 302


@pytest.mark.parametrize("target", ["https://evil.example/", "//evil.example/", "javascript:alert(1)"])
def test_signing_in_never_leads_elsewhere(bootstrapped: str, redis: Any, target: str) -> None:
    answer = Client().post("/login", {"username": "admin", "password": bootstrapped.rsplit(maxsplit=1)[-1], "next": target})
    assert answer.headers["Location"] == "/"


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[float]]:
    """The time by which tries are counted."""
    cache.clear()
    now = [1_000.0]
    monkeypatch.setattr(tries, "time", lambda: now[0])
    yield now
    cache.clear()


def try_in(name: str, password: str = "wrong") -> HttpResponse:
    return Client().post("/login", {"username": name, "password": password})


def test_after_too_many_wrong_passwords_a_name_waits_and_is_told_how_long(bootstrapped: str, redis: Any, clock: list[float]) -> None:
    """Then even the right one; names are not told apart, and one does not close another."""
    password = bootstrapped.rsplit(maxsplit=1)[-1]
    for name in ("admin", "nobody"):
        assert [try_in(name).status_code for _ in range(tries.TRIES)] == [401] * tries.TRIES
        clock[0] += 0.5
        closed = try_in(name, password)
        assert (closed.status_code, closed.headers["Retry-After"]) == (429, "60")
        assert "Try again in 60\u202fs, at 00:17:40 UTC." in closed.content.decode()
        clock[0] -= 0.5
    clock[0] += 59
    assert try_in("admin", password).headers["Retry-After"] == "1"
    clock[0] += 1
    assert try_in("admin", password).status_code == 302


def test_the_right_password_forgets_the_wrong_ones(bootstrapped: str, redis: Any, clock: list[float]) -> None:
    password = bootstrapped.rsplit(maxsplit=1)[-1]
    for _ in range(3):
        assert [try_in("admin").status_code for _ in range(tries.TRIES - 1)] == [401] * (tries.TRIES - 1)
        assert try_in("admin", password).status_code == 302


def test_tries_at_once_are_counted_too(bootstrapped: str, clock: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is counted before its password is looked at, which takes long; one that is looked at as the minute ends is no error."""
    looked_at = []

    def slow(_request: object, **_said: str) -> None:
        looked_at.append(1)
        if len(looked_at) < 20:
            try_in("admin")
        clock[0] += 60

    monkeypatch.setattr("console.views.session.authenticate", slow)
    assert try_in("admin").status_code == 401
    assert len(looked_at) == tries.TRIES


def test_the_audit_keeps_who_was_closed_once_and_only_people_we_know(bootstrapped: str, redis: Any, clock: list[float]) -> None:
    """Whoever is not signed in cannot fill it with names."""
    for name in ("admin", "nobody"):
        for _ in range(tries.TRIES + 3):
            try_in(name)
    entry = AuditEntry.objects.get()
    assert (entry.actor, entry.via, entry.action, entry.outcome) == ("admin", "page", "sign in", "failed")
    assert entry.error.startswith("Too many wrong passwords for this name")
    browser = Client()
    browser.force_login(User.objects.get(username="admin"))
    assert entry.error in browser.get("/audit").content.decode()


def test_tries_take_a_bounded_room(clock: list[float]) -> None:
    for n in range(12_000):
        tries.count_try(f"name {n}")
    assert len(cache._cache) <= 10_000


def test_a_name_that_was_typed_stays(bootstrapped: str, clock: list[float]) -> None:
    assert 'value="adm&lt;in"' in try_in("adm<in").content.decode()


def test_a_strange_host_is_refused(db: None) -> None:
    assert Client().get("/login", headers={"host": "evil.example"}).status_code == 400


def test_the_secret_key_is_made_once_and_private(tmp_path: Path) -> None:
    key = env.secret_key(tmp_path / "console")
    path = tmp_path / "console" / "secret_key"
    assert env.secret_key(tmp_path / "console") == key
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.chmod(0o644)
    with pytest.raises(ImproperlyConfigured, match="can be read by others"):
        env.secret_key(tmp_path / "console")


@pytest.mark.parametrize(
    ("name", "value", "read"),
    [
        ("HIGHWATER_REDIS_PORT", "x", lambda e: env.redis_url(e, Path("/nowhere"))),
        ("HIGHWATER_REDIS_URL", "http://x", lambda e: env.redis_url(e, Path("/nowhere"))),
        ("HIGHWATER_BROKER_PORT", "99999", env.bootstrap_servers),
        ("HIGHWATER_BOOTSTRAP_SERVERS", "nohost", env.bootstrap_servers),
        ("HIGHWATER_ANALYTICS_MINUTES", "-1", lambda e: env.minutes(e, "HIGHWATER_ANALYTICS_MINUTES", 15)),
        ("HIGHWATER_ANALYTICS_MINUTES", "1e3", lambda e: env.minutes(e, "HIGHWATER_ANALYTICS_MINUTES", 15)),
        ("HIGHWATER_DEBUG", "maybe", lambda e: env.flag(e, "HIGHWATER_DEBUG")),
    ],
)
def test_a_wrong_setting_is_named(name: str, value: str, read: Any) -> None:
    with pytest.raises(ImproperlyConfigured, match=name):
        read({name: value})


def test_tokens_from_the_shell(bootstrapped: str) -> None:
    out = StringIO()
    call_command("token_create", "ci", "--role", "operator", stdout=out)
    token = out.getvalue().splitlines()[-1]
    row = ApiToken.find(token)
    assert row is not None
    assert (row.name, row.role) == ("ci", "operator")
    assert token not in str(vars(row))
