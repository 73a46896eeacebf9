"""How often things are said: the first of a burst at once, the rest of it as one sentence that counts them. Pure.

A burst is what is alike: kind, level and cause, and but for leaders the broker. It lasts `HOLD_MS` from what was said first.
A broker that dies, returns or registers anew is said at once and opens the bursts of all that follows from it, so a death reads:
gone; its partitions moved; it left their ISRs. A partition that lost its leader and has another within the burst has moved.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from console.live.events.happened import Happened, moved
from console.rules.partitions import and_list
from console.rules.words import whole

Kind = tuple[Any, ...]
HOLD_MS = 1_500
ONE_BY_ONE = 3
NAMED = 3
OPENERS = ("broker_died", "broker_returned")
VERBS = {"isr_shrink": "left the ISR of", "isr_expand": "is back in the ISR of", "truncation": "cut its log of"}


class Bursts:
    def __init__(self) -> None:
        self._until: dict[Kind, int] = {}
        self._held: dict[Kind, list[Happened]] = defaultdict(list)
        self._opened: dict[int, int] = {}

    def tell(self, events: Sequence[Happened], now_ms: int) -> list[Happened]:
        """What is to be said now, of these events and of those held; call it again within a second."""
        said = [e for e in events if e.partition is None]
        for e in said:
            if e.kind in OPENERS and e.broker_id is not None:
                self._opened[e.broker_id] = now_ms + HOLD_MS
        alike: dict[Kind, list[Happened]] = defaultdict(list)
        for netted in (self._netted(e) for e in events if e.partition is not None):
            alike[_kind(netted)].append(netted)
        for kind, members in alike.items():
            self._take(kind, members, now_ms, said)
        return said + self._over(now_ms)

    def _netted(self, e: Happened) -> Happened:
        """A leader found for a partition whose loss is not said yet: it moved."""
        if e.kind != "leader_moved" or e.old is not None:
            return e
        for kind, members in self._held.items():
            lost = next((m for m in members if kind[1] == "bad" and m.kind == "leader_moved" and _where(m) == _where(e)), None)
            if lost:
                members.remove(lost)
                return moved(replace(e, old=lost.old), f"broker {lost.old} is down")
        return e

    def _take(self, kind: Kind, members: list[Happened], now_ms: int, said: list[Happened]) -> None:
        if self._until.get(kind, 0) > now_ms:
            self._held[kind] += members
            return
        opened = max((self._opened.get(b, 0) for b in (members[0].broker_id, members[0].old) if b is not None), default=0)
        if opened > now_ms:
            self._until[kind] = opened
            self._held[kind] += members
            return
        self._until[kind] = now_ms + HOLD_MS
        said += _condensed(members)

    def _over(self, now_ms: int) -> list[Happened]:
        """Bursts that have ended; what goes on is collected again."""
        said: list[Happened] = []
        for kind in [k for k, until in self._until.items() if until <= now_ms]:
            held = self._held.pop(kind, [])
            if held:
                self._until[kind] = now_ms + HOLD_MS
                said += _condensed(held)
            else:
                del self._until[kind]
        self._opened = {b: until for b, until in self._opened.items() if until > now_ms}
        return said


def _where(e: Happened) -> tuple[str | None, int | None]:
    return e.topic, e.partition


def _kind(e: Happened) -> Kind:
    return (e.kind, e.level, e.cause, None if e.kind == "leader_moved" and e.level != "bad" else e.broker_id)


def _condensed(members: list[Happened]) -> list[Happened]:
    return members if len(members) <= ONE_BY_ONE else [_summed(members)]


def _summed(members: list[Happened]) -> Happened:
    first, count = members[0], len(members)
    names = sorted({f"{m.topic}-{m.partition}" for m in members})
    some = ", ".join(names[:NAMED]) + (", …" if len(names) > NAMED else "")
    cause = f": {first.cause}" if first.cause else ""
    if first.kind == "leader_moved":
        text = _leaders(members, some, cause)
    elif first.kind == "reassignment":
        text = f"{whole(count)} partitions {'are being moved' if first.cause == 'begins' else 'have been moved'} ({some})."
    elif first.kind == "unclean_election":
        text = (
            f"{whole(count)} partitions are led by brokers that were not in sync, elected unclean ({some}): "
            "acknowledged records that those did not have are lost."
        )
    else:
        verb = "joined the ISR of" if first.kind == "isr_expand" and cause else VERBS[first.kind]
        text = f"broker {first.broker_id} {verb} {whole(count)} partitions ({some}){cause}."
    topics = {m.topic for m in members}
    brokers = {m.broker_id for m in members}
    return replace(
        first,
        sentence=text,
        at_ms=max(m.at_ms for m in members),
        topic=topics.pop() if len(topics) == 1 else None,
        partition=None,
        broker_id=brokers.pop() if len(brokers) == 1 else None,
    )


def _leaders(members: list[Happened], some: str, cause: str) -> str:
    count, first = len(members), members[0]
    if first.level == "bad":
        return f"{whole(count)} partitions lost their leader, broker {first.broker_id} ({some}): no reads and no writes there."
    shares = Counter(m.broker_id for m in members)
    to = and_list([f"broker {b} leads {whole(n)}" for b, n in sorted(shares.items())])
    if first.level == "ok":
        return f"{whole(count)} partitions have a leader again: {to} ({some})."
    return f"{whole(count)} leaders moved: {to} ({some}){cause}."
