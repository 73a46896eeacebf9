"""Transactions on whole brokers, request by request."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from broker_core.coordination.layout import state_path
from broker_core.coordination.znode_data import decode_partition_state, encode_partition_state
from broker_core.errors import ErrorCode
from broker_core.model import TRANSACTION_STATE, TopicPartition
from broker_core.protocol.api import ApiKey
from broker_core.records.batch import Record, build_batch, iter_headers, read_records
from broker_core.transactions.transaction import Producer
from tests.support.broker_cluster import BrokerCluster

pytestmark = pytest.mark.spec("G5", "B17")

ID = "id"
NONE, FENCED = ErrorCode.NONE, ErrorCode.PRODUCER_FENCED
SETTINGS = {
    "transaction.state.log.num.partitions": "3",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "500",
    "transaction.remove.expired.transaction.cleanup.interval.ms": "1000",
    "transactional.id.expiration.ms": "20000",
}


class Client:
    """One producer's side of the protocol; it asks whoever coordinates, and does what it is told when that moves."""

    def __init__(self, cluster: BrokerCluster, transactional_id: str = ID) -> None:
        self.cluster = cluster
        self.id = transactional_id
        self.producer = Producer(-1, -1)
        self.sequences: dict[TopicPartition, int] = {}

    def coordinator(self) -> int:
        for _ in range(200):
            alive = next(iter(self.cluster.brokers))
            answer = self.cluster.ask(alive, ApiKey.FIND_COORDINATOR, 3, {"key": self.id, "key_type": 1})
            if answer.error_code == NONE and answer.node_id in self.cluster.brokers:
                return int(answer.node_id)
            self.cluster.world.run_for(100)
        raise AssertionError("no coordinator")

    def ask(self, key: ApiKey, version: int, payload: dict[str, Any]) -> Any:
        for _ in range(200):
            answer = self.cluster.ask(self.coordinator(), key, version, payload)
            if self.code(answer) not in (
                ErrorCode.NOT_COORDINATOR,
                ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
                ErrorCode.COORDINATOR_NOT_AVAILABLE,
            ):
                return answer
            self.cluster.world.run_for(100)
        raise AssertionError("the coordinator does not get ready")

    @staticmethod
    def code(answer: Any) -> ErrorCode:
        rows = getattr(answer, "results_by_topic_v3_and_below", None)
        return ErrorCode(answer.error_code if rows is None else rows[0].results_by_partition[0].partition_error_code)

    def init(self, timeout_ms: int = 60_000, said: Producer | None = None) -> ErrorCode:
        producer_id, epoch = said or (-1, -1)
        payload = {"transactional_id": self.id, "transaction_timeout": timeout_ms, "producer_id": producer_id, "producer_epoch": epoch}
        for _ in range(200):
            answer = self.ask(ApiKey.INIT_PRODUCER_ID, 4, payload)
            if answer.error_code != ErrorCode.CONCURRENT_TRANSACTIONS:
                break
            self.cluster.world.run_for(50)
        if answer.error_code == NONE:
            self.producer, self.sequences = Producer(answer.producer_id, answer.producer_epoch), {}
        return ErrorCode(answer.error_code)

    def add(self, *partitions: TopicPartition, version: int = 3) -> ErrorCode:
        topics = [{"name": tp.topic, "partitions": [tp.partition]} for tp in partitions]
        who = {
            "v3_and_below_transactional_id": self.id,
            "v3_and_below_producer_id": self.producer.producer_id,
            "v3_and_below_producer_epoch": self.producer.epoch,
        }
        for _ in range(200):
            code = self.code(self.ask(ApiKey.ADD_PARTITIONS_TO_TXN, version, who | {"v3_and_below_topics": topics}))
            if code is not ErrorCode.CONCURRENT_TRANSACTIONS:
                return code
            self.cluster.world.run_for(50)
        raise AssertionError("the last transaction does not end")

    def write(self, tp: TopicPartition, *words: str, sequence: int | None = None, version: int = 11) -> ErrorCode:
        self.cluster.until(lambda: self.cluster.leads(tp.topic, tp.partition))
        first = self.sequences.get(tp, 0) if sequence is None else sequence
        now_ms = self.cluster.world.scheduler.wall_ms()
        batch = build_batch(
            [Record(index, now_ms, None, word.encode(), ()) for index, word in enumerate(words)],
            producer_id=self.producer.producer_id,
            producer_epoch=self.producer.epoch,
            base_sequence=first,
            transactional=True,
        )
        rows = [{"name": tp.topic, "partition_data": [{"index": tp.partition, "records": batch}]}]
        payload = {"transactional_id": self.id, "acks": -1, "timeout": 10_000, "topic_data": rows}
        answer = self.cluster.ask(self.cluster.leader(tp.topic, tp.partition), ApiKey.PRODUCE, version, payload)
        code = ErrorCode(answer.responses[0].partition_responses[0].error_code)
        if code is NONE:
            self.sequences[tp] = first + len(words)
        return code

    def end(self, *, commit: bool, version: int = 3) -> ErrorCode:
        producer_id, epoch = self.producer
        payload = {"transactional_id": self.id, "producer_id": producer_id, "producer_epoch": epoch, "committed": commit}
        return self.code(self.ask(ApiKey.END_TXN, version, payload))

    def state(self) -> str:
        answer = self.cluster.ask(self.coordinator(), ApiKey.DESCRIBE_TRANSACTIONS, 0, {"transactional_ids": [self.id]})
        return str(answer.transaction_states[0].transaction_state)

    def until(self, *states: str) -> None:
        for _ in range(600):
            if self.state() in states:
                return
            self.cluster.world.run_for(50)
        raise AssertionError(f"{self.state()}, not {states}")


