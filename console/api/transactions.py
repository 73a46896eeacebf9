"""Transactions: who is in one, what holds readers of committed transactions back, and ending them by hand."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta
from ninja import Path, Query, Router, Schema
from pydantic import Field

from broker_core.contract.sentences import Level
from console import queries
from console.actions.transactions import abort_transaction, plan_abort, plan_termination, terminate_transaction
from console.api.answers import Listed
from console.api.bearer import Bearer
from console.api.described import View, answers, hiding, saying
from console.api.shapes import Confirm, DryRun, Limit, Number, Offset, Strict, example, number_cursor
from console.queries import cursor as cursor_of
from console.roles import ADMIN
from console.rules.transactions.shown import Abort, Hanging, OneTransaction, PartitionProducers, Termination, Transaction, Unseen
from console.transactions.listing import Wanted, transactions
from console.transactions.one import transaction
from console.transactions.producers import find_hanging, partition_producers

router = Router(tags=["transactions"])
ALL = "/clusters/{cluster_id}/transactions"
ONE = ALL + "/{path:transactional_id}"
OF_PARTITION = "/clusters/{cluster_id}/topics/{name}/partitions/{number}"
TransactionalId = Annotated[str, Path(max_length=32_767)]
Span = Annotated[int, Field(ge=0, lt=10**12, description="milliseconds")]


def asking(view: View) -> View:
    """Marks a route that any token may ask, and that the cluster may refuse to the console."""
    return hiding(saying(s403="The cluster does not let the console ask this.")(view))


class ListedTransactions(Listed[Transaction], kw_only=True):
    """Of transactional ids, with what nobody told of, and what is to be said of all that were asked for."""

    total: int
    unseen: Annotated[list[Unseen], Meta(description="coordinators that did not tell: what they have is in no list")]
    level: Level
    sentence: str
    notes: list[str]


class TransactionQuery(Schema):
    """What may be left out is empty. Values are checked by `Wanted`, which names what is known."""

    q: Annotated[str, Field(max_length=255, description="a part of the transactional id, in any case of letters")] = ""
    state: Annotated[str, Field(max_length=40, description="open (in progress), or one of Kafka's states")] = ""
    producer_id: Annotated[int | None, Field(ge=0, lt=2**63)] = None
    longer_ms: Annotated[
        int | None, Field(ge=0, lt=10**12, description="only transactions that have lasted longer; Kafka 3.8 and later")
    ] = None
    sort: Annotated[str, Field(max_length=40, description="age (the default), transactional_id, state, producer_id or coordinator")] = ""
    order: Annotated[str, Field(max_length=4, description="asc or desc")] = ""


class TransactionAbort(Strict):
    model_config = example(start_offset=1041, dry_run=True)

    start_offset: Annotated[Offset, Field(description="Where the transaction begins in this partition, as its producers tell")]
    dry_run: DryRun = False
    confirm: Confirm = False


class TransactionTermination(Strict):
    model_config = example(dry_run=True)

    dry_run: DryRun = False
    confirm: Confirm = False


@router.get(ALL)
@asking
@answers(ListedTransactions)
def all_transactions(
    request: Any, cluster_id: str, query: Query[TransactionQuery], limit: Limit = 100, cursor: str | None = None
) -> ListedTransactions:
    """Asked of all coordinators now. Those in progress come first, the longest first; only they have an age. A cursor counts rows: in a
    list that changes while it is walked, one may be met twice, or not at all."""
    first = number_cursor(cursor) or 0
    found = transactions(queries.cluster_of(cluster_id), Wanted(**query.dict()).checked(), first=first, size=limit)
    after = first + len(found.rows)
    return ListedTransactions(
        items=found.rows,
        next=cursor_of(str(after)) if found.rows and after < found.total else None,
        total=found.total,
        unseen=found.unseen,
        level=found.level,
        sentence=found.sentence,
        notes=found.notes,
    )


@router.post(ONE + "/termination", auth=Bearer(ADMIN, "end transaction"))
@answers(Termination)
def terminate(request: Any, cluster_id: str, transactional_id: TransactionalId, payload: TransactionTermination) -> Termination:
    """Takes the transactional id from its producer, as a new producer of the same id would: what is in progress is aborted in all its
    partitions, and the old producer is fenced. Without `confirm` 422 with the field `confirm` says what is lost."""
    cluster = queries.cluster_of(cluster_id)
    if payload.dry_run:
        return plan_termination(cluster, transactional_id)
    return terminate_transaction(request.auth, cluster, transactional_id, confirm=payload.confirm)


@router.get(ONE)
@asking
@answers(OneTransaction)
def one_transaction(request: Any, cluster_id: str, transactional_id: TransactionalId) -> OneTransaction:
    """Asked of its coordinator and of its partitions' leaders now; up to 200 partitions are told."""
    return transaction(queries.cluster_of(cluster_id), transactional_id)


@router.get("/clusters/{cluster_id}/hanging-transactions")
@asking
@answers(Hanging)
def hanging(
    request: Any,
    cluster_id: str,
    *,
    topic: Annotated[str, Field(max_length=249)] = "",
    partition: Number | None = None,
    broker: Number | None = None,
    max_timeout_ms: Span | None = None,
) -> Hanging:
    """Searches a topic, a partition of it, or what a broker leads, for transactions that no coordinator has and that nothing was written in
    for longer than a transaction may last: `max_timeout_ms`, or else the brokers' transaction.max.timeout.ms."""
    where = queries.cluster_of(cluster_id)
    return find_hanging(where, topic=topic, partition=partition, broker=broker, longest_ms=max_timeout_ms)


@router.get(OF_PARTITION + "/producers")
@asking
@answers(PartitionProducers)
def producers(request: Any, cluster_id: str, name: str, number: Number) -> PartitionProducers:
    """The producers that the partition's leader remembers, and whether the open transactions are known to a coordinator; up to 200 are
    told, those in a transaction first."""
    return partition_producers(queries.cluster_of(cluster_id), name, number)


@router.post(OF_PARTITION + "/abort-transaction", auth=Bearer(ADMIN, "abort transaction"))
@answers(Abort)
def abort(request: Any, cluster_id: str, name: str, number: Number, payload: TransactionAbort) -> Abort:
    """Ends a transaction in this partition alone, by an abort marker, as `kafka-transactions.sh abort` does: for one that hangs.
    `dry_run` tells what would be written and what is known of the transaction; without `confirm` 422 with the field `confirm` says what
    is at risk."""
    cluster = queries.cluster_of(cluster_id)
    if payload.dry_run:
        return plan_abort(cluster, name, number, payload.start_offset)
    return abort_transaction(request.auth, cluster, name, number, payload.start_offset, confirm=payload.confirm)
