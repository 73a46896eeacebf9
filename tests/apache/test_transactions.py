"""Transactions: whole lives of producers, with what is right and wrong at each step."""

from __future__ import annotations

import time
from typing import Any

import pytest

from broker_core.errors import ErrorCode
from broker_core.protocol.api import ApiKey
from broker_core.records.batch import iter_headers, read_records
from tests.apache.comparison import Case, Pair, Script
from tests.apache.side import ANSWER_SECONDS, Side, batch

pytestmark = pytest.mark.spec("G5")

FOR_THE_MOMENT = {
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.CONCURRENT_TRANSACTIONS,
}
NEVER_ENDS_SECONDS = 3.0
"""How long both sides are watched where neither ends a transaction."""


class Writer:
    """One transactional producer on one side."""

    def __init__(self, side: Side, name: str) -> None:
        self.side = side
        self.id = f"id-{name}"
        self.topic = f"topic-{name}"
        self.group = f"group-{name}"
        self.producer_id, self.epoch = -1, -1
        self.side.create(self.topic, 2)
        for key, kind in ((self.id, 1), (self.group, 0)):
            side.until(
                lambda key=key, kind=kind: side.raw(ApiKey.FIND_COORDINATOR, 1, {"key": key, "key_type": kind}).error_code,
                lambda code: code == ErrorCode.NONE,
            )

    def ask(self, key: ApiKey, version: int, payload: dict[str, Any]) -> Any:
        """Again while the coordinator is not ready, or is at the end of the transaction before."""
        deadline = time.monotonic() + ANSWER_SECONDS
        while True:
            answer = self.side.raw(key, version, payload)
            if _code(answer) not in FOR_THE_MOMENT or time.monotonic() > deadline:
                return answer
            time.sleep(0.02)

    def init(self, *, version: int = 4, timeout_ms: int = 60_000, said: tuple[int, int] = (-1, -1)) -> Any:
        fields = {"transactional_id": self.id, "transaction_timeout": timeout_ms, "producer_id": said[0], "producer_epoch": said[1]}
        answer = self.ask(ApiKey.INIT_PRODUCER_ID, version, fields)
        if answer.error_code == ErrorCode.NONE:
            self.producer_id, self.epoch = answer.producer_id, answer.producer_epoch
        return self.side.plain(answer)

    def add(self, *partitions: int, version: int = 3, topic: str | None = None, **more: Any) -> Any:
        who = {"transactional_id": self.id, "producer_id": self.producer_id, "producer_epoch": self.epoch} | more
        rows = {"topics": [{"name": topic or self.topic, "partitions": list(partitions)}]}
        old = {f"v3_and_below_{name}": value for name, value in (who | rows).items()}
        asked = old | {"transactions": [who | rows | {"verify_only": more.get("verify_only", False)}]}
        return self.side.plain(self.ask(ApiKey.ADD_PARTITIONS_TO_TXN, version, asked))

    def add_offsets(self, *, version: int = 3, **more: Any) -> Any:
        who = {"transactional_id": self.id, "producer_id": self.producer_id, "producer_epoch": self.epoch, "group_id": self.group}
        return self.side.plain(self.ask(ApiKey.ADD_OFFSETS_TO_TXN, version, who | more))

    def commit_offset(self, offset: int, *, version: int = 3, **more: Any) -> Any:
        who = {"transactional_id": self.id, "producer_id": self.producer_id, "producer_epoch": self.epoch, "group_id": self.group}
        row = {"partition_index": 0, "committed_offset": offset, "committed_leader_epoch": -1, "committed_metadata": "words"}
        member = {"generation_id": -1, "member_id": "", "group_instance_id": None}
        asked = who | member | {"topics": [{"name": self.topic, "partitions": [row]}]} | more
        return self.side.plain(self.ask(ApiKey.TXN_OFFSET_COMMIT, version, asked))

    def committed(self) -> Any:
        asked = {"group_id": self.group, "require_stable": False, "topics": [{"name": self.topic, "partition_indexes": [0]}]}
        return self.side.plain(self.ask(ApiKey.OFFSET_FETCH, 7, asked))

    def write(self, *words: str, sequence: int = 0, version: int = 9, partition: int = 0, **more: Any) -> Any:
        fields = {"producer_id": self.producer_id, "producer_epoch": self.epoch, "base_sequence": sequence, "transactional": True} | more
        rows = [{"name": self.topic, "partition_data": [{"index": partition, "records": batch(*words, **fields)}]}]
        payload = {"transactional_id": self.id, "acks": -1, "timeout": 10_000, "topic_data": rows}
        return self.side.ask(ApiKey.PRODUCE, version, payload)

    def end(self, *, commit: bool = True, version: int = 3, **more: Any) -> Any:
        who = {"transactional_id": self.id, "producer_id": self.producer_id, "producer_epoch": self.epoch, "committed": commit}
        return self.side.plain(self.ask(ApiKey.END_TXN, version, who | more))

    def ended(self, *, commit: bool = True, within_seconds: float = ANSWER_SECONDS) -> Any:
        """Ended and complete, if it becomes so."""
        answer = self.end(commit=commit)
        self.side.until(self.state, lambda state: state.startswith("Complete"), within_seconds)
        return answer

    def state(self) -> str:
        answer = self.ask(ApiKey.DESCRIBE_TRANSACTIONS, 0, {"transactional_ids": [self.id]})
        return str(answer.transaction_states[0].transaction_state)

    def described(self) -> Any:
        """Kafka remembers when a transaction began that is long over, until the coordinator moves."""
        answer = self.side.ask(ApiKey.DESCRIBE_TRANSACTIONS, 0, {"transactional_ids": [self.id, "nobody"]})
        for row in answer["transaction_states"]:
            if row["transaction_state"] == "Empty":
                del row["transaction_start_time"]
            for topic in row["topics"]:
                topic["partitions"].sort()
        return answer

    def producers(self) -> Any:
        answer = self.side.ask(ApiKey.DESCRIBE_PRODUCERS, 0, {"topics": [{"name": self.topic, "partition_indexes": [0]}]})
        return answer["topics"][0]["partitions"][0]["active_producers"]

    def read(self, isolation: int = 1) -> Any:
        """With what is in the batches but the times of markers."""
        answer = self.side.fetch(self.topic, isolation_level=isolation)
        row = answer["responses"][0]["partitions"][0]
        data = bytes.fromhex(row["records"] or "")
        row["records"] = [
            [
                (header.base_offset, header.producer_epoch, header.base_sequence, header.attributes, header.leader_epoch),
                *((record.key, record.value) for record in read_records(data, position, header)),
            ]
            for position, header in iter_headers(data)
        ]
        return answer

    def mark(
        self, *, commit: bool = False, epoch: int | None = None, coordinator_epoch: int = 0, partitions: tuple[int, ...] = (0,)
    ) -> Any:
        marker = {
            "producer_id": self.producer_id,
            "producer_epoch": self.epoch,
            "transaction_result": commit,
            "topics": [{"name": self.topic, "partition_indexes": list(partitions)}],
            "coordinator_epoch": coordinator_epoch,
        }
        return self.side.ask(ApiKey.WRITE_TXN_MARKERS, 1, {"markers": [marker]})