def committed(cluster: BrokerCluster, tp: TopicPartition) -> list[str]:
    """What a reader of committed records gets now."""
    row = {"partition": tp.partition, "fetch_offset": 0, "partition_max_bytes": 1 << 20}
    payload = {
        "replica_id": -1,
        "max_wait": 0,
        "min_bytes": 0,
        "max_bytes": 1 << 20,
        "isolation_level": 1,
        "session_id": 0,
        "session_epoch": -1,
        "topics": [{"topic": tp.topic, "partitions": [row]}],
        "forgotten_topics_data": [],
        "rack_id": "",
    }
    answer = cluster.ask(cluster.leader(*tp), ApiKey.FETCH, 11, payload)
    got = answer.responses[0].partitions[0]
    assert got.error_code == NONE, got
    aborted = sorted((one.first_offset, one.producer_id) for one in got.aborted_transactions or ())
    return list(_committed(bytes(got.records or b""), aborted))


def _committed(data: bytes, aborted: Sequence[tuple[int, int]]) -> Iterator[str]:
    """As a client leaves out what was aborted: from the first offset of a producer's aborted transaction to its marker."""
    left, off = list(aborted), set[int]()
    for position, header in iter_headers(data):
        while left and left[0][0] <= header.last_offset:
            off.add(left.pop(0)[1])
        if header.is_control:
            off.discard(header.producer_id)
        elif not (header.is_transactional and header.producer_id in off):
            yield from ((record.value or b"").decode() for record in read_records(data, position, header))


A, B = TopicPartition("t", 0), TopicPartition("t", 1)


@pytest.fixture
def cluster() -> Iterator[BrokerCluster]:
    with BrokerCluster(brokers=3, **SETTINGS) as cluster:
        cluster.start_all()
        cluster.create("t", partitions=2)
        yield cluster


@pytest.fixture
def client(cluster: BrokerCluster) -> Client:
    client = Client(cluster)
    assert client.init() is NONE
    return client


