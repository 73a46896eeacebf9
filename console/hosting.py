"""What a broker has: its replicas a page at a time, and what would be if it stopped."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from broker_core.contract.live import Broker, LogDir
from broker_core.contract.partitions import Partition, Replica, Topic
from console.queries import SORTED_MOST, BadQuery, Page, absent, page_of
from console.rules.forecast.fates import Around, Fate, How, worst_first
from console.rules.forecast.stopping import Forecast, forecast
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


def fates_page(found: Forecast, becomes: str, page: int, size: int) -> Page[Fate]:
    """Those that the stop would change (or of one kind), the worst first."""
    some = [fate for fate in worst_first(found.fates) if (fate.becomes == becomes if becomes else fate.becomes != "unchanged")]
    shown, page, last = page_of(some, page, size)
    return Page(list(shown), page, last, len(some))


def if_stopped(snapshot: Snapshot, broker: Broker, how: How = "death") -> Forecast:
    places, brokers = snapshot.hosted(broker.broker_id), snapshot.brokers()
    looked_at = places[:LOOKED_AT]
    around = Around(
        broker_id=broker.broker_id,
        how=how,
        serving=frozenset(one.broker_id for one in brokers if _serves(one)),
        doubtful=frozenset(one.broker_id for one in brokers if any(folder.state == "folder_offline" for folder in _folders(one))),
        unclean={topic.topic: topic.unclean for topic in _topics(snapshot, looked_at)},
    )
    return forecast(around, len(places), _read(snapshot, looked_at), brokers, is_old=snapshot.as_of().stale)


def _serves(broker: Broker) -> bool:
    """Who sees its port refuse counts it as gone before its session ends, and so does the controller."""
    folders = _folders(broker)
    is_there = broker.state == "online" and not broker.gone_by
    return is_there and (not folders or any(folder.state != "folder_offline" for folder in folders))


def _folders(broker: Broker) -> list[LogDir]:
    return [*([broker.log_dir] if broker.log_dir else ()), *broker.other_log_dirs]


def _topics(snapshot: Snapshot, places: list[Place]) -> Iterator[Topic]:
    names = sorted({place.topic for place in places})
    for start in range(0, len(names), PIECE):
        yield from snapshot.topics(names[start : start + PIECE])


def _read(snapshot: Snapshot, places: list[Place]) -> Iterator[Partition]:
    for start in range(0, len(places), PIECE):
        yield from snapshot.partitions_at(places[start : start + PIECE])
