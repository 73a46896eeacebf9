"""How many connections may be opened a second: by one address (KIP-612, quota `connection_creation_rate`), and at this broker
(`max.connection.creation.rate`).

A connection above its address's rate is not taken: it is closed after the time that would bring the rate down, so that a client that
tries again at once does not get its way. One above the broker's rate is taken, and served in its turn: Kafka's acceptor waits
before it goes on with the next one of its listener.
"""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import ip_address

from broker_core.config.key import INT_MAX
from broker_core.quotas.kept import Kept
from broker_core.quotas.rate import WindowedRate, Windows, rest_ms, whole_ms
from broker_core.seams import ConnectionThrottled


class ConnectionQuota:
    """Of one broker. `broker_rate` is asked at each connection; those by the listener `protected` do not count against it."""

    def __init__(self, windows: Windows, broker_rate: Callable[[], int], protected: str | None = None) -> None:
        self._windows = windows
        self._broker_rate = broker_rate
        self._protected = protected
        self._of_addresses: dict[str | None, int] = {}
        self._rates: Kept[str, WindowedRate] = Kept(WindowedRate)
        self._all = WindowedRate()
        self._free_ms: dict[str, float] = {}

    def put(self, address: str | None, limit: int | None) -> None:
        """The limit of an address, of those without one of their own (None), or none any more."""
        if limit is None:
            self._of_addresses.pop(address, None)
        else:
            self._of_addresses[address] = limit
        if not self._of_addresses:
            self._rates.clear()

    def opened(self, listener: str, host: str, now_ms: float) -> float:
        """When its requests are served, in the same clock; `now_ms` at best. `ConnectionThrottled` for one that is not taken."""
        if self._of_addresses:
            self._count_address(host, now_ms)
        limit = self._broker_rate()
        if limit == INT_MAX or listener == self._protected:
            return now_ms
        return self._turn_ms(listener, limit, now_ms)

    def _count_address(self, host: str, now_ms: float) -> None:
        address = normal(host)
        limit = self._of_addresses.get(address, self._of_addresses.get(None, INT_MAX))
        if limit == INT_MAX:
            return
        rate = self._rates.of(address, now_ms)
        rest = self._recorded_ms(rate, limit, now_ms)
        if rest:
            rate.record(-1.0, now_ms, self._windows)
            raise ConnectionThrottled(rest)

    def _turn_ms(self, listener: str, limit: int, now_ms: float) -> float:
        """The connections of a listener come one after the other: one counts when it is its turn."""
        turn_ms = max(now_ms, self._free_ms.get(listener, 0.0))
        turn_ms += self._recorded_ms(self._all, limit, turn_ms)
        self._free_ms[listener] = turn_ms
        return turn_ms

    def _recorded_ms(self, rate: WindowedRate, limit: int, now_ms: float) -> int:
        rate.record(1.0, now_ms, self._windows)
        measured, window_ms = rate.measure(now_ms, self._windows)
        return whole_ms(rest_ms(measured, window_ms, limit), self._windows.size_ms)


def normal(host: str) -> str:
    """An address in the one form in which two of them can be compared; as it is where it is none (a simulated machine's name)."""
    try:
        address = ip_address(host)
    except ValueError:
        return host
    mapped = getattr(address, "ipv4_mapped", None)
    return str(mapped or address)
