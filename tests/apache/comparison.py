"""Rows of a comparison, and how one is made: the same script on both brokers at once, then equal results.

A row is a name and a script: a function of a `Side` whose result is compared. `ask` makes one of a single request.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

from broker_core.protocol.api import ApiKey
from tests.apache.differences import INTENDED
from tests.apache.side import Side

Script = Callable[[Side], Any]


class Case(NamedTuple):
    name: str
    script: Script


class Pair(NamedTuple):
    """Ports of Apache Kafka and of ours, both with the same settings, and the ZooKeeper that has both, in `/kafka` and `/ours`."""

    kafka: int
    ours: int
    zookeeper: str = ""

    def both(self, script: Script) -> tuple[Any, Any]:
        """What the script finds on Kafka and on ours."""
        with ThreadPoolExecutor(2) as threads:
            kafka, ours = threads.map(lambda port: run(port, script), (self.kafka, self.ours))
        return kafka, ours

    def compare(self, case: Case) -> None:
        """Equal, unless the difference is one of the intended, which must then still be there."""
        kafka, ours = self.both(case.script)
        if case.name in INTENDED:
            assert list(unequal(kafka, ours)), f"{case.name} is the same by now: take it from the list of differences"
        else:
            found = "\n".join(unequal(kafka, ours))
            assert not found, found


def unequal(kafka: Any, ours: Any, where: str = "") -> Iterator[str]:
    """One line per place where two results differ; a message that explains an error where Kafka has none is no difference."""
    if isinstance(kafka, dict) and isinstance(ours, dict):
        for name in sorted(kafka.keys() | ours.keys()):
            if name == "error_message" and kafka.get(name) is None and ours.get("error_code") != "NONE":
                continue
            yield from unequal(kafka.get(name, "nothing"), ours.get(name, "nothing"), f"{where}.{name}")
    elif isinstance(kafka, (list, tuple)) and isinstance(ours, (list, tuple)) and len(kafka) == len(ours):
        for index, (one, other) in enumerate(zip(kafka, ours, strict=True)):
            yield from unequal(one, other, f"{where}[{index}]")
    elif kafka != ours:
        yield f"{where}: Kafka has {kafka!r}, ours {ours!r}"


def run(port: int, script: Script) -> Any:
    side = Side(port)
    try:
        return script(side)
    finally:
        side.close()


def ask(name: str, key: ApiKey, version: int, payload: Mapping[str, Any]) -> Case:
    return Case(name, lambda side: side.ask(key, version, payload))