def _code(answer: Any) -> int:
    for rows in ("results_by_topic_v3_and_below",):
        if hasattr(answer, rows):
            return int(getattr(answer, rows)[0].results_by_partition[0].partition_error_code)
    if hasattr(answer, "results_by_transaction"):
        return int(answer.results_by_transaction[0].topic_results[0].results_by_partition[0].partition_error_code)
    if hasattr(answer, "topics"):
        return int(answer.topics[0].partitions[0].error_code)
    if hasattr(answer, "transaction_states"):
        return int(answer.transaction_states[0].error_code)
    return int(answer.error_code)


def life(commit: bool) -> Script:
    def script(side: Side) -> Any:
        writer = writers(side)
        steps = [writer.init(), writer.add(0, 1), writer.write("a", "b"), writer.write("c", sequence=2), writer.described()]
        steps += [writer.read(), writer.read(0), writer.producers(), writer.ended(commit=commit), writer.described()]
        return [*steps, writer.read(), writer.read(0), writer.producers()]

    return script


def next_one(side: Side) -> Any:
    """The second transaction of a producer goes on with its numbers."""
    writer = writers(side)
    steps = [writer.init(), writer.add(0), writer.write("a"), writer.ended(commit=False)]
    return [*steps, writer.add(0), writer.write("b", sequence=1), writer.ended(), writer.read(), writer.described()]


