"""Whether one log may be written: every part of it tells of the disk's errors here.

A failed write leaves the log as it was, and closes it for appends (KAFKA-10778): an I/O error is reported to the owner, who
takes the whole data folder offline (log_dir.py). Only where file handles ran out nothing is wrong with the disk: what failed
is tried again, and a log that was left half-cut is open again once `PartitionLog.recover` has checked its unflushed segments.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from broker_core.errors import ErrorCode, KafkaError
from broker_core.model import TopicPartition
from broker_core.storage.folder.log_dir import HANDLES_AT_FAULT

logger = logging.getLogger(__name__)


class LogHealth:
    __slots__ = ("closed", "failure", "on_io_error", "partition")

    def __init__(self, partition: TopicPartition) -> None:
        self.partition = partition
        self.closed = False
        self.failure: OSError | None = None
        """What left the log in a state that has to be checked before anything is appended."""
        self.on_io_error: Callable[[str, OSError], None] = lambda what, error: None
        """Told what failed and how: the owner of the data folder decides what that means for it."""

    def check_writable(self) -> None:
        """`KafkaError` KAFKA_STORAGE_ERROR unless the log takes appends."""
        if self.closed:
            raise self.refusal("is closed")
        if self.failure is not None:
            raise self.refusal(f"waits for recovery from: {self.failure}")

    def refusal(self, why: str) -> KafkaError:
        return KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"the log of {self.partition} {why}")

    def failed(self, error: OSError, what: str, *, heals: bool = True) -> KafkaError:
        """Reports a write that failed and gives the error to raise; `heals`: the log is as it was before, so where only handles
        ran out it may go on."""
        logger.error("log write failed", extra={"partition": str(self.partition), "what": what, "error": str(error)})
        if not heals or error.errno not in HANDLES_AT_FAULT:
            self.failure = error
        return self._reported(error, what)

    def unreadable(self, error: Exception) -> KafkaError:
        """What a disk, or the bytes it gives, did to a reader."""
        if isinstance(error, OSError):
            return self._reported(error, "read")
        return KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"read of {self.partition} failed: {error}")

    def _reported(self, error: OSError, what: str) -> KafkaError:
        self.on_io_error(f"{what} of {self.partition}", error)
        return KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"{what} of {self.partition} failed: {error}")
