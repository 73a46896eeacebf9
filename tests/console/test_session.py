"""Signing in and out, first set-up, roles, headers."""

from __future__ import annotations

import re
import stat
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command
from django.test import Client

from console import env
from console.models import ApiToken, Cluster
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


def test_a_name_that_was_typed_stays(bootstrapped: str) -> None:
    answer = Client().post("/login", {"username": "adm<in", "password": "wrong"})
    assert 'value="adm&lt;in"' in answer.content.decode()


def test_a_strange_host_is_refused(db: None) -> None:
    assert Client().get("/login", headers={"host": "evil.example"}).status_code == 400


def test_the_secret_key_is_made_once_and_private(tmp_path: Path) -> None:
    key = env.secret_key({}, tmp_path / "console")
    path = tmp_path / "console" / "secret_key"
    assert env.secret_key({}, tmp_path / "console") == key
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.chmod(0o644)
    with pytest.raises(ImproperlyConfigured, match="can be read by others"):
        env.secret_key({}, tmp_path / "console")


def test_a_given_secret_key_needs_no_file_of_ours(tmp_path: Path) -> None:
    (tmp_path / "given").write_text("k" * 40 + "\n")
    assert env.secret_key({"HIGHWATER_SECRET_KEY_FILE": str(tmp_path / "given")}, tmp_path / "console") == "k" * 40
    assert not (tmp_path / "console").exists()
    with pytest.raises(ImproperlyConfigured, match="too short"):
        env.secret_key({"HIGHWATER_SECRET_KEY": "k" * 39}, tmp_path / "console")


def test_a_secret_is_in_the_variable_or_in_the_file_that_another_names(tmp_path: Path) -> None:
    (tmp_path / "url").write_text("redis://:p@redis:6379/0\n")
    named = {"HIGHWATER_REDIS_URL_FILE": str(tmp_path / "url")}
    assert env.redis_url(named, tmp_path) == env.redis_url({"HIGHWATER_REDIS_URL": "redis://:p@redis:6379/0"}, tmp_path)
    assert env.secret({}, "X", "else") == "else"
    (tmp_path / "empty").write_text("\n")
    for wrong in (
        {**named, "HIGHWATER_REDIS_URL": "redis://x"},
        *({"HIGHWATER_REDIS_URL_FILE": str(tmp_path / n)} for n in ("empty", "no")),
    ):
        with pytest.raises(ImproperlyConfigured, match="HIGHWATER_REDIS_URL_FILE"):
            env.redis_url(wrong, tmp_path)


def test_a_wrong_secret_is_not_shown() -> None:
    with pytest.raises(ImproperlyConfigured) as told:
        env.redis_url({"HIGHWATER_REDIS_URL": "http://user:hidden@x"}, Path("/nowhere"))
    assert "hidden" not in str(told.value)


def test_origins_are_what_browsers_send() -> None:
    found = env.origins({"O": "https://Kafka.example.org/, http://127.0.0.1:8000,http://[::1]:8000"}, "O")
    assert found == ["https://kafka.example.org", "http://127.0.0.1:8000", "http://[::1]:8000"]
    assert env.hosts(found) == ["kafka.example.org", "127.0.0.1", "[::1]"]
    for wrong in ("kafka.example.org", "https://", "ftp://x", "https://x/path", "https://user@x", "*"):
        with pytest.raises(ImproperlyConfigured, match="HIGHWATER_ORIGINS"):
            env.origins({"HIGHWATER_ORIGINS": wrong}, "HIGHWATER_ORIGINS")


@pytest.mark.parametrize(
    ("name", "value", "read"),
    [
        ("HIGHWATER_REDIS_PORT", "x", lambda e: env.redis_url(e, Path("/nowhere"))),
        ("HIGHWATER_REDIS_URL", "http://x", lambda e: env.redis_url(e, Path("/nowhere"))),
        ("HIGHWATER_BROKER_PORT", "99999", env.bootstrap_servers),
        ("HIGHWATER_BOOTSTRAP_SERVERS", "nohost", env.bootstrap_servers),
        ("HIGHWATER_ANALYTICS_MINUTES", "-1", lambda e: env.minutes(e, "HIGHWATER_ANALYTICS_MINUTES", 15)),
        ("HIGHWATER_ANALYTICS_MINUTES", "1e3", lambda e: env.minutes(e, "HIGHWATER_ANALYTICS_MINUTES", 15)),
        ("HIGHWATER_REPORT_HOUR", "24", lambda e: env.hour(e, "HIGHWATER_REPORT_HOUR", 6)),
        ("HIGHWATER_REPORT_HOUR", "6:00", lambda e: env.hour(e, "HIGHWATER_REPORT_HOUR", 6)),
        ("HIGHWATER_ASK_SECONDS", "0", lambda e: env.seconds(e, "HIGHWATER_ASK_SECONDS", 5)),
        ("HIGHWATER_ASK_SECONDS", "1.5", lambda e: env.seconds(e, "HIGHWATER_ASK_SECONDS", 5)),
        ("HIGHWATER_REPLICAS_WARN", "many", lambda e: env.count(e, "HIGHWATER_REPLICAS_WARN", 4_000)),
        ("HIGHWATER_REPLICAS_WARN", "-1", lambda e: env.count(e, "HIGHWATER_REPLICAS_WARN", 4_000)),
        ("HIGHWATER_TRUSTED_PROXIES", "10.0.0.1/8", lambda e: env.networks(e, "HIGHWATER_TRUSTED_PROXIES")),
        ("HIGHWATER_METRICS_TOKEN", "short", env.metrics_token),
        ("HIGHWATER_METRICS_TOKEN", "no letters that http has: \u00fc\u00fc\u00fc\u00fc", env.metrics_token),
        ("HIGHWATER_HOSTS", "console:8000", lambda e: env.names(e, "HIGHWATER_HOSTS")),
        ("HIGHWATER_HOSTS", "*", lambda e: env.names(e, "HIGHWATER_HOSTS")),
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