def ends(side: Side) -> Any:
    """Every end after every end, and of nothing."""
    writer = writers(side)
    steps = [writer.init(), writer.end(commit=True), writer.end(commit=False)]
    for commit in (True, False):
        steps += [writer.add(0), writer.ended(commit=commit), writer.end(commit=commit), writer.end(commit=not commit)]
    return steps


def wrong_producers(side: Side) -> Any:
    writer = writers(side)
    steps = [writer.init()]
    for version in (0, 1, 2, 3):
        wrong: tuple[dict[str, int], ...] = ({"producer_epoch": 5}, {"producer_epoch": -1}, {"producer_id": 1 << 40})
        for more in wrong:
            steps += [writer.add(0, version=version, **more), writer.add_offsets(version=version, **more)]
            steps += [writer.end(version=version, **more)]
    return steps


def unknown_ids(side: Side) -> Any:
    writer = writers(side)
    writer.init()
    nobody = {"transactional_id": f"{writer.id}-of-nobody"}
    return [writer.add(0, **nobody), writer.add_offsets(**nobody), writer.end(**nobody), writer.write("a")]


def empty_ids(side: Side) -> Any:
    writer = writers(side)
    writer.init()
    return [writer.add(0, transactional_id=""), writer.add_offsets(transactional_id=""), writer.end(transactional_id="")]


def unknown_partitions(side: Side) -> Any:
    writer = writers(side)
    writer.init()
    return [writer.add(0, 7), writer.add(0, topic="of nobody"), writer.described(), writer.add(0), writer.add(0), writer.add(0, 1)]


def verified(side: Side) -> Any:
    """As brokers ask, of what is in a transaction and what is not."""
    writer = writers(side)
    steps = [writer.init()]
    for version in (4, 5):
        steps += [writer.add(0, version=version, verify_only=True), writer.add(0, version=version)]
        steps += [writer.add(0, 1, version=version, verify_only=True), writer.add(0, version=version, producer_epoch=9, verify_only=True)]
        steps += [writer.add(0, version=version, producer_id=9, verify_only=True), writer.ended()]
    return steps


def without_adding(side: Side) -> Any:
    """What was not added, what comes after the end, and what is written outside of it."""
    writer = writers(side)
    steps = [writer.init(), *(writer.write("a", version=version) for version in (3, 9, 10, 11))]
    steps += [writer.add(0), writer.write("a"), writer.write("plain", sequence=1, transactional=False), writer.ended()]
    steps += [writer.write("late", sequence=1, version=version) for version in (9, 11)]
    return [*steps, writer.write("plain", sequence=1, transactional=False), writer.read()]


def numbers_and_epochs(side: Side) -> Any:
    writer = writers(side)
    steps = [writer.init(), writer.add(0), writer.write("a", "b"), writer.write("a", "b"), writer.write("gap", sequence=7)]
    return [*steps, writer.write("other", sequence=2, producer_epoch=9), writer.ended(), writer.read(), writer.producers()]


def fenced(side: Side) -> Any:
    writer = writers(side)
    steps = [writer.init(), writer.add(0), writer.write("a")]
    former = writer.epoch
    steps += [writer.init(), writer.described(), writer.read()]
    new = writer.epoch
    writer.epoch = former
    steps += [writer.add(0), writer.end(), writer.write("late", sequence=1)]
    writer.epoch = new
    return [*steps, writer.add(0), writer.write("b"), writer.ended(), writer.read()]


