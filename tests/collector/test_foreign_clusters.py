"""Apache Kafka 3.9 with ZooKeeper and Apache Kafka 4 without are collected: what is said of them is so, and in time; and what is asked of
them through REST is done. Both clusters go through each step side by side, in the order of this file."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka.admin import AdminClient, ScramCredentialInfo, ScramMechanism, UserScramCredentialUpsertion
from kafka import KafkaAdminClient

from tests.collector.conftest import Foreign
from tests.support.collected import until
from tests.support.open_transactions import begun, leave_hanging, verify
from tests.support.rest import Visitor

RECORDS = 90


def produce(cluster: Foreign, topic: str, count: int, partitions: int = 3) -> None:
    producer = Producer({"bootstrap.servers": cluster.servers, "acks": "all"})
    for number in range(count):
        producer.produce(topic, b"x" * 100, partition=number % partitions)
    assert producer.flush(60) == 0


def commit(cluster: Foreign, group: str, topic: str, count: int, **settings: str) -> Consumer:
    """A member that has read and committed so many records at least; it stays in its group until it is closed."""
    own = {"group.id": group, "auto.offset.reset": "earliest", "enable.auto.commit": False}
    consumer = Consumer({"bootstrap.servers": cluster.servers, **own, **settings})
    consumer.subscribe([topic])
    read, deadline = 0, time.monotonic() + 60
    while read < count:
        assert time.monotonic() < deadline, f"{group} has read {read} of {count}"
        message = consumer.poll(0.5)
        read += message is not None and message.error() is None
    consumer.commit(asynchronous=False)
    return consumer


def group_of(cluster: Foreign, name: str) -> dict[str, Any]:
    answer = cluster.ask("GET", f"/groups/{name}")
    return dict(answer.body) if answer.status == 200 else {}


def job(cluster: Foreign, kind: str, **params: Any) -> dict[str, Any]:
    answer = cluster.system.rest.ask("POST", "/api/v1/jobs", {"cluster": cluster.name, "kind": kind, **params})
    assert answer.status == 202, answer
    return dict(answer.body)


def test_a_registered_cluster_is_shown_with_what_it_can_tell(both: list[Foreign]) -> None:
    for one in both:
        live = until(one.get, lambda value: value["brokers_online"] == 2 and value["verdict"]["level"] == "ok", one.name)
        assert live["source"] == "collector"
        until(one.get, lambda value: value["feed"]["state"] == "live" and not value["as_of"]["stale"], one.name)
        assert {name: question["age"]["every_ms"] for name, question in live["questions"].items()} == {
            **{"metadata": 2_000, "offsets": 4_000, "groups": 6_000, "log_dirs": 24_000, "configs": 120_000}
        }
        assert (live["produce_bytes_per_s"], live["requests_per_s"]) == (None, None)
        brokers = until(lambda: one.get("/brokers")["items"], lambda some: all(b["log_dir"] for b in some), one.name)  # noqa: B023
        assert [(b["broker_id"], b["rack"], b["port"]) for b in brokers] == [(n, f"rack-{n}", one.brokers[n - 1].port) for n in (1, 2)]
        assert all(b["log_dir"]["total_bytes"] > b["log_dir"]["free_bytes"] > 0 for b in brokers)
        assert {(b["loop_stalls"], b["purgatory"], b["broker_epoch"]) for b in brokers} == {(None, None, None)}
        assert sum(b["is_controller"] for b in brokers) == 1
    assert both[0].get()["controller_epoch"] is None
    assert (both[1].get()["controller_id"], both[1].get()["controller_epoch"] >= 1) == (1, True)


def test_topics_are_made_filled_and_read(both: list[Foreign]) -> None:
    for one in both:
        made = one.ask(
            "POST", "/topics", {"name": "orders", "partitions": 3, "replication_factor": 2, "configs": {"min.insync.replicas": "1"}}
        )
        assert made.status in (201, 202), made
        produce(one, "orders", RECORDS)
    members = [commit(one, "billing", "orders", RECORDS) for one in both]
    for one in both:
        produce(one, "orders", 9)
    for one in both:
        rows = until(lambda: one.partitions("orders"), lambda rows: sum(r["high_watermark"] or 0 for r in rows) == RECORDS + 9, one.name)  # noqa: B023 (asked at once)
        assert [(r["state"], sorted(r["isr"]), r["log_start_offset"], r["min_insync_replicas"]) for r in rows] == [
            ("safe", [1, 2], 0, 1)
        ] * 3
        assert all(r["log_end_offset"] is None and r["last_stable_offset"] == r["high_watermark"] for r in rows)
        group = until(lambda: group_of(one, "billing"), lambda group: group.get("lag") == 9, one.name)  # noqa: B023
        assert (group["state"], [m["client_id"] for m in group["members"]], group["attention"]) == ("Stable", ["rdkafka"], None)
        topic = one.get("/topics/orders")
        assert (topic["messages"], topic["unmeasured"], topic["topic_id"] is not None) == (RECORDS + 9, 0, True)
    for member in members:
        member.close()


def test_transactions_and_their_control_records_are_told_apart(both: list[Foreign]) -> None:
    for one in both:
        assert one.ask("POST", "/topics", {"name": "ledger", "partitions": 1, "replication_factor": 2}).status in (201, 202)
        until(lambda: one.ask("GET", "/topics/ledger").status, lambda status: status == 200, one.name)  # noqa: B023 (asked at once)
        producer = Producer({"bootstrap.servers": one.servers, "transactional.id": "books"})
        producer.init_transactions(60)
        for name, end in (("kept", producer.commit_transaction), ("thrown away", producer.abort_transaction)):
            producer.begin_transaction()
            producer.produce("ledger", name.encode(), partition=0)
            assert producer.flush(60) == 0
            end(60)
        told = "/topics/ledger/records?start=oldest&origin=true"  # a marker may reach the log after its transaction's end was acknowledged
        until(lambda: one.ask("GET", told).body["items"], lambda rows: len(rows) == 4, one.name)  # noqa: B023 (asked at once)
        produce(one, "ledger", 1, partitions=1)
        for start in ("oldest", "newest"):
            found = one.ask("GET", f"/topics/ledger/records?start={start}&origin=true&order=offset").body
            origins = [row["origin"] for row in found["items"]]
            assert [origin["control"] for origin in origins] == [None, "commit", None, "abort", None], (one.name, found)
            assert [origin["outcome"] for origin in origins] == ["committed", "committed", "aborted", "aborted", None]
            assert [origin["transactional"] for origin in origins] == [True, True, True, True, False]
            assert len({origin["producer_id"] for origin in origins[:4]}) == 1 and origins[4]["producer_id"] is None
            assert origins[3]["sentence"].startswith("Control record: aborts the transaction of producer ")
            assert "3 records and 2 control records found" in found["search"]["sentence"], found["search"]
        committed = one.ask("GET", "/topics/ledger/records?start=oldest&isolation=committed").body
        assert [row["offset"] for row in committed["items"]] == [0, 4], one.name
        said = committed["search"]["sentence"]
        assert "; 1 record of aborted transactions left out; 2 offsets hold no record (control records or compacted)" in said, said
        (span,) = committed["search"]["spans"]
        assert (span["records"], span["aborted"], span["empty"], span["lost"], span["last"]) == (2, 1, 2, 0, 5)
        producer.begin_transaction()
        producer.produce("ledger", b"open", partition=0)
        assert producer.flush(60) == 0
        open_still = one.ask("GET", "/topics/ledger/records?start=oldest&isolation=committed").body
        assert open_still["search"]["state"] == "done" and [row["offset"] for row in open_still["items"]] == [0, 4]
        assert "read up to where open transactions begin" in open_still["search"]["sentence"]
        assert len(one.ask("GET", "/topics/ledger/records?start=oldest").body["items"]) == 4
        producer.abort_transaction(60)


def test_open_transactions_are_told_and_a_hanging_one_is_found_and_aborted(both: list[Foreign]) -> None:
    hour_ms = 3_600_000
    for one in both:
        assert one.ask("POST", "/topics", {"name": "hung", "partitions": 1, "replication_factor": 2}).status in (201, 202)
        until(lambda: one.ask("GET", "/topics/hung").status, lambda status: status == 200, one.name)  # noqa: B023 (asked at once)
        producer = begun(one.servers, "opened", "hung", [b"open"] * 3, **{"transaction.timeout.ms": 600_000})
        (row,) = one.get("/transactions?state=open")["items"]
        assert (row["transactional_id"], row["state"], row["partitions"], row["level"]) == ("opened", "Ongoing", 1, "ok")
        told = one.get("/transactions/opened")
        (place,) = told["places"]
        assert (place["start_offset"], place["held"], place["holds"]) == (0, 3, True), one.name
        assert 0 <= told["age_ms"] < told["timeout_ms"] == 600_000
        verify(one.servers, partitions=False)
        leave_hanging(one.servers, "hung", 0, 987_654, round(time.time() * 1000) - hour_ms)
        verify(one.servers, partitions=True)
        found = one.get("/topics/hung/partitions/0/producers")
        kinds = {p["producer_id"]: (p["transaction"], p["transactional_id"]) for p in found["producers"]}
        assert kinds == {row["producer_id"]: ("in_progress", "opened"), 987_654: ("hanging", None)}, one.name
        (item,) = one.get("/hanging-transactions?topic=hung")["items"]
        assert (item["producer_id"], item["start_offset"]) == (987_654, 3)
        done = one.ask("POST", "/topics/hung/partitions/0/abort-transaction", {"start_offset": 3, "confirm": True})
        assert (done.status, done.body["done"], done.body["coordinator_epoch"]) == (200, True, 0), done
        assert one.get("/hanging-transactions?topic=hung")["items"] == []
        ended = one.ask("POST", "/transactions/opened/termination", {"confirm": True})
        assert (ended.status, ended.body["done"], ended.body["partitions"]) == (200, True, 1), ended
        until(lambda: one.get("/topics/hung/partitions/0/producers")["held"], lambda held: held == 0, one.name)  # noqa: B023
        with pytest.raises(KafkaException):
            producer.commit_transaction(60)


def test_quotas_are_made_as_a_file_wants_them(both: list[Foreign]) -> None:
    entities = ("user=alice", "user=<default>,client-id=batch", "ip=192.0.2.7")
    text = """
