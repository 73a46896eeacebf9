"""A consumer that can be killed as a whole: prints each record's value once it has worked on it, and commits as its first argument says.

`python -m tests.support.reading_child auto|async|sync BOOTSTRAP GROUP TOPIC`; with `sync` a record is committed before the next is read.
"""

from __future__ import annotations

import sys

from confluent_kafka import Consumer

AUTO_COMMIT_MS = 50


def main(mode: str, bootstrap: str, group: str, topic: str) -> None:
    settings = {
        "bootstrap.servers": bootstrap,
        "group.id": group,
        "auto.offset.reset": "earliest",
        "session.timeout.ms": 6000,
        "enable.auto.commit": mode == "auto",
        "auto.commit.interval.ms": AUTO_COMMIT_MS,
    }
    consumer = Consumer(settings)
    consumer.subscribe([topic])
    while True:
        message = consumer.poll(1)
        if message is None or message.error():
            continue
        print((message.value() or b"").decode(), flush=True)
        if mode == "sync":
            consumer.commit(message=message, asynchronous=False)
        elif mode == "async":
            consumer.commit(message=message)


if __name__ == "__main__":
    main(*sys.argv[1:])
