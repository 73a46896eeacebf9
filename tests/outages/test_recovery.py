"""What a recovery brings back, on real processes: at each station what can be produced and fetched, and what an operator reads.

Two topics, replicas on brokers 1, 2 and 3, min.insync.replicas 2, no unclean elections. Broker 3 dies, then 2, then 1, which leads;
3 comes back, the wrong one. One topic gets a leader by the console's form, the other by the return of broker 1. Then a topic on brokers
1 and 2, which die at once.
"""

from __future__ import annotations

import asyncio
import html
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from confluent_kafka import KafkaError, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from broker_core.errors import ErrorCode
from broker_core.local.process import wait_until
from broker_core.protocol.api import ApiKey
from broker_core.records.batch import Record, build_batch
from broker_core.storage.folder.names import REPLICATION_CHECKPOINT
from tests.outages.conftest import feed_is_live
from tests.support.clients import make, produce, read_all
from tests.support.cluster import eventually
from tests.support.console_system import ConsoleSystem
from tests.support.frames import raw_connection
from tests.support.web import Answer, Web

pytestmark = pytest.mark.spec("R9")

RIGHT, UNCLEAN, ONCE = "0-right", "0-unclean", "0-at-once"
BOTH = (RIGHT, UNCLEAN)
"""First by name: the overview shows six of the partitions that are worst."""
LOCAL = "/api/v1/clusters/local"
SECONDS = 120.0
BY_ALL = [b"all three have it"] * 4
BY_TWO = [b"1 and 2 have it"] * 3
BY_ONE = [b"only 1 has it, and acks=1 promised no more"] * 5
LOST = len(BY_TWO + BY_ONE)
AFTER = [b"acknowledged by all that are in sync now"]

FEWER = "has fewer copies than wanted: broker {} out of the ISR."
REFUSES = "refuses acks=all: brokers {} and {} out of the ISR and min.insync.replicas is 2."
REFUSED_BELOW = "Writes with acks=all are refused: 1 in sync, min.insync.replicas is 2."
BACK = "Start broker {}, or start broker {}, or lower min.insync.replicas to 1 (acks=all then means 1 copy)."
GONE = "has no leader: it takes no reads and no writes."
GONE_BELOW = "No leader: nothing can be read or written."
ONLY_1 = "Only broker 1 has all its committed records: start broker 1"
NOBODY_RUNS = (
    f"{ONLY_1}. If that cannot be, another copy (brokers 2 and 3) can be started and elected unclean: what only broker 1 had is then lost."
)
WRONG_RUNS = f"{ONLY_1}, or elect broker 3 unclean and lose what only broker 1 had, at least {LOST} records."
RISK = f"{UNCLEAN}-0: broker 3 would lead; lost: at least {LOST} records, as last seen. Starting broker 1 instead loses nothing."


