"""Records: searches, which another process reads, and what they found."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from msgspec import Meta, Struct, ValidationError, convert
from msgspec.json import schema_components
from ninja import Query as FromQuery
from ninja import Router, Status
from pydantic import Field, WithJsonSchema

from console import queries
from console.actions.offsets import AtTime
from console.actions.one_record import raw_part
from console.actions.record_deletion import delete_records, delete_topic_records, plan_deletion, plan_topic_deletion
from console.actions.records import await_progress, export_file, export_records, go_on, search_or_fail, search_records
from console.actions.writing import placeholders, write_records
from console.api.answers import Listed
from console.api.bearer import Bearer
from console.api.described import File, answers, hiding
from console.api.shapes import Confirm, Limit, RecordDeletion, Strict, TopicRecordDeletion, listed, number_cursor
from console.errors import Invalid
from console.queries import BadQuery
from console.roles import ADMIN, OPERATOR, VIEWER
from console.rules.records.decoding import CHOICES
from console.rules.records.deleting import Deletion, Gone, Unread, risks
from console.rules.records.deleting import sentence as sentence_of_deletion
from console.rules.records.progress import Found, Search, Span, State, in_order, next_cursor, sentence
from console.rules.records.query import COUNT, COUNT_MAX, TEXT_CHARS_MAX, Isolation, Order, Query, Start, Where, check
from console.rules.records.writing import RECORDS_MAX, NewRecord, WrongRecord, repeated
from console.searches import files, store
from console.searches.export import as_csv, ndjson

router = Router(tags=["records"])
ONE_RECORD = schema_components([NewRecord])[1]["NewRecord"]
"""What a record to be written has, for the description: its fields are read by `convert`."""
IN_TOPIC = "/clusters/{cluster_id}/topics/{name}"
ONE_OF_TOPIC = IN_TOPIC + "/partitions/{number}/records/{offset}"
ONE = "/clusters/{cluster_id}/searches/{search_id}"
WAIT_S = 10.0
Text = Annotated[str, Field(max_length=TEXT_CHARS_MAX)]
FORMATS = f"How it is shown: one of {', '.join(CHOICES)}"


class SearchState(Struct):
    """How far a search is. Offsets of a partition are read from `first` to `last` (exclusive; null: without an end), forward below `at`,
    with `start` `newest` backward from `at` on; `aborted` of them hold records of aborted transactions that were
    left out, `empty` no record, `lost` were deleted before they could be read."""

    id: str
    topic: str
    state: State
    reason: Annotated[str, Meta(description="why it ended, where that is not its end")]
    sentence: str
    found: int
    spans: list[Span]
    read_ms: int
    file_bytes: Annotated[int, Meta(description="of an export: what is written; 0 of a search")]
    next: Annotated[str | None, Meta(description="`at` of a search that goes on behind what was found; null: there is no more, or not yet")]


class FoundNow(Struct):
    """A search that was waited for, and all that it found."""

    search: SearchState
    items: list[Found]


class NewSearch(Strict):
    """As the parameters of `GET …/records`."""

    model_config = Strict.model_config | {
        "json_schema_extra": {"examples": [{"start": "oldest", "text": "order-17", "where": "value", "count": 100}]}
    }

    start: Start = "newest"
    offset: Annotated[int, Field(ge=0, lt=2**63)] | None = None
    time: Text = Field("", description="ISO, UTC: from this time on", examples=["2026-01-31T12:00"])
    until: Text = Field("", description="ISO, UTC: up to this time")
    partition: Annotated[int, Field(ge=0, lt=2**31)] | None = None
    count: Annotated[int, Field(ge=1, le=COUNT_MAX)] = COUNT
    text: Text = Field("", description="What the bytes contain; with `regex` a pattern of RE2")
    regex: bool = False
    case: bool = True
    where: Where = "any"
    header: Text = Field("", description="name, or name=value")
    path: Text = Field("", description="A JSONPath (RFC 9535) into the value that leads to something", examples=["$.order.status"])
    equals: Text = Field("", description="What the path leads to, as JSON or as a text")
    key: Text = Field("auto", description=FORMATS)
    value: Text = Field("auto", description=FORMATS)
    order: Order = "found"
    isolation: Isolation = Field(
        "uncommitted", description="committed: without records of aborted transactions, and up to where open ones begin"
    )
    origin: bool = Field(False, description="Tell who wrote each record: producer, epoch, sequence, transaction; and control records")
    at: Text = Field("", description="`next` of the search before")


class NewExport(NewSearch):
    """A search as `POST …/searches` takes it, whose `count` and `order` are not looked at, and the kind of the file."""

    model_config = Strict.model_config | {"json_schema_extra": {"examples": [{"start": "oldest", "text": "order-17", "as": "csv"}]}}

    kind: Literal["ndjson", "csv"] = Field("ndjson", alias="as")


class NewRecords(Strict):
    """Up to 1000 records; with `count` each is repeated so often, with `${n}`, `${uuid}`, `${now}`, `${now_ms}` in its texts filled in."""

    model_config = Strict.model_config | {
        "json_schema_extra": {"examples": [{"records": [{"key": "a", "value": {"n": 1}, "headers": {"source": "test"}, "partition": 0}]}]}
    }

    records: Annotated[list[Annotated[dict[str, Any], WithJsonSchema(ONE_RECORD)]], Field(min_length=1, max_length=RECORDS_MAX)]
    count: Annotated[int, Field(ge=1, le=RECORDS_MAX)] | None = None
    confirm: Confirm = False


class WrittenRecord(Struct):
    """Where a record is; null and `error` where it was not written, or was not acknowledged in time."""

    partition: int | None
    offset: int | None
    error: str


class WrittenRecords(Struct):
    written: int
    records: list[WrittenRecord]


class RecordsDeleted(Struct):
    """The log of the partition: where it begins now (with `dry_run`, where it would), and how many offsets go."""

    first: int
    end: int
    offsets: int
    done: bool


class TopicRecordsDeleted(Struct):
    """Each partition with what goes of it (`done`: has gone), and the groups that had not read some of that."""

    partitions: list[Gone]
    offsets: int
    about_bytes: Annotated[int | None, Meta(description="taking all records for equally large; null: not available")]
    unread: Annotated[list[Unread] | None, Meta(description="null: not known")]
    more_groups: Annotated[int, Meta(description="so many groups more read the topic and were not looked at")]
    sentence: str
    done: bool


def _query(payload: NewSearch) -> Query:
    return check(Query(**payload.dict()))


def _state(search: Search) -> SearchState:
    progress = store.look(search)
    return SearchState(
        id=search.id,
        topic=search.topic,
        state=progress.state,
        reason=progress.reason,
        sentence=sentence(search.query, progress),
        found=progress.found,
        spans=progress.spans,
        read_ms=progress.read_ms,
        file_bytes=progress.file_bytes,
        next=next_cursor(search.query, progress),
    )


@router.get(IN_TOPIC + "/records")
@answers(FoundNow)
def records(request: Any, cluster_id: str, name: str, payload: FromQuery[NewSearch]) -> FoundNow:
    """Searches and waits up to 10 s. Where the state is still `running`, ask for the search by its id."""
    if payload.start == "live":
        raise BadQuery("start", "Live records have no end to wait for: ask for a search by POST.")
    search = search_records(request.auth, queries.cluster_of(cluster_id), name, _query(payload))
    await_progress(search, WAIT_S)
    return FoundNow(_state(search), in_order(store.found(search, 0, COUNT_MAX), search.query.order))


@router.get(ONE_OF_TOPIC + "/value")
@hiding
@answers(File((files.BYTES,)))
def value_of(request: Any, cluster_id: str, name: str, number: int, offset: int) -> HttpResponseBase:
    """A record's value as it was written, whole. 403 where some of it is hidden from the token's role, 404 of a tombstone."""
    return files.attachment(*raw_part(request.auth, queries.cluster_of(cluster_id), name, (number, offset), "value"), once=True)


@router.get(ONE_OF_TOPIC + "/key")
@hiding
@answers(File((files.BYTES,)))
def key_of(request: Any, cluster_id: str, name: str, number: int, offset: int) -> HttpResponseBase:
    """A record's key as it was written, whole. 403 where some of it is hidden from the token's role, 404 where it has none."""
    return files.attachment(*raw_part(request.auth, queries.cluster_of(cluster_id), name, (number, offset), "key"), once=True)


@router.post(IN_TOPIC + "/searches", auth=Bearer(VIEWER, "read records"), response={202: Any})
@answers(s202=SearchState)
def begin(request: Any, cluster_id: str, name: str, payload: NewSearch) -> Status[Any]:
    """Begins a search, which is kept for an hour after it was last looked at; a person's or token's third at a time stops their oldest."""
    return Status(202, _state(search_records(request.auth, queries.cluster_of(cluster_id), name, _query(payload))))


@router.post(IN_TOPIC + "/exports", auth=Bearer(VIEWER, "export records"), response={202: Any})
@answers(s202=SearchState)
def export(request: Any, cluster_id: str, name: str, payload: NewExport) -> Status[Any]:
    """Begins a search whose findings go into a file, from the oldest on: at most 1 000 000 records and about 1 GB, kept for a day. It is
    looked at, stopped and resumed as other searches are; what is written is at `…/searches/{id}/file`."""
    fields = payload.dict()
    kind = fields.pop("kind")
    return Status(202, _state(export_records(request.auth, queries.cluster_of(cluster_id), name, check(Query(**fields)), kind)))


@router.get(ONE + "/file")
@answers(File(tuple(media.partition(";")[0] for media in files.MEDIA.values())))
def export_of(request: Any, cluster_id: str, search_id: str) -> HttpResponseBase:
    """What is written of an export's file: all of it once the export is over. 404 while nothing was found, and a day after."""
    one = search_or_fail(request.auth, queries.cluster_of(cluster_id), search_id)
    return files.attachment(*export_file(one), files.MEDIA[one.export], f"{one.topic}.{one.export}")


