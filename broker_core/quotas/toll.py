"""What one request costs its client: counted when its answer is made, which tells the client how long to wait.

Kafka's rules (`KafkaApis`, `RequestHandlerHelper`): the longest of what the quotas ask for counts; a Fetch that has to wait gets nothing
and pays for no bytes; a Produce with acks=0 pays for its bytes and not for its time; requests that only brokers send pay nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from broker_core.quotas.entities import CONSUMER_BYTE_RATE, CONTROLLER_MUTATION_RATE, PRODUCER_BYTE_RATE, REQUEST_PERCENTAGE
from broker_core.quotas.mutation_quota import UNLIMITED, LimitedMutations, Mutations

if TYPE_CHECKING:
    from broker_core.quotas.client_quotas import ClientQuotas

PERCENT_PER_MS = 0.1
"""A request that takes the whole of a second has taken 100 % of it."""


class Toll:
    """Of one request; `throttled_ms` is there once it is settled."""

    __slots__ = ("_client_id", "_monotonic_ms", "_mutations", "_quotas", "_settled", "_spent_ms", "_user", "throttled_ms")
    is_free = False

    def __init__(
        self, quotas: ClientQuotas, user: str, client_id: str, monotonic_ms: Callable[[], float], spent_ms: Callable[[], float]
    ) -> None:
        self._quotas = quotas
        self._user = user
        self._client_id = client_id
        self._monotonic_ms = monotonic_ms
        self._spent_ms = spent_ms
        self._mutations: LimitedMutations | None = None
        self._settled = False
        self.throttled_ms = 0

    def mutations(self, *, strict: bool) -> Mutations:
        """What the request may change of topics. What is asked for last counts."""
        self._mutations = self._quotas.mutations.request(self._user, self._client_id, self._monotonic_ms, strict=strict)
        return self._mutations or UNLIMITED

    def uncounted_mutations(self) -> Mutations:
        """For topics that a client asks for by the way: they count, and the answer does not tell (nor does Kafka's)."""
        return self._quotas.mutations.request(self._user, self._client_id, self._monotonic_ms, strict=False) or UNLIMITED

    def most_fetched_bytes(self) -> float:
        """More would be held back for sure, and the client would ask for it for ever."""
        return self._quotas.fetch.most_at_once(self._user, self._client_id)

    def fetched(self, count_bytes: int) -> bool:
        """Settles a consumer's Fetch; whether its records are held back for now."""
        now_ms, quotas = self._monotonic_ms(), self._quotas
        by_time = self._time_ms(now_ms)
        by_bytes = quotas.fetch.record(self._user, self._client_id, count_bytes, now_ms)
        if by_time or by_bytes:
            quotas.fetch.take_back(self._user, self._client_id, count_bytes, now_ms)
        self._settle({REQUEST_PERCENTAGE: by_time, CONSUMER_BYTE_RATE: by_bytes})
        return self.throttled_ms > 0

    def produced(self, count_bytes: int, *, is_answered: bool) -> int:
        """Settles a Produce of so many bytes of request; how long its client has to wait."""
        now_ms = self._monotonic_ms()
        by_bytes = self._quotas.produce.record(self._user, self._client_id, count_bytes, now_ms)
        return self._settle({REQUEST_PERCENTAGE: self._time_ms(now_ms) if is_answered else 0, PRODUCER_BYTE_RATE: by_bytes})

    def exempt(self) -> None:
        """A follower's Fetch: replication has quotas of its own (KIP-73)."""
        self._settled = True

    def settled(self) -> int:
        """Settles any other request, if that is not done; how long its client has to wait."""
        if self._settled:
            return self.throttled_ms
        now_ms = self._monotonic_ms()
        by_changes = self._mutations.rest_ms(now_ms) if self._mutations is not None else 0
        return self._settle({REQUEST_PERCENTAGE: self._time_ms(now_ms), CONTROLLER_MUTATION_RATE: by_changes})

    def _time_ms(self, now_ms: float) -> int:
        return self._quotas.request.record(self._user, self._client_id, self._spent_ms() * PERCENT_PER_MS, now_ms)

    def _settle(self, asked_ms: dict[str, int]) -> int:
        self._settled = True
        key = max(asked_ms, key=asked_ms.__getitem__)
        self.throttled_ms = asked_ms[key]
        if self.throttled_ms:
            self._quotas.count(key, self.throttled_ms)
        return self.throttled_ms


class _Free(Toll):
    """Of every request while no client has a quota, and of brokers' requests: nothing is counted."""

    __slots__ = ()
    is_free = True

    def __init__(self) -> None:
        self.throttled_ms = 0

    def mutations(self, *, strict: bool) -> Mutations:
        return UNLIMITED

    def uncounted_mutations(self) -> Mutations:
        return UNLIMITED

    def most_fetched_bytes(self) -> float:
        return math.inf

    def fetched(self, count_bytes: int) -> bool:
        return False

    def produced(self, count_bytes: int, *, is_answered: bool) -> int:
        return 0

    def exempt(self) -> None:
        """It is."""

    def settled(self) -> int:
        return 0


FREE: Toll = _Free()