@dataclass(frozen=True)
class Run:
    """A cluster with both topics, its REST and its pages."""

    cluster: ConsoleSystem
    api: Web
    person: Web

    # --- what an operator reads

    def partition(self, topic: str) -> dict[str, Any]:
        answer = self.api.get(f"{LOCAL}/topics/{topic}/partitions")
        return dict((answer.json()["items"] or [{}])[0]) if answer.status == 200 else {}

    def advice(self, topic: str) -> str:
        """Of REST: what can be done."""
        return str((self.partition(topic).get("advice") or {"text": ""})["text"])

    def below(self, topic: str) -> str | None:
        """Of the topic's page: what stands below its replicas."""
        page = self.person.get(f"/topics/{topic}").text
        found = re.search(rf'data-ladder="partition/{topic}/0".*?<script type="application/json">(.*?)</script>', page, re.DOTALL)
        return "".join(piece["text"] for piece in json.loads(found[1])["remarks"]) if found else None

    def row(self, topic: str) -> str | None:
        """Of the overview: the partition's row among those in trouble."""
        found = re.search(rf'id="row-{topic}-0".*?<td class="full">(.*?)</td>', self.person.get("/").text, re.DOTALL)
        return html.unescape(found[1]) if found else None

    def verdict(self) -> str:
        """Of the overview: the sentences on top."""
        found = re.search(r'data-verdict .*?data-text="(.*?)"', self.person.get("/").text)
        return html.unescape(found[1]) if found else ""

    def says(self, topic: str, why: str, below: str = "", advice: str = "", *, shown: bool = True) -> None:
        """REST has the advice, the topic's page the words below the replicas and it, the overview the whole sentence."""
        becomes(lambda: self.advice(topic), advice)
        becomes(lambda: self.below(topic), " ".join(filter(None, [below, advice])))
        if shown:
            becomes(lambda: self.row(topic), " ".join(filter(None, [f"{topic}-0", why, advice])))

    def opens_with(self, *sentences: str) -> None:
        eventually(lambda: all(one in self.verdict() for one in sentences), SECONDS, f"{sentences} on top of the overview")

    # --- what clients get

    def has_isr(self, topics: Sequence[str], leader: int | None, isr: set[int]) -> None:
        for topic in topics:
            becomes(lambda topic=topic: ((p := self.partition(topic)).get("leader"), set(p.get("isr", []))), (leader, isr))

    def replicas_know(self, topic: str, figure: str, brokers: Sequence[int], offset: int) -> None:
        def known() -> list[int | None]:
            return [replica[figure] for replica in self.partition(topic).get("replicas", []) if replica["broker_id"] in brokers]

        becomes(known, [offset] * len(brokers))

    def produces(self, topic: str, values: list[bytes], acks: str) -> None:
        assert len(produce(self.cluster, topic, values, acks=acks)) == len(values)

    def refuses(self, topic: str, acks: str, code: int) -> None:
        becomes(lambda: self._refusal(topic, acks), code)

    def _refusal(self, topic: str, acks: str) -> int:
        """The error of one try; a library that tries again would only tell that its time was up."""
        told: list[KafkaError | None] = []
        settings = {"bootstrap.servers": self.cluster.bootstrap_servers, "acks": acks, "retries": 0, "message.timeout.ms": 20_000}
        producer = Producer(settings)
        producer.produce(topic, b"never acknowledged", on_delivery=lambda error, _: told.append(error))
        assert producer.flush(60) == 0
        assert told[0] is not None, f"{topic} took a record with acks={acks}"
        return told[0].code()

    def holds(self, topic: str, values: list[bytes]) -> None:
        """These and no others can be fetched, in this order."""
        assert [message.value() for message in read_all(self.cluster, topic, len(values))] == values

    def takes_nothing(self, topic: str, broker_id: int) -> None:
        """The one broker that runs neither reads nor writes, whatever the acks."""
        told = asyncio.run(errors(self.cluster.layout.port_of(broker_id), topic))
        assert told == [ErrorCode.NOT_LEADER_OR_FOLLOWER] * 3

    def checkpointed(self, broker_id: int, topic: str, offset: int) -> bool:
        """What is left of the HW by kill -9: under the minimum it stands still, so no more can be read of who then leads alone."""
        file = self.cluster.layout.broker_folder(broker_id) / "log" / REPLICATION_CHECKPOINT
        return file.exists() and f"{topic} 0 {offset}" in file.read_text().splitlines()


def becomes(read: Callable[[], Any], wanted: Any) -> None:
    seen = [None]

    def same() -> bool:
        seen[:] = [read()]
        return seen == [wanted]

    assert wait_until(same, SECONDS), f"{seen[0]!r}\nis not\n{wanted!r}"