@router.get(ONE)
@answers(SearchState)
def search(request: Any, cluster_id: str, search_id: str) -> SearchState:
    return _state(search_or_fail(request.auth, queries.cluster_of(cluster_id), search_id))


@router.post(ONE + "/stop", auth=Bearer(VIEWER, "stop a search"))
@answers(SearchState)
def stop(request: Any, cluster_id: str, search_id: str) -> SearchState:
    found = search_or_fail(request.auth, queries.cluster_of(cluster_id), search_id)
    store.stop(found.id, f"{request.auth.name} stopped it.")
    await_progress(found, 1.0)
    return _state(found)


@router.post(ONE + "/resume", auth=Bearer(VIEWER, "go on with a search"))
@answers(SearchState)
def resume(request: Any, cluster_id: str, search_id: str) -> SearchState:
    """Reads on where a search was stopped, ran out of time, failed or was interrupted; nothing is lost or found twice."""
    found = search_or_fail(request.auth, queries.cluster_of(cluster_id), search_id)
    go_on(found)
    return _state(found)


@router.get(ONE + "/records")
@answers(Listed[Found])
def found(request: Any, cluster_id: str, search_id: str, limit: Limit = 100, cursor: str | None = None) -> Listed[Found]:
    """In the order in which they were found. All of them as lines of JSON or as a table: `…/records.ndjson`, `…/records.csv`."""
    one = search_or_fail(request.auth, queries.cluster_of(cluster_id), search_id)
    first = number_cursor(cursor) or 0
    rows = list(enumerate(store.found(one, first, limit + 1), first + 1))
    page = listed(rows, limit, lambda row: str(row[0]))
    return Listed([row for _, row in page.items], page.next)