quotas:
  - {user: alice, limits: {producer_byte_rate: 1048576, request_percentage: 12.5}}
  - {user: <default>, client-id: batch, limits: {consumer_byte_rate: 100}}
  - {ip: 192.0.2.7, limits: {connection_creation_rate: 10}}
"""

    def drift(one: Foreign, text: str) -> dict[str, str]:
        plan = one.ask("PUT", "/wanted", {"files": {"quotas.yaml": text}})
        assert plan.status == 200, plan
        return {row["object"]: row["state"] for row in plan.body["drifts"] if row["object"].startswith("quota/")}

    for one in both:
        assert drift(one, text) == {f"quota/{name}": "missing" for name in entities}
        for name in entities:
            mended = one.ask("POST", "/wanted/mend", {"object": f"quota/{name}"})
            assert mended.status == 200, mended
        until(lambda: drift(one, text), lambda found: found == {}, one.name)  # noqa: B023 (asked at once)
        changed = text.replace("1048576, request_percentage: 12.5", "5")
        assert drift(one, changed) == {"quota/user=alice": "differs"}
        assert one.ask("POST", "/wanted/mend", {"object": "quota/user=alice"}).status == 200
        until(lambda: drift(one, changed), lambda found: found == {}, one.name)  # noqa: B023
        assert drift(one, "quotas: []") == {f"quota/{name}": "unmanaged" for name in entities}


@contextmanager
def traffic(clusters: list[Foreign]) -> Iterator[None]:
    """Some 50 records a second into `orders` of each, read and committed every second by the group `follower`."""
    done = threading.Event()
    threads = [threading.Thread(target=work, args=(one, done)) for one in clusters for work in (_write, _read)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        done.set()
        for thread in threads:
            thread.join()


def _write(cluster: Foreign, done: threading.Event) -> None:
    producer = Producer({"bootstrap.servers": cluster.servers})
    while not done.wait(0.1):
        for number in range(5):
            producer.produce("orders", b"x" * 100, partition=number % 3)
        producer.poll(0)
    producer.flush(60)


def _read(cluster: Foreign, done: threading.Event) -> None:
    own = {"group.id": "follower", "auto.offset.reset": "earliest", "auto.commit.interval.ms": 1000}
    consumer = Consumer({"bootstrap.servers": cluster.servers, **own})
    consumer.subscribe(["orders"])
    while not done.is_set():
        consumer.poll(0.2)
    consumer.close()


def test_a_reader_that_keeps_up_with_traffic_is_shown_so(both: list[Foreign]) -> None:
    with traffic(both):
        for one in both:
            live = until(one.get, lambda value: (value["messages_per_s"] or 0) > 5, one.name)
            assert live["messages_per_s"] < 500
            group = until(lambda: group_of(one, "follower"), lambda group: group.get("lag_s") is not None, one.name)  # noqa: B023
            assert (group["attention"], group["state"]) == (None, "Stable")


def test_a_group_of_the_new_protocol_is_described(both: list[Foreign]) -> None:
    new = both[1]
    admin = KafkaAdminClient(bootstrap_servers=new.servers)
    admin.update_features({"group.version": 1})
    admin.close()
    member = commit(new, "modern", "orders", RECORDS, **{"group.protocol": "consumer"})
    group = until(lambda: group_of(new, "modern"), lambda group: group.get("members"), "its members")
    assert (group["state"], group["protocol"], group["generation"] >= 1) == ("Stable", "uniform", True)
    assert sorted(place["partition"] for place in group["members"][0]["partitions"]) == [0, 1, 2]
    assert group["lag"] is not None
    member.close()


def test_what_is_changed_by_rest_is_done_and_shown(both: list[Foreign]) -> None:
    for one in both:
        assert one.ask("PATCH", "/topics/orders", {"configs": {"retention.ms": "7200000"}, "confirm": True}).status == 200
        assert one.ask("POST", "/topics/orders/partitions", {"count": 4, "confirm": True}).status in (200, 202)
        until(lambda: group_of(one, "billing"), lambda group: group.get("state") == "Empty", one.name)  # noqa: B023
        moved = one.ask("POST", "/groups/billing/offsets", {"topic": "orders", "to": "earliest", "confirm": True})
        assert moved.status == 200, moved
    for one in both:
        own = {row["name"]: row["value"] for row in one.get("/topics/orders")["configs"] if row["source"] == "topic"}
        assert own == {"min.insync.replicas": "1", "retention.ms": "7200000"}
        until(lambda: one.partitions("orders"), lambda rows: len(rows) == 4, one.name)  # noqa: B023
        ends = sum(row["high_watermark"] or 0 for row in one.partitions("orders"))
        group = until(lambda: group_of(one, "billing"), lambda group: (group.get("lag") or 0) >= RECORDS + 9, one.name)  # noqa: B023
        assert group["lag"] <= ends + RECORDS
        until(one.events, lambda said: any("offsets of group billing were moved" in words for words in said), one.name)
        assert any("topic orders grew from 3 to 4 partitions" in words for words in one.events())


def test_one_that_wants_tls_and_a_scram_user_is_asked_as_that_user(both: list[Foreign]) -> None:
    """Its users are kept by itself; who it does not let in is told so, and nothing of it is shown but the reason."""
    new = both[1]
    admin = AdminClient({"bootstrap.servers": new.servers})
    credential = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4096)
    user = UserScramCredentialUpsertion("highwater", credential, b"its password")
    for done in admin.alter_user_scram_credentials([user]).values():
        done.result(60)
    secure = Foreign("secure", new.brokers, new.system)
    wanted = {
        "bootstrap_servers": ",".join(f"127.0.0.1:{broker.secure_port}" for broker in new.brokers),
        "security_protocol": "SASL_SSL",
        "sasl_mechanism": "SCRAM-SHA-512",
        "sasl_username": "highwater",
        "ca_pem": new.brokers[0].certificate.pem,
    }
    trial = new.system.rest.ask("POST", "/api/v1/clusters/test", {**wanted, "sasl_password": "another"})
    assert (trial.status, trial.body["ok"]) == (200, False), trial
    assert "password" in trial.body["servers"][0]["sentence"], trial
    said = new.system.rest.ask("POST", "/api/v1/clusters", {**wanted, "id": "secure", "name": "Secure", "sasl_password": "its password"})
    assert said.status == 201, said
    live = until(secure.get, lambda value: value["brokers_online"] == 2 and value["verdict"]["level"] == "ok", "secure")
    assert live["source"] == "collector"
    until(lambda: secure.partitions("orders"), lambda rows: sum(row["high_watermark"] or 0 for row in rows) >= RECORDS, "its records")
    assert "its password" not in str(new.system.rest.get("/api/v1/clusters"))
    changed = new.system.rest.ask("PATCH", "/api/v1/clusters/secure", {"sasl_password": "another"})
    assert changed.status == 200, changed
    live = until(secure.get, lambda value: value["questions"]["metadata"]["age"]["state"] != "live", "its age")
    assert live["verdict"]["level"] == "unknown", live["verdict"]


def test_a_partition_is_moved_by_a_job(both: list[Foreign]) -> None:
    begun = []
    for one in both:
        assert one.ask("POST", "/topics", {"name": "moved", "partitions": 1, "replication_factor": 1, "confirm": True}).status in (201, 202)
        rows = until(lambda: one.partitions("moved"), lambda rows: rows and rows[0]["leader"] is not None, one.name)  # noqa: B023
        target = 3 - rows[0]["leader"]
        produce(one, "moved", 20, 1)
        begun.append((one, target, job(one, "reassignment", assignments=[{"topic": "moved", "partition": 0, "replicas": [target]}])))
    for one, target, work in begun:
        assert one.system.rest.until(work)["state"] == "succeeded"
        rows = until(lambda: one.partitions("moved"), lambda rows: rows[0]["assignment"] == [target], one.name)  # noqa: B023
        assert rows[0]["reassigning"] is None


def test_its_pages_show_it(both: list[Foreign]) -> None:
    visitor = Visitor(both[0].system.port, both[0].system.password)
    shows = {
        "": "are not available from it",
        "brokers": "not available from this cluster",
        "topics": "orders",
        "topics/orders": "How far each replica is, is not available from this cluster",
        "topics/orders/0": "How far each replica is, is not available from this cluster",
        "groups": "billing",
        "groups/billing": "orders",
        "events": "topic moved was created",
        "jobs": "reassignment",
    }
    for one in both:
        for path, words in shows.items():
            answer = visitor.get(f"/c/{one.name}/{path}")
            assert (answer.status, words in answer.body) == (200, True), (path, answer.status)


def test_a_broker_that_dies_is_told_and_comes_back(both: list[Foreign]) -> None:
    for one in both:
        one.brokers[1].kill()
    for one in both:
        live = until(one.get, lambda value: value["brokers_online"] == 1 and value["verdict"]["level"] in ("warn", "bad"), one.name)
        assert live["verdict"]["text"].startswith("Broker 2 is down:"), live["verdict"]["text"]
        rows = until(lambda: one.partitions("orders"), lambda rows: all(r["isr"] == [1] for r in rows), one.name)  # noqa: B023
        assert {(r["state"], r["leader"]) for r in rows} == {("under_replicated", 1)}
        assert {reason for r in rows for c in r["replicas"] if (reason := c["reason"])} == {"broker is down"}
        said = until(one.events, lambda said: any("broker 2 left the ISR of" in words for words in said), one.name)
        assert any(words.startswith("broker 2 is gone: the cluster's metadata names it no more.") for words in said)
    for one in both:
        one.brokers[1].launch()
    for one in both:
        one.brokers[1].wait()
        live = until(one.get, lambda value: value["brokers_online"] == 2 and value["out_of_sync_replicas"] == 0, one.name)
        assert live["not_preferred"] > 0
    begun = [(one, job(one, "preferred_leader_election", topics=["orders"])) for one in both]
    for one, work in begun:
        assert one.system.rest.until(work)["state"] == "succeeded"
        until(lambda: one.partitions("orders"), lambda rows: all(r["leader"] == r["preferred_leader"] for r in rows), one.name)  # noqa: B023


def test_a_cluster_that_does_not_answer_is_unknown_until_it_does(both: list[Foreign]) -> None:
    for one in both:
        for broker in one.brokers:
            broker.process.send_signal(signal.SIGSTOP)
    try:
        for one in both:
            live = until(one.get, lambda value: value["verdict"]["level"] == "unknown", one.name)
            assert live["verdict"]["text"].startswith("The cluster does not answer")
            assert "Last known at" in live["verdict"]["text"]
            assert live["verdict"]["last_known_ms"] is not None
            live = until(one.get, lambda value: value["as_of"]["stale"] and value["unknown"] == value["partitions"], one.name)
            assert {row["state"] for row in one.partitions("orders")} == {"unknown"}
    finally:
        for one in both:
            for broker in one.brokers:
                broker.process.send_signal(signal.SIGCONT)
    for one in both:
        until(one.get, lambda value: value["verdict"]["level"] in ("ok", "notice") and not value["as_of"]["stale"], one.name)


def test_a_topic_is_deleted_and_a_cluster_that_is_taken_away_is_asked_no_more(both: list[Foreign]) -> None:
    """They have just been paused: one whose session has ended meanwhile meets errors of its own (502) until it has a new one."""
    for one in both:
        gone = until(lambda: one.ask("DELETE", "/topics/moved").status, lambda status: status not in (502, 503), one.name)  # noqa: B023
        assert gone in (202, 204)
    for one in both:
        until(lambda: one.ask("GET", "/topics/moved").status, lambda status: status == 404, one.name)  # noqa: B023
        assert any("topic moved was deleted." in words for words in one.events())
    system = both[0].system
    health = system.rest.get("/healthz")
    assert (health["collector"], health["live"]) == (True, False)
    figures = system.rest.ask("GET", "/metrics").body
    assert 'highwater_question_failing{cluster="kafka-4",kind="metadata"} 0' in figures
    assert "Traceback" not in system.said("collect"), system.said("collect")[-3000:]
