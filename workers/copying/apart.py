"""A piece of work in a forked process with limits of memory, processor and time, which ends with its parent."""

from __future__ import annotations

import logging
import os
import select
import signal
import time
from collections.abc import Callable

from console.gateway.errors import GatewayError
from workers.reader.bounds import confine

log = logging.getLogger(__name__)
READ_BYTES = 65_536
ANSWER_BYTES_MAX = 16 * 1024 * 1024


def apart(work: Callable[[], bytes], within_s: float) -> bytes:
    """What the work gives. `GatewayError` where its process ended without an answer, or (worth another try) had none in time."""
    ours, theirs = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(ours)
        _be_child(work, theirs)
    os.close(theirs)
    try:
        return _answer(ours, within_s)
    finally:
        os.close(ours)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def _answer(source: int, within_s: float) -> bytes:
    end_s, found = time.monotonic() + within_s, bytearray()
    while True:
        left_s = end_s - time.monotonic()
        if left_s <= 0 or not select.select([source], [], [], left_s)[0]:
            raise GatewayError("NOT_IN_TIME", f"the records could not be read and written within {within_s:.0f} s", retriable=True)
        some = os.read(source, READ_BYTES)
        found += some
        if len(found) > ANSWER_BYTES_MAX:
            raise GatewayError("NOT_COPIED", "the process that copies said more than it may")
        if not some:
            break
    if not found:
        raise GatewayError("NOT_COPIED", "the process that copies ended: one of the records is larger than it may take")
    return bytes(found)


def _be_child(work: Callable[[], bytes], out: int) -> None:
    """Never returns, and closes nothing that the parent has open as well."""
    code = 1
    try:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1):
            signal.signal(number, signal.SIG_DFL)
        confine()
        answer = memoryview(work())
        while answer:
            answer = answer[os.write(out, answer) :]
        code = 0
    except BaseException:
        log.exception("records were not copied")
    finally:
        os._exit(code)