def test_a_transaction_is_read_once_it_is_committed(cluster: BrokerCluster, client: Client) -> None:
    assert client.add(A, B) is NONE
    assert [client.write(A, "a"), client.write(B, "b", "c")] == [NONE, NONE]
    assert (committed(cluster, A), committed(cluster, B)) == ([], [])
    assert client.end(commit=True) is NONE
    client.until("CompleteCommit")
    assert (committed(cluster, A), committed(cluster, B)) == (["a"], ["b", "c"])
    assert client.end(commit=True) is NONE, "asked again, as by a producer that did not hear the answer"
    assert client.end(commit=False) is ErrorCode.INVALID_TXN_STATE


def test_what_is_aborted_is_never_read(cluster: BrokerCluster, client: Client) -> None:
    client.add(A)
    client.write(A, "a")
    assert client.end(commit=False) is NONE
    client.until("CompleteAbort")
    assert client.add(A) is NONE
    client.write(A, "b")
    client.end(commit=True)
    client.until("CompleteCommit")
    assert committed(cluster, A) == ["b"]


def test_a_new_producer_aborts_what_was_left_and_the_old_one_writes_nothing_more(cluster: BrokerCluster, client: Client) -> None:
    client.add(A)
    client.write(A, "left")
    other = Client(cluster)
    assert other.init() is NONE
    assert other.producer.epoch == client.producer.epoch + 2, "one fenced the old producer, one is the new one's"
    assert [client.add(A), client.end(commit=True)] == [FENCED, FENCED]
    assert client.write(A, "late") is ErrorCode.INVALID_PRODUCER_EPOCH
    other.add(A)
    other.write(A, "new")
    other.end(commit=True)
    other.until("CompleteCommit")
    assert committed(cluster, A) == ["new"]


def test_a_batch_after_its_marker_begins_nothing(cluster: BrokerCluster, client: Client) -> None:
    """KIP-890: a batch that was held up in the network would hold up readers for ever."""
    client.add(A)
    client.write(A, "a")
    client.end(commit=True)
    client.until("CompleteCommit")
    assert client.write(A, "late") is ErrorCode.TRANSACTION_ABORTABLE
    assert client.write(A, "late", version=10) is ErrorCode.INVALID_TXN_STATE
    assert client.write(B, "never added") is ErrorCode.TRANSACTION_ABORTABLE
    cluster.produce("t", "plain")
    assert committed(cluster, A) == ["a", "plain"]


def test_nothing_overtakes_a_batch_whose_coordinator_was_not_heard(cluster: BrokerCluster, client: Client) -> None:
    """The log knows nothing of the producer, and would take its second batch for the first."""
    client.add(A, B)
    owner = client.coordinator()
    tp = next(tp for tp in (A, B) if cluster.leader(tp.topic, tp.partition) != owner)
    cluster.kill(owner)
    assert client.write(tp, "first") is ErrorCode.NOT_ENOUGH_REPLICAS
    client.until("Ongoing")
    assert client.write(tp, "second", sequence=1) is ErrorCode.NOT_ENOUGH_REPLICAS
    assert [client.write(tp, word) for word in ("first", "second")] == [NONE, NONE]
    client.end(commit=True)
    client.until("CompleteCommit")
    assert committed(cluster, tp) == ["first", "second"]


def test_a_transaction_that_lasts_too_long_is_aborted(cluster: BrokerCluster) -> None:
    client = Client(cluster)
    assert client.init(timeout_ms=2_000) is NONE
    client.add(A)
    client.write(A, "late")
    client.until("CompleteAbort")
    assert client.end(commit=True) is FENCED
    assert committed(cluster, A) == []
    assert client.init(said=client.producer) is FENCED, "its time was up, and nobody knows what became of what it sent"


def test_timeouts_that_are_not_allowed(cluster: BrokerCluster) -> None:
    for timeout_ms in (0, -1, 900_001):
        assert Client(cluster).init(timeout_ms=timeout_ms) is ErrorCode.INVALID_TRANSACTION_TIMEOUT


