"""Signing in and out: a turn, the password, the audit."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from django.contrib.auth import authenticate
from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from console.actions.audit import audited
from console.actions.tries import TooManyTries, await_turn, forget_tries, lanes_of
from console.models import AuditEntry, trim
from console.roles import VIEWER, Actor
from console.rules.words import counted

ONE_ROW_FOR = timedelta(minutes=15)
"""Failures that are alike and follow each other so closely are counted in one row: whoever is not signed in cannot fill the audit."""
STRANGER = "a name that nobody has"


def check_password(name: str, password: str, address: str, device: str) -> User | None:
    """The person, or None for a wrong name or password, which are answered and take as long alike; `TooManyTries` in a flood."""
    lanes = lanes_of(name, address, device)
    try:
        await_turn(lanes)
    except TooManyTries:
        _failed(name, address, "not looked at: too many tries")
        raise
    user = authenticate(None, username=name, password=password)
    if user is None:
        _failed(name, address, "wrong password")
        return None
    forget_tries(lanes)
    with audited(Actor(name, VIEWER, "page", address), VIEWER, AuditEntry.SIGN_IN, name, cluster=None):
        return user


def note_sign_out(actor: Actor) -> None:
    with audited(actor, VIEWER, "sign out", actor.name, cluster=None):
        pass


def _failed(name: str, address: str, why: str) -> None:
    """What strangers typed as a name is not kept: it may be a password."""
    known = User.objects.filter(username=name).exists()
    note_failure(Actor(name if known else "", VIEWER, "page", address), AuditEntry.SIGN_IN, name if known else STRANGER, why)


def note_failure(actor: Actor, action: str, target: str, why: str) -> None:
    """A failed row, or one more in the last one of the same actor, action and address."""
    name = actor.name[:150]
    with transaction.atomic():
        alike = AuditEntry.objects.select_for_update().filter(action=action, actor=name, address=actor.address, outcome="failed")
        last = alike.filter(at__gt=timezone.now() - ONE_ROW_FOR, target=target[:400]).order_by("-id").first()
        row = last or AuditEntry(actor=name, via=actor.via, address=actor.address, action=action, target=target[:400], outcome="failed")
        tries = (row.after or {}).get("tries", 0) + 1
        row.after = {"tries": tries}
        row.error = why if tries == 1 else f"{counted(tries, 'try', 'tries')}; the last at {datetime.now(UTC):%H:%M:%S} UTC: {why}"
        row.save()
    if last is None and row.pk % 50 == 0:
        trim(AuditEntry.objects.filter(outcome="failed", action=action), AuditEntry.KEEP_FAILED_SIGN_INS)
