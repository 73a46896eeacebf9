"""kafka-get-offsets, kafka-delete-records, kafka-log-dirs, kafka-replica-verification and kafka-dump-log."""

from __future__ import annotations

import json
import re
from pathlib import Path

from confluent_kafka import Consumer, Producer, TopicPartition

from tests.apache.side import TIME_MS, batch
from tests.kafka_tools.jvm import alone
from tests.kafka_tools.sides import A_MINUTE_MS, MAINS, Clusters, Side

TIMES = (
    *("earliest", "latest", "max-timestamp", "earliest-local", "latest-tiered", "-1", "-2", "-3", "-4", "-5"),
    TIME_MS + 15 * A_MINUTE_MS,
    TIME_MS - 1,
    TIME_MS + 10**9,
)


def offsets(side: Side) -> None:
    run = side.run
    side.topic("ends", "1", "2", "2")
    side.topic("ends-too", "1")
    side.fill("ends", 30)
    side.fill("ends", 7, partition=1)
    side.fill("ends-too", 3)
    for time in TIMES:
        run("get-offsets", "--topic", "ends", "--time", time)
    run("get-offsets", "--topic", "ends.*")
    run("get-offsets", "--topic", "ends", "--partitions", "0,2")
    run("get-offsets", "--topic-partitions", "ends:1-3,ends-t.*:0", "--time", "earliest")
    run("get-offsets", "--topic", "ends", "--exclude-internal-topics")
    run("get-offsets", "--topic", "ends-none", status=1)
    run("get-offsets", "--topic", "ends", "--partitions", "9", status=1)
    run("get-offsets", "--topic", "ends", "--time", "noon", status=1)
    rows = [{"topic": "ends", "partition": 0, "offset": 12}, {"topic": "ends", "partition": 1, "offset": -1}]
    run("delete-records", "--offset-json-file", side.file("delete.json", {"version": 1, "partitions": rows}), ordered=False)
    run("get-offsets", "--topic", "ends", "--time", "earliest")
    rows = [{"topic": "ends", "partition": 0, "offset": 31}, {"topic": "ends", "partition": 2, "offset": 0}]
    run("delete-records", "--offset-json-file", side.file("wrong.json", {"version": 1, "partitions": rows}), ordered=False)
    twice = {"partitions": [{"topic": "ends", "partition": 0, "offset": 1}] * 2}
    run("delete-records", "--offset-json-file", side.file("twice.json", twice), status=1)


def test_offsets(clusters: Clusters) -> None:
    told = clusters.compare(offsets)
    assert told[2].lines == ("ends:0:0", "ends:1:0", "ends:2:0")


def log_dirs(side: Side) -> None:
    run = side.run
    side.topic("kept", "1:2", "2:1")
    side.fill("kept", 40)
    found = run("log-dirs", "--describe", "--topic-list", "kept", told=False)
    told = json.loads(found.splitlines()[-1])
    sizes = {
        (broker["broker"], row["partition"]): (row["size"], row["offsetLag"], row["isFuture"])
        for broker in told["brokers"]
        for folder in broker["logDirs"]
        for row in folder["partitions"]
    }
    size = sizes[1, "kept-0"][0]
    assert size > 1000
    assert sizes == {(number, f"kept-{partition}"): (0 if partition else size, 0, False) for number in (1, 2) for partition in (0, 1)}
    run("log-dirs", "--describe", "--topic-list", "kept", ordered=False)
    run("log-dirs", "--describe", "--topic-list", "kept", "--broker-list", "2")
    run("log-dirs", "--describe", "--topic-list", "kept-none")
    run("log-dirs", "--describe", "--broker-list", "7,2", status=1)


def test_log_dirs(clusters: Clusters) -> None:
    clusters.compare(log_dirs)


def verified(side: Side) -> None:
    side.topic("alike", "1:2", "2:1")
    side.fill("alike", 40)
    side.fill("alike", 10, partition=1)
    words = ["--broker-list", side.bootstrap, "--topics-include", "alike", "--report-interval-ms", "500", "--time", "-2"]
    found = alone(MAINS["replica-verification"], words, "max lag is 0")
    assert "verification process is started" in found
    assert "max lag is 0 for partition alike-" in found and "among 2 partitions" in found, found


def test_replicas_verified(clusters: Clusters) -> None:
    clusters.compare(verified)