@pytest.mark.parametrize("commit", [True, False])
def test_an_end_that_was_decided_is_brought_about_by_the_next_coordinator(cluster: BrokerCluster, client: Client, commit: bool) -> None:
    """The coordinator dies with the decision stored and no marker sent."""
    client.add(A, B)
    client.write(A, "a")
    client.write(B, "b")
    owner = client.coordinator()
    cluster.brokers[owner].services.transactions.sender.send = lambda marking: None  # type: ignore[method-assign]
    assert client.end(commit=commit) is NONE
    assert client.state() == ("PrepareCommit" if commit else "PrepareAbort")
    cluster.kill(owner)
    client.until("CompleteCommit" if commit else "CompleteAbort")
    assert (committed(cluster, A), committed(cluster, B)) == ((["a"], ["b"]) if commit else ([], []))
    assert client.add(A) is NONE, "the producer goes on in the same epoch"


def test_markers_wait_for_a_leader(cluster: BrokerCluster, client: Client) -> None:
    """The partition's leader is away: others of the transaction are ended, and this one as soon as it is back."""
    cluster.create("single", factor=1)
    alone = TopicPartition("single", 0)
    leader = cluster.leader("single")
    client.add(alone, A)
    client.write(alone, "a")
    client.write(A, "b")
    cluster.kill(leader)
    assert client.end(commit=True) is NONE
    cluster.world.run_for(10_000)
    assert client.state() == "PrepareCommit"
    assert committed(cluster, A) == ["b"]
    cluster.start(leader)
    client.until("CompleteCommit")
    assert committed(cluster, alone) == ["a"]


def test_a_topic_that_is_deleted_does_not_keep_a_transaction_open(cluster: BrokerCluster, client: Client) -> None:
    cluster.create("gone")
    gone = TopicPartition("gone", 0)
    client.add(gone, A)
    client.write(gone, "a")
    client.write(A, "b")
    cluster.ask(cluster.controller(), ApiKey.DELETE_TOPICS, 5, {"topic_names": ["gone"], "timeout": 30_000})
    cluster.until(lambda: all(not broker.services.metadata.has_topic("gone") for broker in cluster.brokers.values()))
    assert client.end(commit=True) is NONE
    client.until("CompleteCommit")
    assert committed(cluster, A) == ["b"]
    assert client.add(gone) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_an_unused_id_is_forgotten(cluster: BrokerCluster, client: Client) -> None:
    client.add(A)
    client.end(commit=True)
    client.until("CompleteCommit")
    cluster.world.run_for(25_000)
    answer = cluster.ask(client.coordinator(), ApiKey.DESCRIBE_TRANSACTIONS, 0, {"transactional_ids": [ID]})
    assert answer.transaction_states[0].error_code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
    assert client.add(A) is ErrorCode.INVALID_PRODUCER_ID_MAPPING
    owner = client.coordinator()
    cluster.kill(owner)
    assert client.add(A) is ErrorCode.INVALID_PRODUCER_ID_MAPPING, "nor does the next coordinator find it"


def test_transactions_are_listed_and_described(cluster: BrokerCluster, client: Client) -> None:
    client.add(A)
    other = Client(cluster, "other")
    other.init()

    def listed(**filters: Any) -> list[tuple[str, str]]:
        asked = {"state_filters": [], "producer_id_filters": [], "duration_filter": -1, **filters}
        answers = [cluster.ask(broker_id, ApiKey.LIST_TRANSACTIONS, 1, asked) for broker_id in cluster.ids]
        assert all(answer.error_code == NONE for answer in answers)
        return sorted((row.transactional_id, row.transaction_state) for answer in answers for row in answer.transaction_states)

    assert listed() == [(ID, "Ongoing"), ("other", "Empty")]
    assert listed(state_filters=["Ongoing"]) == [(ID, "Ongoing")]
    assert listed(producer_id_filters=[other.producer.producer_id]) == [("other", "Empty")]
    assert listed(duration_filter=3_600_000) == []
    cluster.world.run_for(2_000)
    assert listed(duration_filter=1_000) == [(ID, "Ongoing")]
    asked = {"state_filters": ["Ongoing", "Odd"], "producer_id_filters": [], "duration_filter": -1}
    assert cluster.ask(1, ApiKey.LIST_TRANSACTIONS, 1, asked).unknown_state_filters == ("Odd",)
    answer = cluster.ask(client.coordinator(), ApiKey.DESCRIBE_TRANSACTIONS, 0, {"transactional_ids": [ID]})
    row = answer.transaction_states[0]
    assert (row.producer_id, row.producer_epoch, row.transaction_state) == (*client.producer, "Ongoing")
    assert [(topic.topic, topic.partitions) for topic in row.topics] == [("t", (0,))]


