"""What a broker has: its replicas a page at a time, and what would be if it stopped."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from broker_core.contract.live import Broker
from broker_core.contract.partitions import Partition, Replica
from console.queries import SORTED_MOST, BadQuery, Page, absent, page_of
from console.rules.broker_words import Stopped, if_it_stops
from console.rules.words import whole
from console.snapshot.placed import Place
from console.snapshot.read import Snapshot
from console.snapshot.sorting import STATE_RANK

LOOKED_AT = 10_000
"""Partitions of one broker, the worst first, that are read to say what its stop would do."""
PIECE = 1_000
Hosted = tuple[Partition, Replica | None]
"""A partition, and the broker's own replica of it where that is told."""


def behind(row: Partition, own: Replica | None) -> int | None:
    """Records that the replica lacks of what its leader has; None where either end is not known."""
    if own is None or own.log_end_offset is None or row.log_end_offset is None:
        return None
    return max(row.log_end_offset - own.log_end_offset, 0)


COLUMNS: dict[str, Callable[[Partition, Replica | None], float | None]] = {
    "name": lambda row, own: 0,
    "state": lambda row, own: -STATE_RANK[row.state],
    "role": lambda row, own: 0 if own is None else int(own.is_leader),
    "in_isr": lambda row, own: None if own is None else int(own.in_isr),
    "high_watermark": lambda row, own: row.high_watermark,
    "log_end_offset": lambda row, own: None if own is None else own.log_end_offset,
    "behind": behind,
    "size_bytes": lambda row, own: row.size_bytes,
}
RISING = ("", "name", "in_isr")
"""Of these the usual order is the ascending one."""


def usually_falls(column: str) -> bool:
    return column not in RISING


def broker_or_fail(snapshot: Snapshot, broker_id: int) -> Broker:
    found = snapshot.broker(broker_id)
    if found is None:
        raise absent(snapshot, f"broker {broker_id}")
    return found


def hosted_page(
    snapshot: Snapshot, broker_id: int, page: int, size: int, *, role: str = "", q: str = "", column: str = "", falling: bool = False
) -> Page[Hosted]:
    """Sorted by `column` over all of them, else the worst first; `BadQuery` where there are too many to be sorted."""
    places = _places(snapshot, broker_id, role, q.lower())
    if column:
        if len(places) > SORTED_MOST:
            raise BadQuery("sort", f"Broker {broker_id} has more than {whole(SORTED_MOST)} such partitions: the worst are shown first.")
        places = _sorted(snapshot, broker_id, places, column, falling=falling)
    shown, page, last = page_of(places, page, size)
    rows = snapshot.partitions_at(shown)
    return Page([(row, own(row, broker_id)) for row in rows], page, last, len(places))


def own(row: Partition, broker_id: int) -> Replica | None:
    return next((replica for replica in row.replicas if replica.broker_id == broker_id), None)


def _places(snapshot: Snapshot, broker_id: int, role: str, text: str) -> list[Place]:
    found = snapshot.hosted(broker_id, leads=role == "leader")
    if role == "follower":
        led = set(snapshot.hosted(broker_id, leads=True))
        found = [place for place in found if place not in led]
    return [place for place in found if text in place.topic.lower()] if text else found


def _sorted(snapshot: Snapshot, broker_id: int, places: list[Place], column: str, *, falling: bool) -> list[Place]:
    score = COLUMNS[column]
    scored = [(score(row, own(row, broker_id)), Place(row.topic, row.partition)) for row in snapshot.partitions_at(places)]
    by_name = sorted(scored, key=lambda one: one[1], reverse=column == "name" and falling)
    return [place for _, place in sorted(by_name, key=lambda one: (one[0] is None, -(one[0] or 0) if falling else one[0] or 0))]


def if_stopped(snapshot: Snapshot, broker: Broker) -> Stopped:
    places = snapshot.hosted(broker.broker_id)
    serving = {broker.broker_id for broker in snapshot.brokers() if _serves(broker)}
    return if_it_stops(broker.broker_id, len(places), _read(snapshot, places[:LOOKED_AT]), serving, is_old=snapshot.as_of().stale)


def _serves(broker: Broker) -> bool:
    folders = [*([broker.log_dir] if broker.log_dir else ()), *broker.other_log_dirs]
    return broker.state == "online" and (not folders or any(folder.state != "folder_offline" for folder in folders))


def _read(snapshot: Snapshot, places: list[Place]) -> Iterator[Partition]:
    for start in range(0, len(places), PIECE):
        yield from snapshot.partitions_at(places[start : start + PIECE])
