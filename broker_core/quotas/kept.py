"""What is remembered of each payer or address, in bounded memory: whoever invents names gets others forgotten, no more.

What nobody used for an hour goes (Kafka's sensors do), and what was used longest ago where there is too much of it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from hashlib import sha256
from typing import Generic, TypeVar

from msgspec import Struct

from broker_core.quotas.limits import Payer

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")

KEPT_MAX = 4096
"""A kilobyte each at most, the longest names included."""
IDLE_MS = 3600 * 1000.0
NAME_CHARS = 128


class _Entry(Struct, Generic[T]):
    value: T
    used_ms: float


class Kept(Generic[K, T]):
    """`make` makes the first one of a key. Time never falls from one call to the next."""

    def __init__(self, make: Callable[[], T], most: int = KEPT_MAX) -> None:
        self._make = make
        self._most = most
        self._entries: OrderedDict[K, _Entry[T]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._entries)

    def of(self, key: K, now_ms: float) -> T:
        entry = self._entries.get(key)
        if entry is None:
            self._drop_old(now_ms)
            entry = self._entries[key] = _Entry(self._make(), now_ms)
        entry.used_ms = now_ms
        self._entries.move_to_end(key)
        return entry.value

    def clear(self) -> None:
        self._entries.clear()

    def _drop_old(self, now_ms: float) -> None:
        while self._entries:
            oldest = next(iter(self._entries.values()))
            if len(self._entries) < self._most and now_ms - oldest.used_ms <= IDLE_MS:
                return
            self._entries.popitem(last=False)


def short(payer: Payer) -> Payer:
    """The same for long names, which cost no more memory than short ones: a client may call itself by 32 KB."""
    return Payer(_short(payer.user), _short(payer.client_id))


def _short(name: str) -> str:
    return name if len(name) <= NAME_CHARS else sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