@router.get(ONE + "/records.ndjson")
@answers(File(("application/x-ndjson",)))
def as_lines(request: Any, cluster_id: str, search_id: str) -> HttpResponse:
    """All that was found so far, a record a line."""
    return _file(request, cluster_id, search_id, "application/x-ndjson", ndjson)


@router.get(ONE + "/records.csv")
@answers(File(("text/csv",)))
def as_table(request: Any, cluster_id: str, search_id: str) -> HttpResponse:
    """All that was found so far, as a table."""
    return _file(request, cluster_id, search_id, "text/csv; charset=utf-8", as_csv)


def _file(request: Any, cluster_id: str, search_id: str, media: str, write: Any) -> HttpResponse:
    one = search_or_fail(request.auth, queries.cluster_of(cluster_id), search_id)
    rows = in_order(store.found(one, 0, COUNT_MAX), one.query.order)
    return HttpResponse("".join(write(rows)), content_type=media)


@router.post(IN_TOPIC + "/records", auth=Bearer(OPERATOR, "write records"))
@answers(WrittenRecords)
def write(request: Any, cluster_id: str, name: str, payload: NewRecords) -> WrittenRecords:
    """Each record has `key`, `value` (null: a tombstone; what is no text is written as JSON), `headers`, `partition` and `encoding`
    (`text` or `base64`), all optional. An internal topic wants `confirm`."""
    try:
        records = convert(payload.records, list[NewRecord])
        if payload.count is not None:
            records = [one for record in records for one in repeated(record, payload.count, placeholders)]
    except ValidationError as error:
        raise Invalid("records", str(error)) from error
    except WrongRecord as error:
        raise Invalid(error.field, str(error)) from error
    found = write_records(request.auth, queries.cluster_of(cluster_id), name, records, confirm=payload.confirm)
    return WrittenRecords(sum(one.offset is not None for one in found), [WrittenRecord(*one) for one in found])


