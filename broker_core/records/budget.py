"""What looking into records may cost, counted over all that one request has looked into.

A few kilobytes can claim gigabytes or millions of records. So bytes are taken from the budget before they come out of a codec,
and records before they are walked; wrappers inside wrappers draw on the same one. What is looked into adds to it by its own
size, so that it limits what a request makes of itself and not how large it is: sixteen bytes for each, and a record for as
many as the least of them has.
"""

from __future__ import annotations

from broker_core.errors import CorruptData, ErrorCode, KafkaError

DECODED_BYTES_MAX = 128 << 20
DECODED_RECORDS_MAX = 2_000_000
DECODED_MS_MAX = 30_000
RECORDS_UNLIMITED = (1 << 31) - 1
EARNED_BYTES = 16
LEAST_RECORD_BYTES = 7
HEADERS_MAX = 10_000
"""Headers of one record that is looked into: they are walked at once, and may be two bytes each."""
CONVERTED_RECORD_BYTES_MAX = 16 << 20
"""Size of a record that comes out of a codec to be converted, which copies it several times at once."""


class BudgetSpent(CorruptData):
    """The records would cost more than may be spent on them."""


class TimeSpent(BudgetSpent):
    """Whoever asked has waited for too long."""


class Budget:
    """`deadline_ms` is on the node's monotonic clock, None for work that nobody waits for.

    `bytes_max` is also the most memory that may be held at a time, however much a request has earned.
    """

    __slots__ = ("_bytes_left", "_bytes_max", "_records_left", "deadline_ms", "held_bytes", "is_fresh")

    def __init__(
        self, bytes_max: int = DECODED_BYTES_MAX, records_max: int = DECODED_RECORDS_MAX, deadline_ms: float | None = None
    ) -> None:
        self._bytes_max = bytes_max
        self._bytes_left = bytes_max
        self._records_left = records_max
        self.deadline_ms = deadline_ms
        self.held_bytes = 0
        """Memory that was given to what is under way."""
        self.is_fresh = True
        """Whether nothing has been taken yet."""

    @property
    def room_bytes(self) -> int:
        return min(self._bytes_left, self._bytes_max - self.held_bytes)

    def earn(self, size_bytes: int) -> None:
        """So many bytes, as they came, are looked into."""
        self._bytes_left += EARNED_BYTES * size_bytes
        self._records_left += size_bytes // LEAST_RECORD_BYTES

    def check_bytes(self, count: int) -> None:
        if count > self.room_bytes:
            raise BudgetSpent(f"compressed records exceed the {self.room_bytes} bytes that they may have when decompressed")

    def take_bytes(self, count: int) -> None:
        self.check_bytes(count)
        self.is_fresh = False
        self._bytes_left -= count
        self.held_bytes += count

    def return_bytes(self, count: int) -> None:
        """Gives back what was taken and not needed."""
        self._bytes_left += count
        self.held_bytes -= count

    def take_records(self, count: int) -> None:
        if count > self._records_left:
            raise BudgetSpent(f"{count} records are more than the {self._records_left} that may be looked into")
        self.is_fresh = False
        self._records_left -= count


def check_headers(count: int) -> None:
    """`BudgetSpent` for a record with so many headers."""
    if count > HEADERS_MAX:
        raise BudgetSpent(f"a record has {count} headers, no more than {HEADERS_MAX} are looked into")


def check_converted(size_bytes: int) -> None:
    """`BudgetSpent` for a packed record that is too large to be converted."""
    if size_bytes > CONVERTED_RECORD_BYTES_MAX:
        raise BudgetSpent(f"a record of {size_bytes} bytes is too large to be converted, at most {CONVERTED_RECORD_BYTES_MAX} may be")


def refusal(error: CorruptData) -> KafkaError:
    """What a client is told: one whose batch is too large may split it, one that came at a bad time may come again."""
    if isinstance(error, TimeSpent):
        return KafkaError(ErrorCode.REQUEST_TIMED_OUT, str(error))
    code = ErrorCode.MESSAGE_TOO_LARGE if isinstance(error, BudgetSpent) else ErrorCode.CORRUPT_MESSAGE
    return KafkaError(code, str(error))
