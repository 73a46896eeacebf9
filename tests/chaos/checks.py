"""What must hold once everything is mended: nothing acknowledged is missing, nothing doubled, equal replicas, a page that is right."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from broker_core.errors import CorruptData
from broker_core.records.batch import iter_headers, read_records
from tests.chaos.load import NUMBER, PARTITIONS

SHOWN = 5


class Stored(NamedTuple):
    """One topic on one broker: how often each number is there, the bytes of each partition's log, and where they cannot be read."""

    numbers: Counter[int]
    logs: Mapping[int, bytes]
    corrupt: tuple[str, ...] = ()


def stored(folder: Path, topic: str, high_watermarks: Mapping[int, int]) -> Stored:
    """What lies below the high watermark, whatever the segments are."""
    numbers: Counter[int] = Counter()
    corrupt: list[str] = []
    logs = {}
    for partition in range(PARTITIONS):
        kept = bytearray()
        for path in sorted((folder / f"{topic}-{partition}").glob("*.log")):
            data = path.read_bytes()
            try:
                for position, header in iter_headers(data):
                    if header.last_offset >= high_watermarks[partition]:
                        continue
                    kept += data[position : position + header.size_bytes]
                    if not header.is_control:
                        numbers.update(NUMBER.unpack_from(record.value or b"")[0] for record in read_records(data, position, header))
            except CorruptData as error:
                corrupt.append(f"{path.parent.name}/{path.name}, below offset {high_watermarks[partition]}: {error}")
        logs[partition] = bytes(kept)
    return Stored(numbers, logs, tuple(corrupt))


def record_violations(topic: str, acknowledged: set[int], copies: Mapping[int, Stored], *, idempotent: bool) -> Iterator[str]:
    """By broker: what is missing, what is there twice, and logs that are not the same bytes."""
    for broker_id, copy in copies.items():
        yield from (f"broker {broker_id}: {each}" for each in copy.corrupt[:SHOWN])
        if missing := sorted(acknowledged - copy.numbers.keys()):
            yield f"{topic}: {len(missing)} acknowledged records are not on broker {broker_id}: {missing[:SHOWN]}"
        twice = sorted(number for number, count in copy.numbers.items() if count > 1)
        if twice and idempotent:
            yield f"{topic}: {len(twice)} records of the idempotent producer are twice on broker {broker_id}: {twice[:SHOWN]}"
    first = next(iter(copies))
    for broker_id, copy in copies.items():
        for partition, data in copy.logs.items():
            if data != copies[first].logs[partition]:
                other = len(copies[first].logs[partition])
                yield f"{topic}-{partition}: the {len(data)} bytes on broker {broker_id} differ from the {other} on broker {first}"


class Place(NamedTuple):
    """A partition as somebody tells it."""

    leader: int
    isr: frozenset[int]
    high_watermark: int


def page_violations(shown: Mapping[tuple[str, int], Place], told: Mapping[tuple[str, int], Place]) -> list[str]:
    """Where the page's last state is not what the brokers answer themselves."""
    found = [f"{name}-{number}: no such partition, but the page shows it" for name, number in sorted(shown.keys() - told.keys())]
    found += [f"{name}-{number}: the page does not know it" for name, number in sorted(told.keys() - shown.keys())]
    both = sorted(shown.keys() & told.keys())
    found += [
        f"{name}-{n}: the page says {shown[name, n]}, the brokers {told[name, n]}" for name, n in both if shown[name, n] != told[name, n]
    ]
    return found
