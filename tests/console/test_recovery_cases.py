"""The recovery cases on simulated brokers: what can be produced and fetched, and what the page says meanwhile.

Replicas on brokers 1, 2 and 3 (the source's 0, 1, 2), of which 3 is down; broker 4 has no replica and goes on as controller.
min.insync.replicas is 2, unclean election off.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from broker_core.contract.partitions import Partition
from broker_core.contract.stored import Registration
from broker_core.coordination import layout
from broker_core.coordination.suspicions import gone_by, suspicions
from broker_core.coordination.znode_data import decode_broker, decode_controller, decode_partition_state
from broker_core.errors import ErrorCode
from broker_core.model import TopicPartition
from broker_core.protocol.api import ApiKey
from broker_core.seams import Node
from console.live.events.happened import Happened
from console.live.merging.state import ClusterState
from console.rules.partitions import partition_sentence
from tests.support.broker_cluster import BrokerCluster
from tests.support.console_world import stored_topic
from tests.support.feed_rows import batch

pytestmark = pytest.mark.spec("R9")

TP = TopicPartition("t", 0)
REPLICAS = [1, 2, 3]
WITNESS = 4
REFUSED = "t-0 refuses acks=all: "
GONE = "t-0 has no leader: it takes no reads and no writes. "


class Onlooker:
    """The live state as `live` would make it of the brokers' rows and the store."""

    def __init__(self, cluster: BrokerCluster) -> None:
        self._cluster = cluster
        self._state = ClusterState("local")
        self.events: list[Happened] = []
        cluster.world.run("client", lambda node: node.store.connect(60_000))

    def look(self) -> Partition:
        """The partition's value now."""
        cluster, state = self._cluster, self._state
        now = cluster.world.scheduler.wall_ms()
        known = cluster.world.run("client", registrations)
        topic = stored_topic(partitions={0: {"replicas": REPLICAS}})
        data, stat = cluster.world.run("client", lambda node: node.store.get(layout.state_path(TP)))
        stored, _ = decode_partition_state(TP, data, stat.version)
        state.set_brokers(known, now)
        state.set_topic("t", topic, now)
        state.set_partition("t", 0, stored.leader, stored.leader_epoch, list(stored.isr))
        for broker_id, broker in cluster.brokers.items():
            row = broker.source.partition(TP)
            state.apply_batch(batch(broker_id, [] if row is None else [row], now), now)
        self.events += state.take(now)[1]
        return state.values["t", 0]

    def sentence(self) -> str:
        return partition_sentence(self.look())


async def registrations(node: Node) -> dict[int, Registration]:
    """Who is registered, and whose process is gone all the same, as `gateway/zookeeper` reads it."""
    names = await node.store.children("/brokers/ids")
    read = {int(name): await node.store.get(f"/brokers/ids/{name}") for name in names}
    brokers = {broker_id: decode_broker(broker_id, data, stat.czxid) for broker_id, (data, stat) in read.items()}
    told = suspicions(await node.store.children(layout.SUSPICIONS))
    seated = decode_controller((await node.store.get("/controller"))[0])
    gone = gone_by(brokers, told, seated)
    return {broker_id: Registration(f"b{broker_id}", 9092, None, 1, gone.get(broker_id, ())) for broker_id in brokers}


@pytest.fixture
def cluster() -> Iterator[BrokerCluster]:
    with BrokerCluster(brokers=4) as made:
        made.start_all()
        wanted = {
            "name": "t",
            "num_partitions": -1,
            "replication_factor": -1,
            "assignments": [{"partition_index": 0, "broker_ids": REPLICAS}],
            "configs": [{"name": "min.insync.replicas", "value": "2"}],
        }
        answer = made.ask(made.controller(), ApiKey.CREATE_TOPICS, 7, {"topics": [wanted], "timeout": 30_000})
        assert answer.topics[0].error_code == ErrorCode.NONE, answer
        made.until(lambda: made.leads("t"))
        made.kill(3)
        made.until(lambda: set(made.isr(WITNESS, "t")) == {1, 2})
        made.produce_until_acked("t", "both have it")
        made.until(lambda: all(knows_committed(made, broker_id) for broker_id in (1, 2)))
        yield made


def knows_committed(cluster: BrokerCluster, broker_id: int) -> bool:
    """A leader under the minimum ISR serves what it knew to be committed, and learns no more."""
    partition = cluster.brokers[broker_id].services.replicas.partitions.get(TP)
    return partition is not None and partition.log is not None and partition.log.high_watermark == 1


def lower_min_isr(cluster: BrokerCluster) -> None:
    configs = [{"name": "min.insync.replicas", "config_operation": 0, "value": "1"}]
    resources = [{"resource_type": 2, "resource_name": "t", "configs": configs}]
    answer = cluster.ask(WITNESS, ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, {"resources": resources, "validate_only": False})
    assert answer.responses[0].error_code == ErrorCode.NONE, answer


def led(cluster: BrokerCluster, leader: int, isr: set[int]) -> None:
    cluster.until(lambda: cluster.known_leader("t") == leader and set(cluster.isr(WITNESS, "t")) == isr)
    cluster.until(lambda: cluster.leads("t"))


def leaderless(cluster: BrokerCluster) -> int:
    """Nobody leads, and the controller has left one in the ISR."""
    cluster.until(lambda: cluster.known_leader("t") < 0 and len(cluster.isr(WITNESS, "t")) == 1)
    cluster.world.run_for(8_000)
    return cluster.isr(WITNESS, "t")[0]