def dumped(side: Side) -> None:
    """The same bytes were written to both, and transactions of confluent-kafka to either."""
    side.topic("dumped", "1", index_interval_bytes="100", segment_bytes="1000")
    side.fill("dumped", 120)
    side.write("dumped", batch("a", "b" * 50, compression=1))
    folder = side.brokers[1].log_dir / "dumped-0"
    segments = sorted(folder.glob("*.log"))
    assert len(segments) > 1
    for segment in segments:
        dump(side, segment)
        dump(side, segment, "--deep-iteration")
        dump(side, segment, "--print-data-log", "--deep-iteration")
        dump(side, segment, "--print-data-log", "--skip-record-metadata")
    # Those of the last segment, which is written to, are larger in Kafka than what is in them, and ours has them in memory.
    for segment in segments[:-1]:
        for index in (segment.with_suffix(".index"), segment.with_suffix(".timeindex")):
            dump(side, index)
            dump(side, index, "--verify-index-only")
            dump(side, index, "--index-sanity-check")
    dump(side, segments[0], "--max-bytes", 500)
    dump(side, ",".join(map(str, segments)))


def dump(side: Side, path: Path | str, *options: object, figures: bool = True, told: bool = True) -> str:
    return side.run("dump-log", "--files", str(path), *options, figures=figures, told=told)


def test_dumped(clusters: Clusters) -> None:
    told = clusters.compare(dumped)
    text = json.dumps(told)
    assert "| offset: 25 CreateTime:" in text
    assert "payload: value-119" in text


def internal(side: Side) -> None:
    """What coordinators keep, as Kafka's decoders read it from our files."""
    side.topic("kept-in", "1")
    with_id = Producer({"bootstrap.servers": side.bootstrap, "transactional.id": "dumped-id"})
    with_id.init_transactions(60)
    consumer = Consumer({"bootstrap.servers": side.bootstrap, "group.id": "dumped-group"})
    consumer.commit(offsets=[TopicPartition("kept-in", 0, 7)], asynchronous=False)
    for commit in (True, False):
        with_id.begin_transaction()
        with_id.produce("kept-in", "in it", partition=0)
        with_id.flush(60)
        with_id.send_offsets_to_transaction([TopicPartition("kept-in", 0, 9)], consumer.consumer_group_metadata(), 60)
        if commit:
            with_id.commit_transaction(60)
        else:
            with_id.abort_transaction(60)
    consumer.close()
    described = ("transactions", "describe", "--transactional-id", "dumped-id")
    side.until(lambda: "CompleteAbort" in side.run(*described, told=False), "it is aborted")
    side.run(*described, figures=False)
    coordinator = side.leader("__transaction_state").log_dir
    (log,) = sorted((coordinator / "__transaction_state-0").glob("*.log"))
    found = dump(side, log, "--transaction-log-decoder", "--deep-iteration", told=False).splitlines()
    rows = [line.split(" key: ", 1)[1] for line in found if "dumped-id" in line]
    assert len(rows) > 5, found
    for row in rows:
        side.note("transaction state", re.sub(r"\d+", "N", row))
    (log,) = sorted((side.leader("__consumer_offsets").log_dir / "__consumer_offsets-0").glob("*.log"))
    found = dump(side, log, "--offsets-decoder", "--deep-iteration", told=False).splitlines()
    begin = next(number for number, row in enumerate(found) if "dumped-group" in row)
    for row in found[begin:]:
        if "dumped-group" in row or "endTxnMarker" in row:
            side.note("offsets", re.sub(r"(offset: |producerId: |producerEpoch: |baseOffset: )\d+", r"\1N", row.split(" key: ", 1)[-1]))
    partition = side.leader("kept-in").log_dir / "kept-in-0"
    dump(side, partition / "00000000000000000000.log", "--deep-iteration", figures=False)
    aborted = dump(side, partition / "00000000000000000000.txnindex", told=False).splitlines()[-1]
    side.note("aborted", re.sub(r"producerId: \d+", "producerId: N", aborted))
    side.run("dump-log", "--files", str(partition / "nothing.log"), status=1)


def test_internal_topics_dumped(clusters: Clusters) -> None:
    text = json.dumps(clusters.compare(internal))
    assert "CompleteAbort" in text
