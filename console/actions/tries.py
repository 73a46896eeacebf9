"""Tries to sign in, counted by name in Django's cache, which is bounded. A flood of other names pushes a count out only when it holds
`MAX_ENTRIES` of them, and each costs a password's hash: that takes longer than a count lasts.
"""

from __future__ import annotations

import hashlib
import math
import threading
from datetime import UTC, datetime
from time import time

from django.contrib.auth.models import User
from django.core.cache import cache

from console.actions.audit import audited
from console.roles import VIEWER, Actor
from workers.rules.words import duration

TRIES = 8
WINDOW_S = 60
_counting = threading.Lock()


class TooManyTries(Exception):
    """The name is closed for `wait_s` seconds, at least 1; the message says until when."""

    def __init__(self, wait_s: int, now_s: float) -> None:
        self.wait_s = wait_s
        until = datetime.fromtimestamp(now_s + wait_s, UTC)
        super().__init__(f"Too many wrong passwords for this name. Try again in {duration(wait_s, 1)}, at {until:%H:%M:%S} UTC.")


def count_try(name: str) -> None:
    """Counts a try before its password is looked at, so that many at once are counted too. `TooManyTries` after `TRIES` in `WINDOW_S`;
    the first such one of a person we know is kept in the audit."""
    now = time()
    with _counting:
        count, until = cache.get(_key(name)) or (0, now + WINDOW_S)
        count, until = (0, now + WINDOW_S) if until <= now else (count, until)
        cache.set(_key(name), (count + 1, until), until - now)
    if count < TRIES:
        return
    closed = TooManyTries(math.ceil(until - now), now)
    if count == TRIES and User.objects.filter(username=name).exists():
        with audited(Actor(name, VIEWER, "page"), VIEWER, "sign in", name):
            raise closed
    raise closed


def forget_tries(name: str) -> None:
    """The right password was given."""
    cache.delete(_key(name))


def _key(name: str) -> str:
    return "tries:" + hashlib.sha256(name.encode()).hexdigest()