def test_what_is_no_transactional_id_is_refused(cluster: BrokerCluster) -> None:
    assert Client(cluster, "x" * 30_000).init() is NONE
    assert (
        cluster.ask(1, ApiKey.INIT_PRODUCER_ID, 4, {"transactional_id": "", "transaction_timeout": 1}).error_code
        == ErrorCode.INVALID_REQUEST
    )


def test_a_hundred_thousand_partitions_are_told_that_they_are_unknown(cluster: BrokerCluster, client: Client) -> None:
    topics = [{"name": "t", "partitions": list(range(100_000))}]
    who = {
        "v3_and_below_transactional_id": ID,
        "v3_and_below_producer_id": client.producer.producer_id,
        "v3_and_below_producer_epoch": client.producer.epoch,
    }
    answer = cluster.ask(client.coordinator(), ApiKey.ADD_PARTITIONS_TO_TXN, 3, who | {"v3_and_below_topics": topics})
    codes = [row.partition_error_code for row in answer.results_by_topic_v3_and_below[0].results_by_partition]
    assert codes[:3] == [ErrorCode.OPERATION_NOT_ATTEMPTED] * 2 + [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    assert len(codes) == 100_000
    assert client.state() == "Empty"


def offsets(client: Client, group: str, rows: dict[int, int]) -> list[ErrorCode]:
    """Adds the group's offsets to the transaction and commits them in it; each partition's outcome."""
    producer_id, epoch = client.producer
    who = {"transactional_id": client.id, "producer_id": producer_id, "producer_epoch": epoch, "group_id": group}
    assert client.code(client.ask(ApiKey.ADD_OFFSETS_TO_TXN, 3, who)) is NONE
    partitions = [
        {"partition_index": number, "committed_offset": offset, "committed_leader_epoch": -1, "committed_metadata": ""}
        for number, offset in rows.items()
    ]
    asked = who | {"generation_id": -1, "member_id": "", "group_instance_id": None, "topics": [{"name": "t", "partitions": partitions}]}
    answer = client.cluster.ask(group_coordinator(client.cluster, group), ApiKey.TXN_OFFSET_COMMIT, 3, asked)
    return [ErrorCode(row.error_code) for row in answer.topics[0].partitions]


def group_coordinator(cluster: BrokerCluster, group: str) -> int:
    for _ in range(200):
        answer = cluster.ask(next(iter(cluster.brokers)), ApiKey.FIND_COORDINATOR, 3, {"key": group, "key_type": 0})
        if answer.error_code == NONE and answer.node_id in cluster.brokers:
            return int(answer.node_id)
        cluster.world.run_for(100)
    raise AssertionError("no coordinator of the group")


def fetched(cluster: BrokerCluster, group: str, *, stable: bool = False) -> tuple[ErrorCode, int]:
    asked = {"group_id": group, "require_stable": stable, "topics": [{"name": "t", "partition_indexes": [0]}]}
    for _ in range(200):
        answer = cluster.ask(group_coordinator(cluster, group), ApiKey.OFFSET_FETCH, 7, asked)
        if answer.error_code == NONE:
            row = answer.topics[0].partitions[0]
            return ErrorCode(row.error_code), int(row.committed_offset)
        cluster.world.run_for(100)
    raise AssertionError("the group's offsets cannot be had")


@pytest.mark.spec("G3")
@pytest.mark.parametrize("commit", [True, False])
@pytest.mark.parametrize("failover", [False, True])
def test_offsets_count_from_the_commit_on(cluster: BrokerCluster, client: Client, commit: bool, failover: bool) -> None:
    group_coordinator(cluster, "g")
    assert offsets(client, "g", {0: 5}) == [NONE]
    assert fetched(cluster, "g") == (NONE, -1)
    assert fetched(cluster, "g", stable=True)[0] is ErrorCode.UNSTABLE_OFFSET_COMMIT
    if failover:
        cluster.kill(group_coordinator(cluster, "g"))
        assert fetched(cluster, "g") == (NONE, -1)
    assert client.end(commit=commit) is NONE
    client.until("CompleteCommit", "CompleteAbort")
    assert fetched(cluster, "g", stable=True) == (NONE, 5 if commit else -1)


def test_offsets_of_a_transaction_that_does_not_have_them_are_refused(cluster: BrokerCluster, client: Client) -> None:
    group_coordinator(cluster, "g")
    cluster.until(lambda: cluster.leads("__consumer_offsets"))
    cluster.world.run_for(1_000)  # the leader may be found before it knows that it is one
    producer_id, epoch = client.producer
    row = {"partition_index": 0, "committed_offset": 5, "committed_leader_epoch": -1, "committed_metadata": ""}
    asked = {
        "transactional_id": ID,
        "producer_id": producer_id,
        "producer_epoch": epoch,
        "group_id": "g",
        "generation_id": -1,
        "member_id": "",
        "group_instance_id": None,
        "topics": [{"name": "t", "partitions": [row]}],
    }
    codes = []
    for version in (3, 4):
        answer = cluster.ask(group_coordinator(cluster, "g"), ApiKey.TXN_OFFSET_COMMIT, version, asked)
        codes.append(ErrorCode(answer.topics[0].partitions[0].error_code))
    assert codes == [ErrorCode.INVALID_TXN_STATE, ErrorCode.TRANSACTION_ABORTABLE]


def test_a_stale_coordinators_marker_is_refused(cluster: BrokerCluster, client: Client) -> None:
    client.add(A)
    client.write(A, "a")
    client.end(commit=True)
    client.until("CompleteCommit")
    cluster.kill(client.coordinator())
    client.add(A)
    client.write(A, "b")
    client.end(commit=True)
    client.until("CompleteCommit")

    def marked(coordinator_epoch: int, producer_epoch: int) -> ErrorCode:
        marker = {
            "producer_id": client.producer.producer_id,
            "producer_epoch": producer_epoch,
            "transaction_result": False,
            "topics": [{"name": "t", "partition_indexes": [0]}],
            "coordinator_epoch": coordinator_epoch,
        }
        answer = cluster.ask(cluster.leader(*A), ApiKey.WRITE_TXN_MARKERS, 1, {"markers": [marker]})
        return ErrorCode(answer.markers[0].topics[0].partitions[0].error_code)

    assert marked(0, client.producer.epoch) is ErrorCode.TRANSACTION_COORDINATOR_FENCED
    assert marked(9, client.producer.epoch - 1) is ErrorCode.INVALID_PRODUCER_EPOCH
    assert committed(cluster, A) == ["a", "b"]


def elected_unseen(cluster: BrokerCluster, client: Client) -> None:
    """The store knows another leader of the coordinator's partition; the coordinator does not, as one that is cut off or held for dead."""
    coordinator = client.coordinator()
    partition = cluster.brokers[coordinator].services.transactions.topic.partition_for(client.id)
    tp = TopicPartition(TRANSACTION_STATE, partition)
    znode = cluster.world.ensemble.tree.get(state_path(tp))
    state, controller_epoch = decode_partition_state(tp, znode.data, znode.version)
    other = next(broker for broker in state.isr if broker != coordinator)
    znode.data = encode_partition_state(replace(state, leader=other, leader_epoch=state.leader_epoch + 1), controller_epoch)


def test_a_deposed_coordinator_that_does_not_know_it_gives_no_final_answer(cluster: BrokerCluster, client: Client) -> None:
    """Its successor may have begun another transaction since: a commit is not confirmed by the end of the last one, a producer not fenced
    by an epoch that is old, nor denied what it has added there."""
    client.add(A)
    client.write(A, "a")
    client.end(commit=True)
    client.until("CompleteCommit")
    coordinator, (producer_id, epoch) = client.coordinator(), client.producer
    who = {"transactional_id": client.id, "producer_id": producer_id, "producer_epoch": epoch}
    asked = {"transactions": [who | {"verify_only": True, "topics": [{"name": "t", "partitions": [0]}]}]}
    old = {f"v3_and_below_{name}": value for name, value in (who | {"producer_epoch": epoch + 1}).items()}
    added = old | {"v3_and_below_topics": [{"name": "t", "partitions": [0]}]}
    begun = {"transactional_id": client.id, "transaction_timeout": 60_000, "producer_id": producer_id, "producer_epoch": epoch + 1}

    def answers() -> list[ErrorCode]:
        verified = cluster.ask(coordinator, ApiKey.ADD_PARTITIONS_TO_TXN, 5, asked).results_by_transaction[0].topic_results[0]
        return [
            ErrorCode(cluster.ask(coordinator, ApiKey.END_TXN, 3, who | {"committed": True}).error_code),
            ErrorCode(verified.results_by_partition[0].partition_error_code),
            Client.code(cluster.ask(coordinator, ApiKey.ADD_PARTITIONS_TO_TXN, 3, added)),
            ErrorCode(cluster.ask(coordinator, ApiKey.INIT_PRODUCER_ID, 4, begun).error_code),
        ]

    assert answers() == [NONE, ErrorCode.TRANSACTION_ABORTABLE, FENCED, FENCED]
    elected_unseen(cluster, client)
    assert answers() == [ErrorCode.NOT_COORDINATOR] * 4


def test_a_coordinator_before_the_one_that_has_ended_the_last_transaction_confirms_nothing(cluster: BrokerCluster, client: Client) -> None:
    """It may hold the ended one for open; a late batch would begin one that nobody ends."""
    client.add(A)
    marker = {
        "producer_id": client.producer.producer_id,
        "producer_epoch": client.producer.epoch,
        "transaction_result": True,
        "topics": [{"name": "t", "partition_indexes": [0]}],
        "coordinator_epoch": 7,
    }
    cluster.ask(cluster.leader(*A), ApiKey.WRITE_TXN_MARKERS, 1, {"markers": [marker]})
    assert client.write(A, "late") is ErrorCode.NOT_ENOUGH_REPLICAS
    assert client.add(B) is NONE
    assert client.write(B, "another partition") is NONE


def test_a_transaction_that_began_by_a_clock_that_was_ahead_is_aborted_all_the_same(cluster: BrokerCluster) -> None:
    """The next coordinator's clock would have to come that far."""
    client = Client(cluster)
    assert client.init(timeout_ms=2_000) is NONE
    client.add(A)
    client.write(A, "late")
    shards = cluster.brokers[client.coordinator()].services.transactions.runtime.shards
    (txn,) = [one for shard in shards.values() for one in shard.ongoing.values()]
    txn.started_ms += 3_600_000
    client.until("CompleteAbort")
    assert committed(cluster, A) == []


def test_the_topic_of_their_state_is_kafkas(cluster: BrokerCluster, client: Client) -> None:
    answer = cluster.ask(1, ApiKey.METADATA, 12, {"topics": [{"name": TRANSACTION_STATE}]})
    assert (answer.topics[0].is_internal, len(answer.topics[0].partitions)) == (True, 3)
