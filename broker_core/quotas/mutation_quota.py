"""The quota on partitions made and deleted (KIP-599): strict with clients that know of it, patient with older ones.

Strict: while the bucket is in debt a change is refused with THROTTLING_QUOTA_EXCEEDED; one that finds it out of debt is carried out
whole, whatever it takes. Older clients know no such error: theirs is carried out, and they wait until the debt is paid.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from broker_core.errors import ErrorCode, KafkaError
from broker_core.quotas.kept import Kept, short
from broker_core.quotas.limits import Limits, Payer
from broker_core.quotas.rate import Windows, whole_ms
from broker_core.quotas.token_bucket import TokenBucket


class Mutations(Protocol):
    """What one request may change."""

    def record(self, partitions: int) -> None:
        """Before a change of so many partitions; THROTTLING_QUOTA_EXCEEDED where it may not be made now."""
        ...


class Unlimited:
    def record(self, partitions: int) -> None:
        """Whatever there is to change may be."""


UNLIMITED = Unlimited()


class LimitedMutations:
    """Those of one request of a payer that has a limit."""

    def __init__(self, bucket: TokenBucket, rate: float, windows: Windows, monotonic_ms: Callable[[], float], *, strict: bool) -> None:
        self._bucket = bucket
        self._rate = rate
        self._windows = windows
        self._monotonic_ms = monotonic_ms
        self._strict = strict
        self._rests_until_ms = 0.0

    def record(self, partitions: int) -> None:
        now_ms = self._monotonic_ms()
        debt_ms = self._bucket.rest_ms(now_ms, self._rate, self._windows)
        if self._strict and debt_ms:
            self._rests_until_ms = now_ms + debt_ms
            raise KafkaError(ErrorCode.THROTTLING_QUOTA_EXCEEDED, "The throttling quota has been exceeded.")
        self._bucket.take(partitions, now_ms, self._rate, self._windows)
        if not self._strict:
            self._rests_until_ms = now_ms + self._bucket.rest_ms(now_ms, self._rate, self._windows)

    def rest_ms(self, now_ms: float) -> int:
        """What is left of the rest that the last record asked for; the request may have waited for its partitions meanwhile."""
        return whole_ms(self._rests_until_ms - now_ms)


class MutationQuota:
    """Of all clients of one broker."""

    def __init__(self, windows: Windows) -> None:
        self.limits = Limits()
        self._windows = windows
        self._buckets: Kept[Payer, TokenBucket] = Kept(TokenBucket)

    def changed(self) -> None:
        """After the last limit is gone nothing is remembered."""
        if not self.limits:
            self._buckets.clear()

    def request(self, user: str, client_id: str, monotonic_ms: Callable[[], float], *, strict: bool) -> LimitedMutations | None:
        """What a request may change; None where its client has no limit."""
        payer, rate = self.limits.of(user, client_id)
        if rate is None:
            return None
        bucket = self._buckets.of(short(payer), monotonic_ms())
        return LimitedMutations(bucket, rate, self._windows, monotonic_ms, strict=strict)
