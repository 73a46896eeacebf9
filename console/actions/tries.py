"""Tries to sign in: wrong passwords slow those that follow, and lock nobody out.

They are counted in lanes, rows of the database, so that all processes count together and a restart forgets nothing: one of the
account from this address, one of the account from everywhere, one of the address with all accounts. The first wrong ones of a lane
are free; then its tries are looked at one after the other, with a growing pause between. Whoever comes waits for his turn, and the
right password opens then; only where the turn is further off than `HOLD_S` (a flood) he is told when to come back. A browser that
has signed in to the account before has a lane of its own (a signed cookie: OWASP's device cookies), which no stranger can fill.
"""

from __future__ import annotations

import hashlib
import math
import threading
from collections.abc import Sequence
from datetime import UTC, datetime
from time import sleep, time
from typing import NamedTuple

from django.db import transaction

from console.address import neighbourhood
from console.models import SignInLane, trim
from console.rules.words import duration

WINDOW_S = 900.0
"""A lane is forgotten so long after its last try."""
HOLD_S = 8.0
HELD_LIMIT = 16
"""Tries that wait in this process; each keeps a thread."""
_held = threading.BoundedSemaphore(HELD_LIMIT)


class Lane(NamedTuple):
    """`free` wrong passwords without a pause, then pauses of these lengths, the last one again and again."""

    key: str
    free: int
    pauses_s: tuple[float, ...]

    def pause_s(self, wrong: int) -> float:
        return 0.0 if wrong < self.free else self.pauses_s[min(wrong - self.free, len(self.pauses_s) - 1)]


class TooManyTries(Exception):
    """No turn within `HOLD_S`; the next is in `wait_s` seconds, at least 1. The message says when."""

    def __init__(self, wait_s: float, now_s: float) -> None:
        self.wait_s = max(math.ceil(wait_s), 1)
        until = datetime.fromtimestamp(now_s + self.wait_s, UTC)
        super().__init__(f"Too many wrong passwords lately. Try again in {duration(self.wait_s, 1)}, at {until:%H:%M:%S} UTC.")


def lanes_of(name: str, address: str, device: str) -> list[Lane]:
    """The lanes of a try, its own first; `device` is what the browser's cookie proves for this account, or empty."""
    if device:
        return [_lane(5, (1.0, 2.0, 4.0), "device", device, name)]
    place = neighbourhood(address)
    return [
        _lane(5, (1.0, 2.0, 4.0), "both", place, name),
        _lane(100, (1.0,), "account", name),
        _lane(100, (1.0,), "address", place),
    ]


def _lane(free: int, pauses_s: tuple[float, ...], *words: str) -> Lane:
    return Lane(hashlib.sha256("\0".join(words).encode()).hexdigest(), free, pauses_s)


def await_turn(lanes: Sequence[Lane]) -> None:
    """Counts the try, before its password is looked at, and waits for its turn; `TooManyTries` where that is too far off."""
    wait_s = _take_turn(lanes)
    if wait_s <= 0:
        return
    if not _held.acquire(blocking=False):
        raise TooManyTries(wait_s, time())
    try:
        sleep(wait_s)
    finally:
        _held.release()


def _take_turn(lanes: Sequence[Lane]) -> float:
    """Seconds until the turn; refused tries take none."""
    now = time()
    with transaction.atomic():
        rows = _rows(lanes, now)
        at = max([now, *(row.next_at for row in rows.values())])
        if at - now > HOLD_S:
            raise TooManyTries(at - now, now)
        for lane in lanes:
            row = rows[lane.key]
            row.wrong += 1
            row.next_at = max(row.next_at, now) + lane.pause_s(row.wrong)
            row.until = at + WINDOW_S
            row.save()
    return at - now


def _rows(lanes: Sequence[Lane], now: float) -> dict[str, SignInLane]:
    """Made where there are none; a forgotten one begins anew."""
    keys = sorted(lane.key for lane in lanes)
    there = set(SignInLane.objects.filter(key__in=keys).values_list("key", flat=True))
    missing = [SignInLane(key=key, until=now) for key in keys if key not in there]
    SignInLane.objects.bulk_create(missing, ignore_conflicts=True)
    rows = {row.key: row for row in SignInLane.objects.select_for_update().filter(key__in=keys).order_by("key")}
    for row in rows.values():
        if row.until < now:
            row.wrong, row.next_at = 0, 0.0
    if missing and max(row.pk for row in rows.values()) % 100 < len(missing):
        SignInLane.objects.filter(until__lt=now).exclude(key__in=keys).delete()
        trim(SignInLane.objects.exclude(key__in=keys), SignInLane.KEEP)
    return rows


def forget_tries(lanes: Sequence[Lane]) -> None:
    """The right password was given: its own lane is open again, and the others do not count this try."""
    SignInLane.objects.filter(key=lanes[0].key).delete()
    with transaction.atomic():
        for row in SignInLane.objects.select_for_update().filter(key__in=[lane.key for lane in lanes[1:]], wrong__gt=0).order_by("key"):
            row.wrong -= 1
            row.save(update_fields=["wrong"])
