"""Whether a data folder serves: online until the first I/O error, then offline until the broker is started again.

Apache Kafka's LogDirFailureChannel. Where one write failed nobody knows what the next one does, and a leader that can
neither append nor flush must not keep its partitions: the folder goes offline as a whole, all its replicas answer
KAFKA_STORAGE_ERROR, and the controller, told by `/log_dir_event_notification`, elects others. Space that comes back
does not bring the folder back: the start that does also checks what the failure left.

The replicas in a broker's other folders go on. With its last folder Kafka ends the process. This one stays registered: its leaders move
at once instead of after a session timeout, and it can say what happened; it goes on serving metadata, and as controller.
"""

from __future__ import annotations

import errno
import logging
from collections.abc import Callable

from msgspec import Struct

from broker_core.errors import ErrorCode, KafkaError
from broker_core.seams import Clock

logger = logging.getLogger(__name__)

HANDLES_AT_FAULT = frozenset({errno.EMFILE, errno.ENFILE, errno.EBADF})
"""The process or the machine has no file handle to give, or a handle was given up: the disk is as sound as before."""

NAME_AT_FAULT = frozenset({errno.ENAMETOOLONG, errno.EILSEQ, errno.EEXIST, errno.ENOTDIR, errno.EISDIR})
"""No file can have that name, or something of another kind has it: one partition's misfortune, which anybody who writes to
ZooKeeper or into the folder can bring about, and not the disk's."""


def lacks_handles(error: Exception) -> bool:
    """Whether an error, or the one that it was raised from, is the want of file handles."""
    cause = error if isinstance(error, OSError) else error.__cause__
    return isinstance(cause, OSError) and cause.errno in HANDLES_AT_FAULT


class LogDirFailure(Struct, frozen=True):
    """What took the folder offline, and when (milliseconds since the Unix epoch)."""

    at_ms: int
    what: str
    error: str

    def __str__(self) -> str:
        return f"{self.what} failed: {self.error}"


class LogDir:
    """One data folder's state. `on_offline` is called once."""

    def __init__(self, path: str, clock: Clock) -> None:
        self.path = path
        self.failure: LogDirFailure | None = None
        self.on_offline: Callable[[LogDirFailure], None] = lambda failure: None
        self._clock = clock

    def report(self, what: str, error: OSError) -> None:
        """An I/O error in the folder; the first that is the disk's fault takes it offline."""
        if self.failure is None and error.errno not in HANDLES_AT_FAULT | NAME_AT_FAULT:
            self.on_offline(self.fail(what, error))

    def report_own(self, what: str, error: OSError) -> None:
        """An I/O error with one of the folder's own files, whose names are no partition's: a folder that is a file now is offline too."""
        if self.failure is None and error.errno not in HANDLES_AT_FAULT:
            self.on_offline(self.fail(what, error))

    def fail(self, what: str, error: OSError) -> LogDirFailure:
        """Takes the folder offline, whatever kind of error it is; nobody is told: at a start there is nothing to take away."""
        self.failure = LogDirFailure(self._clock.now_ms(), what, str(error))
        logger.critical(
            "the data folder is offline until this broker is restarted", extra={"folder": self.path, "what": what, "error": str(error)}
        )
        return self.failure

    def check(self) -> None:
        """`KafkaError` KAFKA_STORAGE_ERROR when the folder is offline."""
        if self.failure is not None:
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"the data folder {self.path} is offline: {self.failure}")
