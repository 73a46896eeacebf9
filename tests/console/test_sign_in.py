"""Wrong passwords: they slow what follows, lock nobody out, and stand in the audit with where they came from."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.http import HttpResponse
from django.test import Client

from console.actions import tries
from console.actions.sign_in import note_failure
from console.address import neighbourhood, source
from console.env import networks
from console.models import AuditEntry, SignInLane
from console.roles import VIEWER, Actor

PASSWORD = "the right one, surely"
PROXIES = networks({"P": "10.0.0.0/8, ::1"}, "P")


@pytest.fixture
def time(db: None, settings: Any, monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A clock that sleeping moves; `slept` has each wait. Passwords are hashed so that many tries take no time."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    User.objects.create_user("admin", password=PASSWORD)
    clock = SimpleNamespace(now=1_000.0, slept=[])

    def sleep(seconds: float) -> None:
        clock.now += seconds
        clock.slept.append(seconds)

    monkeypatch.setattr(tries, "time", lambda: clock.now)
    monkeypatch.setattr(tries, "sleep", sleep)
    return clock


def try_in(name: str = "admin", password: str = "wrong", address: str = "192.0.2.1", browser: Client | None = None) -> HttpResponse:
    return (browser or Client()).post("/login", {"username": name, "password": password}, REMOTE_ADDR=address)


def rows() -> list[tuple[str, str, str, str]]:
    return list(AuditEntry.objects.order_by("id").values_list("actor", "address", "outcome", "error"))


def test_eight_wrong_passwords_do_not_lock_the_right_one_out(time: SimpleNamespace) -> None:
    assert [try_in().status_code for _ in range(8)] == [401] * 8
    assert try_in(password=PASSWORD).status_code == 302
    assert time.slept == [1, 2, 4, 4]
    assert try_in(password=PASSWORD).status_code == 302
    assert len(time.slept) == 4, "the right password opens its lane again"


def test_another_address_is_not_slowed(time: SimpleNamespace) -> None:
    for _ in range(8):
        try_in()
    time.slept.clear()
    assert try_in(password=PASSWORD, address="192.0.2.2").status_code == 302
    assert try_in("somebody else").status_code == 401
    assert time.slept == []


def test_tries_at_once_take_turns_and_a_flood_is_told_when_to_come_back(time: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those who wait do not move the clock here: they all come at the same moment."""
    monkeypatch.setattr(tries, "sleep", time.slept.append)
    answers = [try_in() for _ in range(20)]
    assert [a.status_code for a in answers] == [401] * 8 + [429] * 12
    assert time.slept == [1, 3, 7]
    assert {a.headers["Retry-After"] for a in answers[8:]} == {"11"}
    assert "Try again in 11\u202fs, at 00:16:51 UTC." in answers[-1].content.decode()
    time.now += 11
    assert try_in(password=PASSWORD).status_code == 302


