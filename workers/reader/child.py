"""One search, read to its end or to a limit: what ends it is told in words."""

from __future__ import annotations

import logging
from contextlib import nullcontext

from django.conf import settings

from console.explained import explain
from console.gateway.batch_headers import BatchHeaders
from console.gateway.connection import connection_of
from console.gateway.errors import GatewayError
from console.gateway.record_log import RecordLog
from console.gateway.schema_registry import SchemaRegistry, registry_of
from console.models import Cluster, ConsoleSetting
from console.models import SchemaRegistry as Row
from console.rules.records.progress import Search, is_backward
from console.rules.records.query import WrongQuery
from console.rules.settings.of_console import RECORDS_RATE
from console.searches import store
from workers.reader.backward import Backward
from workers.reader.bounds import TooLong
from workers.reader.exporting import Export
from workers.reader.forward import Forward
from workers.reader.origins import Origins
from workers.reader.pasted import show
from workers.reader.plan import NotThere, spans_of
from workers.reader.raw import RawPart
from workers.reader.run import Over, Run
from workers.reader.wanted import wanted

log = logging.getLogger(__name__)


def read(search: Search) -> None:
    """From where it stands; nothing where another reads for it."""
    progress = store.begin(search)
    if progress is None:
        return
    try:
        rate = ConsoleSetting.number(RECORDS_RATE) or settings.RECORDS_BYTES_PER_S
        run = Run(search, progress, rate, _registry(search.cluster))
        try:
            _read(run)
        finally:
            run.close()
    except store.Overtaken:
        log.warning("search %s is read by another process", search.id)


def _read(run: Run) -> None:
    search = run.search
    if search.pasted is not None:
        _end(run, *show(run, search.pasted))
        return
    try:
        connection = connection_of(Cluster.objects.get(pk=search.cluster))
        if search.query.origin or search.query.isolation == "committed":
            run.origins = Origins(BatchHeaders(connection, search.topic), search, run.progress)
        with (
            Export(search, run.progress) if search.export else nullcontext() as run.export,
            RecordLog(connection, search.topic, committed=search.query.isolation == "committed") as records,
        ):
            _end(run, *_outcome(run, records))
    except Over as over:
        _end(run, over.state, over.reason)
    except GatewayError as error:
        _end(run, "failed", explain(error).detail)


def _registry(cluster: str) -> SchemaRegistry | str | None:
    """None where none is set, words where it cannot be used."""
    row = Row.objects.filter(cluster=cluster).first()
    try:
        return None if row is None else registry_of(row)
    except GatewayError as error:
        return error.message


def _outcome(run: Run, records: RecordLog) -> tuple[str, str]:
    """The state that the search ends in, and why."""
    search = run.search
    try:
        if not run.spans:
            run.spans = {span.partition: span for span in spans_of(search.query, records)}
            run.tell()
        test = wanted(search.query, run.progress)
        reads = Backward if is_backward(search.query) else RawPart if search.raw else Forward
        reads(run, records, test).read()
    except Over as over:
        return over.state, over.reason
    except (NotThere, WrongQuery) as error:
        return "failed", str(error)
    except TooLong:
        return "failed", "In one record the JSON path was at work for longer than it may be. Give a path with fewer “..” and “*”."
    except GatewayError as error:
        return "failed", explain(error).detail
    return "done", ""


def _end(run: Run, state: str, reason: str) -> None:
    run.progress.state, run.progress.reason = state, reason  # type: ignore[assignment]  # one of its states
    run.tell()
