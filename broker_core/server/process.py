"""What makes a broker a well-behaved process: its data-folder lock, ready file, log lines and room for open files.

<log.dir>/.lock    held (flock) as long as the process lives, so it proves life where a pid cannot; holds the pid
<log.dir>/.ready   JSON {pid, port, broker_epoch, metrics_port}, there while the broker is registered and serves

Both are in each of several data folders; one that cannot be locked is left out, and its replicas are offline.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import logging
import logging.handlers
import os
import resource
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from broker_core.errors import ConfigError
from broker_core.storage.folder.files import OPEN_FILES_LIMIT

LOCK_FILE = ".lock"
READY_FILE = ".ready"
LOG_FILE_BYTES = 10 * 1024 * 1024
LOG_FILES = 5
LOG_VALUE_CHARS = 2_000
OPEN_FILES_WANTED = 65_536
FILES_FOR_LOGS = OPEN_FILES_LIMIT + 256
"""Open files that connections may not take: those of logs, and some for checkpoints, listeners and other brokers."""
_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


@contextlib.contextmanager
def data_folder_lock(folder: Path) -> Iterator[None]:
    """Holds the folder for this process; `ConfigError` when another one has it."""
    folder.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(folder / LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(descriptor, 32, 0).decode("ascii", "replace").strip()
            raise ConfigError(f"{folder} is used by another broker process (pid {holder or 'unknown'})") from None
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        yield
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def data_folder_locks(folders: Sequence[str]) -> Iterator[dict[str, OSError]]:
    """Holds the folders for this process; gives those that cannot be used, and why. `ConfigError` when another process has one of them,
    `OSError` when none can be used."""
    with contextlib.ExitStack() as held:
        unusable: dict[str, OSError] = {}
        for folder in folders:
            try:
                held.enter_context(data_folder_lock(Path(folder)))
            except OSError as error:
                unusable[folder] = error
                if len(unusable) == len(folders):
                    raise
        yield unusable


def write_ready_in(folders: Sequence[Path], *, port: int, broker_epoch: int, metrics_port: int) -> None:
    """`write_ready` in each folder that takes it; `OSError` where none does."""
    failed: list[OSError] = []
    for folder in folders:
        try:
            write_ready(folder, port=port, broker_epoch=broker_epoch, metrics_port=metrics_port)
        except OSError as error:
            failed.append(error)
    if failed and len(failed) == len(folders):
        raise failed[0]


def write_ready(folder: Path, *, port: int, broker_epoch: int, metrics_port: int) -> None:
    """Says that the broker serves; the file appears whole or not at all."""
    state = {"pid": os.getpid(), "port": port, "broker_epoch": broker_epoch, "metrics_port": metrics_port}
    temporary = folder / f"{READY_FILE}.tmp"
    temporary.write_text(json.dumps(state) + "\n", encoding="utf-8")
    temporary.replace(folder / READY_FILE)


def clear_ready(folder: Path) -> None:
    (folder / READY_FILE).unlink(missing_ok=True)


class LineFormatter(logging.Formatter):
    """`time level logger: event key=value …`; the event is a constant string, the values come from `extra`."""

    def format(self, record: logging.LogRecord) -> str:
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        values = "".join(f" {key}={_value(value)}" for key, value in vars(record).items() if key not in _STANDARD)
        line = f"{stamp}.{int(record.msecs):03d}Z {record.levelname} {record.name}: {record.getMessage()}{values}"
        if record.exc_info and record.exc_info[0] is not None:
            line += "\n" + self.formatException(record.exc_info)
        return line


def _value(value: object) -> str:
    text = str(value)
    if len(text) > LOG_VALUE_CHARS:
        text = text[:LOG_VALUE_CHARS] + "…"
    if not text.isprintable():
        return json.dumps(text)
    return json.dumps(text, ensure_ascii=False) if not text or any(c.isspace() or c == '"' for c in text) else text


class RotatingFile(logging.handlers.RotatingFileHandler):
    """Knows its size without asking the disk and formats a record once: thousands of partitions may begin a role in a second."""

    def shouldRollover(self, record: logging.LogRecord) -> bool:
        return self.stream is not None and self.stream.tell() >= self.maxBytes


def set_up_logging(file: Path | None, level: str) -> None:
    """Log lines to standard output, or to a file that is rotated."""
    target: logging.Handler = logging.StreamHandler(sys.stdout)
    if file is not None:
        file.parent.mkdir(parents=True, exist_ok=True)
        target = RotatingFile(file, maxBytes=LOG_FILE_BYTES, backupCount=LOG_FILES, encoding="utf-8")
    target.setFormatter(LineFormatter())
    logging.basicConfig(level=level.upper(), handlers=[target], force=True)
    logging.getLogger("kazoo").setLevel(logging.WARNING)


def raise_open_files_limit() -> int:
    """Raises the soft limit of open files as far as allowed and wanted; returns it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = OPEN_FILES_WANTED if hard == resource.RLIM_INFINITY else min(OPEN_FILES_WANTED, hard)
    if soft < wanted:
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


def connections_limit(open_files_limit: int) -> int:
    """How many connections leave the logs the file handles they need: a client too many is turned away, not the disk blamed."""
    return max(open_files_limit // 2, open_files_limit - FILES_FOR_LOGS)