async def errors(port: int, topic: str) -> list[int]:
    """Of a fetch, and of a produce with acks=1 and acks=all."""
    records = build_batch([Record(0, 0, None, b"never acknowledged", ())])
    row = {"name": topic, "partition_data": [{"index": 0, "records": records}]}
    wanted = {"topic": topic, "partitions": [{"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1_000}]}
    async with raw_connection(port) as connection:
        asked = {"replica_id": -1, "max_wait": 0, "min_bytes": 0, "max_bytes": 1_000, "isolation_level": 0, "topics": [wanted]}
        fetched = await connection.request(ApiKey.FETCH, 4, asked)
        produced = [await connection.request(ApiKey.PRODUCE, 7, {"acks": acks, "timeout": 1_000, "topic_data": [row]}) for acks in (1, -1)]
    found = [fetched.responses[0].partitions[0].error_code]
    return found + [answer.responses[0].partition_responses[0].error_code for answer in produced]


@pytest.fixture
def run(cluster: ConsoleSystem, api: Web, person: Web) -> Run:
    eventually(lambda: feed_is_live(api), SECONDS, "the feed is live")
    return Run(cluster, api, person)


def begin(run: Run, topic: str, replicas: list[int]) -> None:
    """The topic with the same records on all of them, each of which knows them to be committed."""
    admin = AdminClient({"bootstrap.servers": run.cluster.bootstrap_servers})
    make(admin, NewTopic(topic, 1, replica_assignment=[replicas], config={"min.insync.replicas": "2"}))
    run.produces(topic, BY_ALL, "all")
    run.replicas_know(topic, "high_watermark", replicas, len(BY_ALL))
    eventually(lambda: run.checkpointed(replicas[-1], topic, len(BY_ALL)), SECONDS, f"a checkpoint of broker {replicas[-1]}")


def a_follower_dies(run: Run) -> None:
    """Two copies are the minimum: all goes on."""
    run.cluster.kill(3)
    run.has_isr(BOTH, 1, {1, 2})
    for topic in BOTH:
        run.says(topic, FEWER.format(3))
        run.produces(topic, BY_TWO, "all")
        run.holds(topic, BY_ALL + BY_TWO)


def the_other_follower_dies(run: Run) -> None:
    """The leader alone takes reads and acks=1, of which nothing is committed; acks=all is refused."""
    run.cluster.kill(2)
    run.has_isr(BOTH, 1, {1})
    for topic in BOTH:
        run.says(topic, REFUSES.format(2, 3), REFUSED_BELOW, BACK.format(2, 3))
        run.refuses(topic, "all", KafkaError.NOT_ENOUGH_REPLICAS)
        run.produces(topic, BY_ONE, "1")
        run.holds(topic, BY_ALL + BY_TWO)
        run.replicas_know(topic, "log_end_offset", [1], len(BY_ALL) + LOST)


def the_leader_dies(run: Run) -> None:
    """Nobody runs, no controller either: what is known still says whom to start."""
    run.cluster.kill(1)
    run.has_isr(BOTH, None, {1})
    for topic in BOTH:
        run.says(topic, GONE, GONE_BELOW, NOBODY_RUNS)
    run.opens_with("Brokers 1, 2 and 3 are down: ", f"{RIGHT}-0 {GONE} {NOBODY_RUNS}")


def the_wrong_one_starts(run: Run) -> None:
    """It has lived longest ago: it may lead nothing, and both ways out are named with their cost."""
    run.cluster.start(3)
    becomes(lambda: run.api.get(LOCAL).json()["controller_id"], 3)
    for topic in BOTH:
        run.says(topic, GONE, GONE_BELOW, WRONG_RUNS)
        run.takes_nothing(topic, 3)
    run.has_isr(BOTH, None, {1})
    run.opens_with("Brokers 1 and 2 are down: ", f"{RIGHT}-0 {GONE} {WRONG_RUNS}")


def elect(run: Run, name: str) -> Answer:
    return run.person.post_form(f"/topics/{UNCLEAN}/unclean-election", confirm=name)


def it_is_elected_unclean(run: Run) -> None:
    """REST and the form say what it costs; the topic's name typed does it, for this topic alone."""
    asked = run.api.send("POST", f"{LOCAL}/topics/{UNCLEAN}/unclean-election", b"{}")
    assert (asked.status, asked.json()["field"]) == (422, "confirm")
    assert RISK in asked.json()["detail"]
    assert RISK in html.unescape(run.person.get(f"/topics/{UNCLEAN}").text)
    assert elect(run, RIGHT).status == 422
    run.has_isr(BOTH, None, {1})
    answer = eventually(lambda: (told := elect(run, UNCLEAN)).status != 503 and told, SECONDS, "the cluster answers")
    assert answer.status == 200, re.findall(r'role="alert".*', answer.text)
    assert f"1 partition of {UNCLEAN} got a leader by an unclean election." in html.unescape(answer.text)
    run.has_isr([UNCLEAN], 3, {3})
    run.holds(UNCLEAN, BY_ALL)
    run.refuses(UNCLEAN, "all", KafkaError.NOT_ENOUGH_REPLICAS)
    run.produces(UNCLEAN, AFTER, "1")
    elected = (
        "Broker 3 was elected unclean in epoch {}, not being in sync (in sync: 1): acknowledged records that it did not have are lost."
    )
    epoch = run.partition(UNCLEAN)["leader_epoch"]
    run.says(UNCLEAN, "", f"{elected.format(epoch)} {REFUSED_BELOW}", BACK.format(1, 2), shown=False)
    told = (
        f"broker 3 leads {UNCLEAN}-0 in epoch {epoch} by an unclean election: it was not in sync, 1 was. "
        f"Acknowledged records that it did not have are lost: at least {LOST} records, as last seen."
    )
    becomes(lambda: told in html.unescape(run.person.get("/").text), True)
    run.says(RIGHT, GONE, GONE_BELOW, WRONG_RUNS)


def the_right_one_starts(run: Run) -> None:
    """Where it was waited for nothing is lost, what acks=1 wrote included; where not, its log is cut to the new leader's."""
    run.cluster.start(1)
    run.has_isr([RIGHT], 1, {1, 3})
    run.has_isr([UNCLEAN], 3, {1, 3})
    run.says(RIGHT, FEWER.format(2))
    run.produces(RIGHT, AFTER, "all")
    run.holds(RIGHT, BY_ALL + BY_TWO + BY_ONE + AFTER)
    run.produces(UNCLEAN, AFTER, "all")
    run.holds(UNCLEAN, BY_ALL + AFTER + AFTER)
    run.replicas_know(UNCLEAN, "log_end_offset", [1, 3], len(BY_ALL + AFTER + AFTER))
    becomes(lambda: run.row(UNCLEAN), f"{UNCLEAN}-0 {FEWER.format(2)}")
    cut = f"broker 1 cut {UNCLEAN}-0 from {len(BY_ALL) + LOST} back to {len(BY_ALL)} to follow epoch "
    becomes(lambda: cut in html.unescape(run.person.get(f"/topics/{UNCLEAN}").text), True)


def all_run_again(run: Run) -> None:
    run.cluster.start(2)
    run.has_isr([RIGHT], 1, {1, 2, 3})
    run.has_isr([UNCLEAN], 3, {1, 2, 3})
    eventually(lambda: feed_is_live(run.api) and "partitions are safe." in run.verdict(), SECONDS, "all is safe")
    assert [run.row(topic) for topic in BOTH] == [None, None]
    assert run.advice(RIGHT) == run.below(RIGHT) == ""
    run.holds(RIGHT, BY_ALL + BY_TWO + BY_ONE + AFTER)
    run.holds(UNCLEAN, BY_ALL + AFTER + AFTER)


def test_each_station_of_a_recovery_and_both_ways_out(run: Run) -> None:
    for topic in BOTH:
        begin(run, topic, [1, 2, 3])
    for station in (
        a_follower_dies,
        the_other_follower_dies,
        the_leader_dies,
        the_wrong_one_starts,
        it_is_elected_unclean,
        the_right_one_starts,
        all_run_again,
    ):
        station(run)


def test_both_at_once_need_the_one_that_the_controller_left_in_the_isr(run: Run) -> None:
    """Their logs are equal, and still only one of them may lead; nothing is said to be lost by number, since nobody knows of any."""
    begin(run, ONCE, [1, 2])
    for broker_id in (1, 2):
        run.cluster.kill(broker_id)
    eventually(lambda: (p := run.partition(ONCE)).get("leader", 0) is None and len(p["isr"]) == 1, SECONDS, "one is left in the ISR")
    (last,) = run.partition(ONCE)["isr"]
    first = 3 - last
    only, had = f"Only broker {last} has all its committed records: start broker {last}", f"what only broker {last} had"
    other = f"If that cannot be, another copy (broker {first}) can be started and elected unclean: {had} is then lost."
    run.says(ONCE, GONE, GONE_BELOW, f"{only}. {other}")
    run.cluster.start(first)
    run.says(ONCE, GONE, GONE_BELOW, f"{only}, or elect broker {first} unclean and lose {had}.")
    run.takes_nothing(ONCE, first)
    run.has_isr([ONCE], None, {last})
    run.cluster.start(last)
    run.has_isr([ONCE], last, {1, 2})
    run.produces(ONCE, AFTER, "all")
    run.holds(ONCE, BY_ALL + AFTER)
    becomes(lambda: run.row(ONCE), None)
