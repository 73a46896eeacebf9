"""The list of transactional ids: every coordinator lists its own, and only what a page shows is described.

A coordinator's list has no order, pages or ages: so all of it that the filters leave is read, by filters that the brokers apply. Ages are
described of at most `AGED_MOST` transactions in progress; where there are more, the list stands in order of the ids, and says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import NamedTuple

from console.clock import now_ms
from console.gateway.connection import connection_of
from console.gateway.errors import GatewayError
from console.gateway.kafka_cluster import KafkaCluster
from console.models import Cluster
from console.queries import BadQuery, known_choice, page_of
from console.rules.transactions.shown import Transaction, Transactions, Unseen
from console.rules.transactions.told import OPEN, STATES, Coordinators, Description, Listing
from console.rules.transactions.words import late_words, level_of, list_verdict, narrowed_verdict, overdue_ms
from console.rules.words import whole

PAGE_ROWS = 50
AGED_MOST = 500
IN_PROGRESS = "open"
CHOICES = {
    "state": (IN_PROGRESS, *STATES),
    "sort": ("age", "transactional_id", "state", "producer_id", "coordinator"),
    "order": ("asc", "desc"),
}
FALLING = ("age",)
"""Columns whose usual order is from the largest down."""
LEADERLESS = "it has no leader"
UNSURE = "it does not say that it coordinates them now"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is wanted of the list; empty where it does not matter. `q` is a part of the id in any case of letters, `longer_ms` leaves
    transactions that have lasted longer."""

    q: str = ""
    state: str = ""
    producer_id: int | None = None
    longer_ms: int | None = None
    sort: str = ""
    order: str = ""

    @property
    def column(self) -> str:
        return self.sort or "age"

    @property
    def falling(self) -> bool:
        return self.column in FALLING if not self.order else self.order == "desc"

    @property
    def states(self) -> tuple[str, ...]:
        return OPEN if self.state == IN_PROGRESS else (self.state,) if self.state else ()

    @property
    def is_narrowed(self) -> bool:
        """Whether something that is in progress may be left out."""
        return bool(self.q) or self.producer_id is not None or self.longer_ms is not None or self.state not in ("", IN_PROGRESS)

    def asked(self) -> dict[str, str]:
        """What is not left out, as an address has it."""
        return {one.name: str(value) for one in fields(self) if (value := getattr(self, one.name)) not in ("", None)}

    def checked(self) -> Wanted:
        """Itself; `BadQuery` for a value that is none of those known."""
        for name, choices in CHOICES.items():
            known_choice(name, getattr(self, name), choices)
        if self.order and not self.sort:
            raise BadQuery("order", "order says which way sort goes: give sort, too.")
        return self


class Gathered(NamedTuple):
    """All rows that coordinators told, and which coordinators did not."""

    rows: list[Listing]
    unseen: list[Unseen]
    coordinators: Coordinators


def gather(kafka: KafkaCluster, *, states: Sequence[str] = (), producer_ids: Sequence[int] = (), longer_ms: int | None = None) -> Gathered:
    """`ClusterUnreachable` or a refusal where no coordinator told, though there are some. What a broker did not say it coordinates, both
    before and after it told, is unseen."""
    coordinators = kafka.transaction_coordinators()
    before = kafka.lacking_coordinators(coordinators)
    told = kafka.transactions(coordinators.leaders, states=states, producer_ids=producer_ids, longer_ms=longer_ms)
    failed = {broker: one for broker, one in told.items() if isinstance(one, GatewayError)}
    if failed and len(failed) == len(told):
        raise next(iter(failed.values()))
    unseen = [Unseen(broker, coordinators.of(broker), str(error)) for broker, error in failed.items()]
    if leaderless := coordinators.of(None):
        unseen.append(Unseen(None, leaderless, LEADERLESS))
    for broker, partitions in kafka.lacking_coordinators(coordinators).items():
        before[broker] = sorted({*partitions, *before.get(broker, ())})
    unseen += [Unseen(broker, partitions, UNSURE) for broker, partitions in before.items() if broker not in failed]
    return Gathered([row for one in told.values() if not isinstance(one, GatewayError) for row in one], unseen, coordinators)