@router.post(IN_TOPIC + "/partitions/{number}/delete-records", auth=Bearer(ADMIN, "delete records"))
@answers(RecordsDeleted)
def delete(request: Any, cluster_id: str, name: str, number: int, payload: RecordDeletion) -> RecordsDeleted:
    """Deletes, for good, what lies below an offset of one partition. `dry_run` only counts; without `confirm` 422 with the field `confirm`
    says how much would go. A cluster that does not serve DeleteRecords says so."""
    cluster = queries.cluster_of(cluster_id)
    if payload.dry_run:
        return RecordsDeleted(*plan_deletion(cluster, name, number, payload.before), done=False)
    return RecordsDeleted(*delete_records(request.auth, cluster, name, number, payload.before, confirm=payload.confirm), done=True)


@router.post(IN_TOPIC + "/delete-records", auth=Bearer(ADMIN, "delete records"))
@answers(TopicRecordsDeleted)
def delete_of_topic(request: Any, cluster_id: str, name: str, payload: TopicRecordDeletion) -> TopicRecordsDeleted:
    """Deletes, for good, what is older than a time or lies below an offset, of several partitions. `dry_run` tells what would go and which
    groups have not read it; without `confirm` 422 says so in words. A partition that refuses has its `error` and stops no other."""
    cluster = queries.cluster_of(cluster_id)
    if payload.before is not None and payload.time is not None:
        raise Invalid("time", "Give an offset or a time, not both.")
    before = AtTime(round(payload.time.timestamp() * 1000)) if payload.time is not None else payload.before
    spans = None if payload.partitions is None else [(number, number) for number in payload.partitions]
    if payload.dry_run:
        return _deleted(plan_topic_deletion(cluster, name, spans, before), done=False)
    return _deleted(delete_topic_records(request.auth, cluster, name, spans, before, confirm=payload.confirm), done=True)


def _deleted(plan: Deletion, *, done: bool) -> TopicRecordsDeleted:
    said = sentence_of_deletion(plan.partitions) if done else " ".join(risks(plan))
    return TopicRecordsDeleted(plan.partitions, plan.offsets, plan.about_bytes, plan.unread, plan.more_groups, said, done)