def test_no_more_than_so_many_wait_in_a_process(time: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each waiting try keeps a thread; one that would not wait goes on."""
    waiting = threading.BoundedSemaphore(1)
    monkeypatch.setattr(tries, "_held", waiting)
    with waiting:
        assert [try_in().status_code for _ in range(6)] == [401] * 5 + [429]
        assert try_in("other").status_code == 401
    assert time.slept == []
    assert try_in(password=PASSWORD).status_code == 302


def test_a_browser_that_was_here_before_is_not_slowed_by_a_flood(time: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = Client()
    assert try_in(password=PASSWORD, browser=mine).status_code == 302
    monkeypatch.setattr(tries, "sleep", lambda seconds: None)
    assert [try_in().status_code for _ in range(20)][-1] == 429
    mine.post("/logout")
    assert "highwater_device" in mine.cookies
    assert try_in(password=PASSWORD, browser=mine).status_code == 302
    other = Client()
    other.cookies["highwater_device"] = mine.cookies["highwater_device"].value + "x"
    assert try_in(password=PASSWORD, browser=other).status_code == 429, "a forged cookie is none"


def test_many_addresses_slow_an_account_and_many_names_an_address(time: SimpleNamespace) -> None:
    for n in range(100):
        tries.await_turn(tries.lanes_of("admin", f"192.0.2.{n}", ""))
    assert time.slept == []
    try_in(address="203.0.113.9")
    assert time.slept == [1]
    time.now += 10_000
    time.slept.clear()
    for n in range(101):
        tries.await_turn(tries.lanes_of(f"name {n}", "203.0.113.10", ""))
    assert time.slept == [1]


def test_lanes_are_shared_and_bounded(time: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    """They lie in the database: there is nothing of a process in them."""
    monkeypatch.setattr(SignInLane, "KEEP", 150)
    for n in range(200):
        tries.await_turn(tries.lanes_of(f"name {n}", f"192.0.{n % 100}.1", ""))
    assert SignInLane.objects.count() <= 150 + 100 + 3
    time.now += tries.WINDOW_S + 1
    for n in range(100):
        tries.await_turn(tries.lanes_of(f"later {n}", "192.0.2.1", ""))
    assert SignInLane.objects.filter(until__lt=time.now).count() <= 100


def test_the_audit_has_sign_ins_and_failures_with_their_address(time: SimpleNamespace) -> None:
    browser = Client()
    for _ in range(3):
        try_in()
    try_in(address="192.0.2.7")
    try_in(password=PASSWORD, browser=browser)
    browser.post("/logout", REMOTE_ADDR="192.0.2.1")
    found = rows()
    assert [row[:3] for row in found] == [
        ("admin", "192.0.2.1", "failed"),
        ("admin", "192.0.2.7", "failed"),
        ("admin", "192.0.2.1", "done"),
        ("admin", "192.0.2.1", "done"),
    ]
    assert found[0][3].startswith("3 tries; the last at ") and found[0][3].endswith(": wrong password")
    assert list(AuditEntry.objects.order_by("id").values_list("action", flat=True))[2:] == ["sign in", "sign out"]


def test_strangers_cannot_fill_the_audit_nor_write_a_name_into_it(time: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was typed as a name may be a password; and failures have a share of their own."""
    for n in range(30):
        try_in(name=f"my secret {n}")
    assert [row[:3] for row in rows()] == [("", "192.0.2.1", "failed")]
    assert not AuditEntry.objects.filter(target__contains="secret").exists()
    AuditEntry.objects.create(actor="admin", via="page", action="delete topic", target="t", outcome="done")
    monkeypatch.setattr(AuditEntry, "KEEP_FAILED_SIGN_INS", 20)
    for n in range(200):
        note_failure(Actor("admin", VIEWER, "page", f"10.9.{n}.1"), "sign in", "admin", "wrong password")
    assert AuditEntry.objects.filter(action="sign in").count() <= 20 + 50
    assert AuditEntry.objects.filter(action="delete topic").exists()


def test_a_flood_is_in_the_audit_too(time: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tries, "sleep", lambda seconds: None)
    for _ in range(20):
        try_in()
    assert [(r[0], r[3].split(";")[0], r[3].rpartition(": ")[2]) for r in rows()] == [("admin", "20 tries", "too many tries")]


@pytest.mark.parametrize(
    ("peer", "forwarded", "found"),
    [
        ("192.0.2.1", "", "192.0.2.1"),
        ("192.0.2.1", "203.0.113.9", "192.0.2.1"),
        ("127.0.0.1", "203.0.113.9", "127.0.0.1"),
        ("10.0.0.1", "203.0.113.9", "203.0.113.9"),
        ("10.0.0.1", "1.2.3.4, 203.0.113.9", "203.0.113.9"),
        ("10.0.0.1", "1.2.3.4, 203.0.113.9, 10.0.0.2", "203.0.113.9"),
        ("10.0.0.1", "1.2.3.4, nonsense", "10.0.0.1"),
        ("10.0.0.1", "", "10.0.0.1"),
        ("::ffff:10.0.0.1", "2001:db8::1", "2001:db8::1"),
        ("::1", "10.1.1.1,10.1.1.2", "10.1.1.1"),
        ("", "203.0.113.9", ""),
        ("10.0.0.1", "9" * 5_000 + ", 203.0.113.9", "203.0.113.9"),
    ],
)
def test_the_source_is_the_sockets_peer_unless_that_is_a_trusted_proxy(peer: str, forwarded: str, found: str) -> None:
    assert source(peer, forwarded, PROXIES) == found


def test_a_household_has_one_lane() -> None:
    assert neighbourhood("2001:db8:1:2:3::4") == neighbourhood("2001:db8:1:2:ffff::") != neighbourhood("2001:db8:1:3::")
    assert neighbourhood("192.0.2.1") == "192.0.2.1"


def test_changes_tell_their_address_and_believe_no_header(people: dict[str, Client]) -> None:
    people["viewer"].post("/settings/tokens/new", {"name": "ci", "role": "viewer"}, headers={"X-Forwarded-For": "1.2.3.4"})
    assert AuditEntry.objects.latest("id").address == "127.0.0.1"
