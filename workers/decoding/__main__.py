"""`python -m workers.decoding FD`: answers on the socket of that number until its other side ends.

Each piece of work has a limit of processor time, after which the process is ended by the kernel, wherever it is: neither Cython nor
protoc could be interrupted otherwise. The other side says so of that schema or record, and starts the next process.
"""

from __future__ import annotations

import ctypes
import importlib
import resource
import signal
import socket
import sys
from collections.abc import Callable

from workers.decoding.frames import Answer, Ask, TooLarge, receive, send

MEMORY_BYTES = 512 * 1024 * 1024
FILE_BYTES = 16 * 1024 * 1024
MAKE_S, DECODE_S = 5.0, 1.0
"""Of the processor."""
PR_SET_PDEATHSIG = 1
KINDS = {"AVRO": "avro", "PROTOBUF": "protobuf"}
SAID_CHARS = 200
TEXT_BYTES_MAX = 8 * 1024 * 1024
Read = Callable[[bytes], tuple[bytes, str, bool]]


def serve(way: socket.socket) -> None:
    readers: dict[int, Read] = {}
    while (ask := receive(way, Ask)) is not None:
        try:
            send(way, _answer(readers, ask))
        except TooLarge:
            send(way, Answer(error="what it holds is too large to be shown"))


def _answer(readers: dict[int, Read], ask: Ask) -> Answer:
    try:
        if ask.text is not None:
            _within(MAKE_S)
            readers[ask.id] = importlib.import_module(f"workers.decoding.{KINDS[ask.type]}").reader(ask.text, ask.references)
        if ask.body is None:
            return Answer()
        _within(DECODE_S)
        text, message, encoded = readers[ask.id](ask.body)
        if len(text) > TEXT_BYTES_MAX:
            return Answer(error=f"it has more than {TEXT_BYTES_MAX // 1024**2} MiB as JSON")
        return Answer(text=text, message=message, encoded=encoded)
    except MemoryError:
        return Answer(error="it wants more memory than it may have")
    except RecursionError:
        return Answer(error="it is nested too deeply")
    except Exception as error:  # whatever a stranger's schema makes a library raise
        return Answer(error=f"{str(error)[:SAID_CHARS] or type(error).__name__}")
    finally:
        _within(0)


def _within(seconds: float) -> None:
    signal.setitimer(signal.ITIMER_PROF, seconds)


def confine() -> None:
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_BYTES, FILE_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


if __name__ == "__main__":
    confine()
    serve(socket.socket(fileno=int(sys.argv[1])))