def epochs_said(side: Side) -> Any:
    """InitProducerId by a producer that says who it is (KIP-360)."""
    writer = writers(side)
    steps = [writer.init()]
    me = writer.producer_id, writer.epoch
    for said in (me, me, (me[0], me[1] + 1), me, (me[0], me[1] + 9), (me[0] + 1_000, 0)):
        for version in (3, 4, 5):
            steps.append(writer.init(version=version, said=said))
    return steps


def timeouts(side: Side) -> Any:
    writer = writers(side)
    return [writer.init(timeout_ms=timeout_ms) for timeout_ms in (0, -1, 1, 900_000, 900_001)]


def offsets(commit: bool) -> Script:
    def script(side: Side) -> Any:
        writer = writers(side)
        steps = [writer.init(), writer.commit_offset(3), writer.add_offsets(), writer.commit_offset(5), writer.committed()]
        steps += [writer.commit_offset(6, generation_id=4, member_id="nobody"), writer.commit_offset(7, generation_id=4)]
        steps += [writer.commit_offset(8, group_instance_id="nobody")]
        return [*steps, writer.ended(commit=commit), writer.committed(), writer.described()]

    return script


def offsets_of_a_later_epoch(commit: bool) -> Script:
    """They are taken, and the markers of the coordinator's epoch never are: the transaction does not end."""

    def script(side: Side) -> Any:
        writer = writers(side)
        steps = [writer.init(), writer.add_offsets(), writer.commit_offset(5), writer.commit_offset(9, producer_epoch=7)]
        return [*steps, writer.ended(commit=commit, within_seconds=NEVER_ENDS_SECONDS), writer.committed(), writer.described()]

    return script


def markers(side: Side) -> Any:
    """As an operator ends a transaction that hangs, and as a coordinator that is none any more would."""
    writer = writers(side)
    steps = [writer.init(), writer.add(0), writer.write("a"), writer.mark(partitions=(0, 7))]
    steps += [writer.producers(), writer.read(), writer.mark(commit=True), writer.mark(coordinator_epoch=-1), writer.producers()]
    return [*steps, writer.ended(), writer.read(0)]


def listed(side: Side) -> Any:
    writer = writers(side)
    writer.init()
    writer.add(0)

    def find(version: int, **filters: Any) -> Any:
        asked = {"state_filters": [], "producer_id_filters": [writer.producer_id], "duration_filter": -1, **filters}
        return side.ask(ApiKey.LIST_TRANSACTIONS, version, asked)

    rows = [find(version, state_filters=states) for version in (0, 1) for states in ([], ["Ongoing"], ["Empty"], ["ongoing", "Odd"])]
    return [*rows, find(1, duration_filter=0), find(1, duration_filter=AN_HOUR_MS), find(1, producer_id_filters=[1 << 40])]


AN_HOUR_MS = 3_600_000


def writers(side: Side) -> Writer:
    """Each case has names of its own, the same on both sides."""
    return Writer(side, current["case"])


current = {"case": ""}
CASES = [
    Case("committed", life(True)),
    Case("aborted", life(False)),
    Case("next one", next_one),
    Case("ends", ends),
    Case("wrong producers", wrong_producers),
    Case("unknown ids", unknown_ids),
    Case("empty ids", empty_ids),
    Case("unknown partitions", unknown_partitions),
    Case("verified", verified),
    Case("without adding", without_adding),
    Case("numbers and epochs", numbers_and_epochs),
    Case("fenced", fenced),
    Case("epochs said", epochs_said),
    Case("timeouts", timeouts),
    Case("offsets committed", offsets(True)),
    Case("offsets aborted", offsets(False)),
    Case("offsets of a later epoch committed", offsets_of_a_later_epoch(True)),
    Case("offsets of a later epoch aborted", offsets_of_a_later_epoch(False)),
    Case("markers", markers),
    Case("listed", listed),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_transactions(pair: Pair, case: Case) -> None:
    current["case"] = case.name.replace(" ", "-")
    pair.compare(case)