def describe(kafka: KafkaCluster, rows: Iterable[Listing]) -> dict[str, Description | GatewayError]:
    """Each by the broker that listed it."""
    by_broker: dict[int, list[str]] = {}
    for row in rows:
        by_broker.setdefault(row.coordinator, []).append(row.transactional_id)
    return kafka.describe_transactions(by_broker) if by_broker else {}


def transactions(cluster: Cluster, wanted: Wanted, *, first: int = 0, page: int | None = None, size: int = PAGE_ROWS) -> Transactions:
    """`size` rows from `first` on, or (`page`, from 1 on) the nearest page there is. `GatewayError` as of the gateway."""
    kafka = KafkaCluster(connection_of(cluster))
    producer_ids = () if wanted.producer_id is None else (wanted.producer_id,)
    gathered = gather(kafka, states=wanted.states, producer_ids=producer_ids, longer_ms=wanted.longer_ms)
    text = wanted.q.lower()
    rows = [row for row in gathered.rows if text in row.transactional_id.lower()]
    in_progress = [row for row in rows if row.state in OPEN]
    is_aged = len(in_progress) <= AGED_MOST
    told = describe(kafka, in_progress) if is_aged else {}
    at_ms = now_ms()
    ordered = _ordered(rows, wanted, _ages(told, at_ms) if is_aged else None)
    if page is not None:
        first = (page_of(range(len(ordered)), page, size)[1] - 1) * size
    on_page = ordered[first : first + size]
    told |= describe(kafka, (row for row in on_page if row.transactional_id not in told))
    open_rows = [shown(row, told.get(row.transactional_id), at_ms) for row in in_progress] if is_aged else []
    never = not gathered.coordinators.partitions
    level, sentence = (
        narrowed_verdict(len(rows), gathered.unseen)
        if wanted.is_narrowed
        else list_verdict(len(in_progress), open_rows, gathered.unseen, never=never)
    )
    return Transactions(
        rows=[shown(row, told.get(row.transactional_id), at_ms) for row in on_page],
        total=len(rows),
        first=first,
        unseen=gathered.unseen,
        level=level,
        sentence=sentence,
        notes=[]
        if is_aged or wanted.column != "age"
        else [f"More than {whole(AGED_MOST)} are in progress: they stand in order of their ids, not of their ages."],
    )


def _ages(told: Mapping[str, Description | GatewayError], at_ms: int) -> dict[str, int]:
    known = {name: one.started_ms for name, one in told.items() if isinstance(one, Description)}
    return {name: at_ms - started for name, started in known.items() if started is not None}


def _ordered(rows: Sequence[Listing], wanted: Wanted, ages: Mapping[str, int] | None) -> list[Listing]:
    """Of equal ones in order of the ids; those without an age stand last in either order, those in progress before the others."""
    found = sorted(rows, key=lambda row: row.transactional_id)
    if wanted.column != "age":
        return sorted(found, key=lambda row: getattr(row, wanted.column), reverse=wanted.falling)
    known, turned = ages or {}, -1 if wanted.falling else 1
    return sorted(
        found, key=lambda row: (row.state not in OPEN, row.transactional_id not in known, turned * known.get(row.transactional_id, 0))
    )


def shown(row: Listing, told: Description | GatewayError | None, at_ms: int) -> Transaction:
    """The row with what its coordinator says of it; the description is the younger of the two."""
    if not isinstance(told, Description):
        return Transaction(
            transactional_id=row.transactional_id,
            state=row.state,
            producer_id=row.producer_id,
            coordinator=row.coordinator,
            level="unknown" if told is not None else level_of(row.state, None),
            note="" if told is None else f"not described: {told}",
        )
    is_open = told.state in OPEN
    started = told.started_ms if is_open else None
    age = None if started is None else max(at_ms - started, 0)
    late = overdue_ms(told.state, age, told.timeout_ms)
    return Transaction(
        transactional_id=row.transactional_id,
        state=told.state,
        producer_id=told.producer_id,
        coordinator=row.coordinator,
        producer_epoch=told.epoch,
        timeout_ms=told.timeout_ms,
        started_ms=started,
        age_ms=age,
        partitions=len(told.places) if is_open else 0,
        level=level_of(told.state, late),
        note=late_words(told.state, late),
    )
