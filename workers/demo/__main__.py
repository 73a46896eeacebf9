"""`python -m workers.demo`: runs until SIGTERM or SIGINT."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import sys
import threading

from workers.demo import consuming, producing
from workers.demo.clients_file import EVERY_SECONDS, state_file, tell
from workers.demo.consuming import READERS, consume
from workers.demo.producing import produce
from workers.demo.shapes import SHAPES
from workers.demo.topics import create_all

STOP_SECONDS = 8.0


def main() -> int:
    """Starts a thread per producer and consumer, and waits for the signal to stop."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    bootstrap_servers = os.environ.get("HIGHWATER_BOOTSTRAP_SERVERS", "127.0.0.1:9092")
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    create_all(bootstrap_servers, stop)
    writing = [(shape, producing.watch_of(shape)) for shape in SHAPES]
    reading = [(reader, consuming.watch_of(reader)) for reader in READERS]
    threads = [threading.Thread(target=produce, args=(bootstrap_servers, shape, stop, watch), daemon=True) for shape, watch in writing]
    threads += [threading.Thread(target=consume, args=(bootstrap_servers, reader, stop, watch), daemon=True) for reader, watch in reading]
    for thread in threads:
        thread.start()
    watches = [watch for _, watch in (*writing, *reading)]
    while not stop.wait(EVERY_SECONDS):
        with contextlib.suppress(OSError):
            tell(state_file(), watches)
    for thread in threads:
        thread.join(STOP_SECONDS / len(threads))
    return 0


if __name__ == "__main__":
    sys.exit(main())
