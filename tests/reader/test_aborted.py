"""What is passed over where committed records alone are read: aborted ones are told apart, and all offsets add up."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from broker_core.records.batch import Record, build_batch
from console.gateway.batch_headers import COMMITTED, BatchHeaders
from console.gateway.errors import GatewayError
from console.rules.records.origin import Batch, with_outcomes
from console.rules.records.progress import Progress, Search, Span, sentence
from console.rules.records.query import read_query
from workers.reader import run as limits
from workers.reader.backward import Backward
from workers.reader.forward import Forward
from workers.reader.origins import Origins
from workers.reader.run import Over, Run

NOW_MS = 1_700_000_000_000
END, DECIDED = 13, 11
"""Where the log ends, and where its first open transaction begins."""
GIVEN = (0, 1, 2, 10)
"""What a reader of committed records is given."""
ABORTED = [(2, 3), (1, 6)]


def data(offset: int, count: int, producer_id: int = -1) -> bytes:
    records = [Record(offset + n, NOW_MS, None, b"x", ()) for n in range(count)]
    is_in = producer_id >= 0
    return build_batch(
        records,
        base_offset=offset,
        producer_id=producer_id,
        producer_epoch=0 if is_in else -1,
        base_sequence=0 if is_in else -1,
        transactional=is_in,
        timestamp_ms=NOW_MS,
    )


def marker(offset: int, producer_id: int, *, commit: bool) -> bytes:
    entry = Record(offset, NOW_MS, struct.pack(">hh", 0, int(commit)), struct.pack(">hi", 0, 0), ())
    return build_batch(
        [entry], base_offset=offset, producer_id=producer_id, producer_epoch=0, transactional=True, control=True, timestamp_ms=NOW_MS
    )


LOG = (
    (0, 2, data(0, 3, 1)),
    (3, 4, data(3, 2, 2)),
    (5, 5, marker(5, 1, commit=True)),
    (6, 7, data(6, 2, 1)),
    (8, 8, marker(8, 2, commit=False)),
    (9, 9, marker(9, 1, commit=False)),
    (10, 10, data(10, 1)),
    (11, 12, data(11, 2, 3)),
)
"""Two producers side by side; the first commits, then aborts, the second aborts; one without transactions; one whose is open."""


class Headers(BatchHeaders):
    """Its leader has `LOG`, of which an answer has two batches."""

    def __init__(self) -> None:
        self._known, self.asked = {}, 0

    def _fetch(self, partition: int, offset: int, size: int, isolation: int) -> tuple[bytes, list[tuple[int, int]]]:
        self.asked += 1
        end = DECIDED if isolation == COMMITTED else END
        found = [(first, last, raw) for first, last, raw in LOG if last >= offset and last < end][:2]
        within = [one for one in ABORTED if found and one[1] <= found[-1][1] and {2: 8, 1: 9}[one[0]] >= offset]
        return b"".join(raw for _, _, raw in found), within if isolation == COMMITTED else []


class Message:
    def __init__(self, offset: int) -> None:
        self._offset = offset

    def __len__(self) -> int:
        return 1

    def __getattr__(self, name: str) -> Any:
        told = {"offset": self._offset, "partition": 0, "timestamp": (1, NOW_MS + self._offset), "value": b"x", "leader_epoch": 0}
        return lambda: told.get(name)


class Log:
    def seek(self, positions: dict[int, int]) -> None:
        self._at = positions[0]

    def batches(self) -> Any:
        yield [Message(offset) for offset in GIVEN if offset >= self._at]


@pytest.fixture(autouse=True)
def apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody is told, and nobody stops it."""
    monkeypatch.setattr(limits, "TELL_S", float("inf"))
    monkeypatch.setattr(limits, "STOP_LOOK_S", float("inf"))


def new(headers: BatchHeaders, first: int = 0, last: int = DECIDED, **query: str) -> Run:
    asked = read_query({"isolation": "committed", "count": "500", **query})
    search = Search(id="x", cluster="local", topic="t", query=asked, by="somebody", asked_ms=0)
    run = Run(search, Progress(state="done"), 10**9)
    at = last if asked.start == "newest" else first
    run.spans = {0: Span(partition=0, first=first, last=last, at=at)}
    run.progress.spans = list(run.spans.values())
    run.origins = Origins(headers, search, run.progress)
    return run


def read(run: Run) -> Span:
    log: Any = Log()
    try:
        (Backward if run.search.query.start == "newest" else Forward)(run, log, None).read()
    except Over:
        pass
    finally:
        run.close()
    return run.spans[0]


@pytest.mark.parametrize("start", ["oldest", "newest"])
@pytest.mark.parametrize("origin", ["", "1"])
@pytest.mark.parametrize(("first", "wanted"), [(0, (4, 4, 3)), (4, (1, 3, 3)), (7, (1, 1, 2)), (10, (1, 0, 0))])
def test_aborted_records_are_counted_apart(start: str, origin: str, first: int, wanted: tuple[int, int, int], monkeypatch: Any) -> None:
    monkeypatch.setattr(Headers, "close", lambda _: None)
    run = new(Headers(), first, start=start, **({"origin": origin} if origin else {}))
    span = read(run)
    assert (span.records, span.aborted, span.empty) == wanted
    assert sum(wanted) == DECIDED - first
    said = sentence(run.search.query, run.progress)
    assert ("of aborted transactions left out" in said) == (wanted[1] > 0)
    assert run.progress.control == (wanted[2] if origin else 0)
    assert not run.progress.unsorted


def test_what_could_not_be_told_apart_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    class Away(Headers):
        def _fetch(self, partition: int, offset: int, size: int, isolation: int) -> tuple[bytes, list[tuple[int, int]]]:
            if self.asked:
                raise GatewayError("NOT_REACHED", "the leader is away")
            return super()._fetch(partition, offset, size, isolation)

    monkeypatch.setattr(Headers, "close", lambda _: None)
    run = new(Away(), start="oldest")
    span = read(run)
    assert (span.records, span.aborted, span.empty) == (4, 2, 5)
    said = sentence(run.search.query, run.progress)
    assert "at least 2 records of aborted transactions left out" in said
    assert "5 offsets hold no record (control records, aborted or compacted: the leader is away)" in said


def test_who_reads_all_is_told_what_became_of_each_transaction() -> None:
    headers = Headers()
    found = {offset: headers.at(0, offset) for offset in range(END)}
    outcomes = [batch and batch.outcome for batch in found.values()]
    was, gone = "committed", "aborted"
    assert outcomes == [was, was, was, gone, gone, was, gone, gone, gone, gone, None, None, None]


def test_an_aborted_batch_that_compaction_emptied_has_no_records() -> None:
    batch = Batch(base_offset=5, last_offset=9, timestamp_ms=None, records=0, producer_id=1, transactional=True)
    (found,) = with_outcomes([batch], [(1, 2)])
    assert (found.outcome, found.left_out(0, 20)) == ("aborted", 0)