@pytest.mark.spec("R9")
@pytest.mark.parametrize("way", ["start it", "lower the minimum"])
def test_one_down(cluster: BrokerCluster, way: str) -> None:
    """Reads go on, writes with acks=all do not, until it is back or the minimum is lowered."""
    page = Onlooker(cluster)
    assert page.sentence() == "t-0 has fewer copies than wanted: broker 3 out of the ISR."
    cluster.kill(1)
    led(cluster, 2, {2})
    assert cluster.consume("t") == ["both have it"]
    assert cluster.produce("t", "no").error_code == ErrorCode.NOT_ENOUGH_REPLICAS
    assert page.sentence() == REFUSED + (
        "brokers 1 and 3 out of the ISR and min.insync.replicas is 2. "
        "Start broker 1, or start broker 3, or lower min.insync.replicas to 1 (acks=all then means 1 copy)."
    )
    if way == "start it":
        cluster.start(1)
        led(cluster, 2, {1, 2})
        assert page.sentence() == "t-0 has fewer copies than wanted: broker 3 out of the ISR."
    else:
        lower_min_isr(cluster)
    cluster.produce_until_acked("t", "again")
    cluster.until(lambda: cluster.consume("t")[-1] == "again")


@pytest.mark.spec("R9")
def test_one_after_the_other_needs_the_last(cluster: BrokerCluster) -> None:
    """The first that fell cannot lead; the last brings reads back, and both of them writes."""
    page = Onlooker(cluster)
    cluster.kill(1)
    led(cluster, 2, {2})
    page.look()
    cluster.kill(2)
    assert leaderless(cluster) == 2
    assert page.sentence() == GONE + (
        "Only broker 2 has all its committed records: start broker 2. If that cannot be, another copy (brokers 1 and 3) can be started "
        "and elected unclean: what only broker 2 had is then lost."
    )
    cluster.start(1)
    assert leaderless(cluster) == 2
    choice = "start broker 2, or elect broker 1 unclean and lose what only broker 2 had."
    assert page.sentence() == GONE + f"Only broker 2 has all its committed records: {choice}"
    assert page.look().advice.candidates == (1,)
    cluster.start(2)
    led(cluster, 2, {1, 2})
    assert cluster.consume("t") == ["both have it"]
    cluster.produce_until_acked("t", "again")
    assert page.look().advice is None


@pytest.mark.spec("R9")
def test_the_last_alone_brings_back_reads_only(cluster: BrokerCluster) -> None:
    cluster.kill(1)
    led(cluster, 2, {2})
    cluster.kill(2)
    leaderless(cluster)
    cluster.start(2)
    led(cluster, 2, {2})
    assert cluster.consume("t") == ["both have it"]
    assert cluster.produce("t", "no").error_code == ErrorCode.NOT_ENOUGH_REPLICAS
    assert Onlooker(cluster).sentence().startswith(f"{REFUSED}brokers 1 and 3 out of the ISR")
    lower_min_isr(cluster)
    cluster.produce_until_acked("t", "again")


@pytest.mark.spec("R9")
def test_both_at_once_need_the_one_that_the_controller_left_in_the_isr(cluster: BrokerCluster) -> None:
    """The source expects either to bring reads back; Kafka's controller takes them out one by one and keeps the last."""
    page = Onlooker(cluster)
    page.look()
    cluster.kill(1)
    cluster.kill(2)
    last = leaderless(cluster)
    first = 3 - last
    assert page.sentence().startswith(f"{GONE}Only broker {last} has all its committed records: start broker {last}. ")
    cluster.start(first)
    assert leaderless(cluster) == last
    assert page.sentence().startswith(
        f"{GONE}Only broker {last} has all its committed records: start broker {last}, or elect broker {first} "
    )
    cluster.start(last)
    led(cluster, last, {1, 2})
    cluster.produce_until_acked("t", "again")


@pytest.mark.spec("R9")
def test_an_unclean_election_brings_back_reads_and_says_what_it_cost(cluster: BrokerCluster) -> None:
    """The last that fell does not come back: the other is elected, and what it had not copied is gone."""
    page = Onlooker(cluster)
    cluster.kill(1)
    led(cluster, 2, {2})
    lower_min_isr(cluster)
    cluster.produce_until_acked("t", "only 2 has it")
    page.look()
    cluster.kill(2)
    leaderless(cluster)
    cluster.start(1)
    leaderless(cluster)
    assert page.sentence().endswith("elect broker 1 unclean and lose what only broker 2 had, at least 1 record.")
    asked = {"election_type": 1, "topic_partitions": [{"topic": "t", "partitions": [0]}], "timeout": 30_000}
    answer = cluster.ask(WITNESS, ApiKey.ELECT_LEADERS, 2, asked)
    assert answer.replica_election_results[0].partition_result[0].error_code == ErrorCode.NONE, answer
    led(cluster, 1, {1})
    assert cluster.consume("t") == ["both have it"]
    assert page.look().unclean.in_sync == (2,)
    cluster.world.run_for(2_000)
    page.look()
    told = [e for e in page.events if e.kind == "unclean_election"]
    assert [e.level for e in told] == ["bad"]
    assert told[0].sentence.endswith("Acknowledged records that it did not have are lost: at least 1 record, as last seen.")
