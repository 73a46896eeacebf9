"""Copying records between topics of a real cluster, step by step as a worker does it: what stays as it was, what a death leaves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient

from console.actions.jobs import cancel_job, create_job
from console.gateway.connection import connection_of
from console.models import Cluster, Job
from console.roles import Actor
from tests.reader.conftest import Topic
from tests.support.cluster import eventually
from workers import runner
from workers.copying import chunk
from workers.kinds import record_copy

ACTOR = Actor("someone", "operator", "api")


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch, redis: Any) -> None:
    """In this process: that the work is done in one of its own is looked at in tests/system."""
    monkeypatch.setattr(record_copy, "apart", lambda work, _within_s: work())
    monkeypatch.setattr("console.actions.jobs.enqueue_job", lambda job_id, kind: None)
    monkeypatch.setattr("console.actions.jobs.refuse_unknown", lambda *_: None)
    monkeypatch.setattr(chunk, "CHUNK_RECORDS", 100)
    monkeypatch.setattr("console.gateway.record_log.BATCH_RECORDS", 50)


def begun(source: Topic, target: Topic, **params: Any) -> Job:
    local = Cluster.objects.get(pk="local")
    return create_job(ACTOR, local, "record_copy", {"source": source.name, "target": target.name, **params})


def finished(job: Job) -> Job:
    for _ in range(100):
        runner.advance(job.pk)
        job.refresh_from_db()
        if not job.active:
            return job
    raise AssertionError(f"job {job.pk} is still {job.state}: {job.message}")


def records(topic: Topic) -> list[Any]:
    """All of them, partition by partition."""
    consumer = Consumer({"bootstrap.servers": topic.cluster.bootstrap_servers, "group.id": "x", "auto.offset.reset": "earliest"})
    try:
        found = []
        for number in sorted(consumer.list_topics(topic.name, timeout=30).topics[topic.name].partitions):
            place = TopicPartition(topic.name, number, 0)
            _, end = consumer.get_watermark_offsets(place, timeout=30)
            consumer.assign([place])
            got: list[Any] = []
            while len(got) < end:
                got += [one for one in consumer.consume(500, 1.0) if one.error() is None]
            found += got
        return found
    finally:
        consumer.close()


def test_records_are_copied_as_they_are_and_say_where_they_came_from(new_topic: Callable[..., Topic]) -> None:
    source, target = new_topic(2), new_topic(2)
    source.write(
        {"key": "k", "value": b"\x00\xff", "headers": [("a", b"1"), ("a", None)], "timestamp": 1_700_000_000_123, "partition": 1},
        {"value": None, "key": "gone", "partition": 0},
        {"value": "no key", "partition": 1},
    )
    job = finished(begun(source, target, keep_partition=True))
    assert (job.state, job.result["copied"], job.done, job.total) == ("succeeded", 3, 3, 3), job.message
    tombstone, first, second = records(target)
    assert (tombstone.partition(), tombstone.key(), tombstone.value()) == (0, b"gone", None)
    assert (first.partition(), first.key(), first.value(), first.timestamp()[1]) == (1, b"k", b"\x00\xff", 1_700_000_000_123)
    assert first.headers() == [("a", b"1"), ("a", None), ("highwater-copied-from", f"{source.name}/1/0 job {job.pk}".encode())]
    assert (second.partition(), second.key(), second.value()) == (1, None, b"no key")


def test_a_range_and_a_filter_choose_and_what_comes_later_does_not(new_topic: Callable[..., Topic]) -> None:
    source, target = new_topic(), new_topic()
    source.write(*({"value": b'{"n": %d}' % n} for n in range(300)))
    job = begun(source, target, from_offset=10, to_offset=250, filter={"text": "[05]}$", "regex": True}, mark=False)
    assert job.params["filter"] is None, "what is searched for is not for everybody"
    runner.advance(job.pk)
    source.write(*({"value": "{0}"} for _ in range(20)))
    job = finished(job)
    copied = records(target)
    assert [one.value() for one in copied] == [b'{"n": %d}' % n for n in range(10, 250, 5)]
    assert not any(one.headers() for one in copied)
    assert (job.result["copied"], job.result["read"]) == (48, 240)


def test_a_step_whose_worker_died_writes_nothing_twice(new_topic: Callable[..., Topic]) -> None:
    """The piece is done and never told; others write to the target meanwhile."""
    source, target = new_topic(), new_topic(3)
    source.write(*({"key": str(n % 7), "value": str(n)} for n in range(450)))
    job = begun(source, target)
    runner.advance(job.pk)
    for _ in range(2):
        job.refresh_from_db()
        lost = chunk.piece(connection_of(job.cluster), record_copy._order(job))
        assert lost.copied + lost.already_there == 100
        target.write({"value": "of somebody else"})
        runner.advance(job.pk)
    job = finished(job)
    values = [one.value() for one in records(target)]
    assert sorted(value for value in values if value != b"of somebody else") == sorted(str(n).encode() for n in range(450))
    assert job.result["copied"] + job.result["already_there"] == 450 and job.result["already_there"] >= 100
    assert "were there already" in job.message


@pytest.mark.parametrize("which", ["source", "target"])
def test_a_copy_of_a_topic_that_was_deleted_fails_soon_and_says_which(
    new_topic: Callable[..., Topic], monkeypatch: pytest.MonkeyPatch, which: str
) -> None:
    source, target = new_topic(), new_topic()
    source.write(*({"value": str(n)} for n in range(250)))
    job = begun(source, target)
    for _ in range(2):
        runner.advance(job.pk)
    gone = source if which == "source" else target
    admin = AdminClient({"bootstrap.servers": source.cluster.bootstrap_servers})
    admin.delete_topics([gone.name])[gone.name].result(30)
    while record_copy.GONE_SINCE not in job.plan:
        runner.advance(job.pk)
        job.refresh_from_db()
        assert job.active, job.message  # brokers may hear of the deletion one after another
    later = record_copy._now() + record_copy.GONE_S
    monkeypatch.setattr(record_copy, "_now", lambda: later)
    runner.advance(job.pk)
    job.refresh_from_db()
    assert job.state == "failed", (job.message, job.plan)
    assert f"topic {gone.name} is not there: it was deleted while it was copied" in job.message
    assert job.plan["copied"] <= 200, "what was copied until then stays counted"


def test_without_marks_only_what_was_not_told_is_written_again(new_topic: Callable[..., Topic]) -> None:
    source, target = new_topic(), new_topic()
    source.write(*({"value": str(n)} for n in range(250)))
    job = begun(source, target, mark=False)
    for _ in range(2):
        runner.advance(job.pk)
    job.refresh_from_db()
    chunk.piece(connection_of(job.cluster), record_copy._order(job))
    finished(job)
    values = [one.value() for one in records(target)]
    assert set(values) == {str(n).encode() for n in range(250)} and len(values) == 350


def test_a_cancelled_copy_says_how_far_it_came(new_topic: Callable[..., Topic]) -> None:
    source, target = new_topic(), new_topic()
    source.write(*({"value": str(n)} for n in range(300)))
    job = begun(source, target)
    for _ in range(2):
        runner.advance(job.pk)
    job.refresh_from_db()
    cancel_job(ACTOR, job)
    job = finished(job)
    assert (job.state, job.result["copied"], len(records(target))) == ("cancelled", 100, 100)


def test_what_the_target_refuses_ends_the_copy_with_its_words(new_topic: Callable[..., Topic]) -> None:
    source, target = new_topic(), new_topic(max_message_bytes="2000")
    source.write({"value": "x" * 50}, {"value": bytes(range(256)) * 40})
    job = finished(begun(source, target))
    assert (job.state, "MESSAGE_TOO_LARGE" in job.message) == ("failed", True), job.message
    nothing = finished(begun(new_topic(), target))
    assert (nothing.state, nothing.message) == ("succeeded", f"0 records (0\u202fB) copied to {target.name}.")


def test_offsets_without_a_record_are_passed_over(new_topic: Callable[..., Topic]) -> None:
    source = new_topic(cleanup_policy="compact", segment_ms="200", min_cleanable_dirty_ratio="0.01", max_compaction_lag_ms="100")

    def compacted() -> bool:
        source.write(*({"value": "x" * 500, "key": str(n)} for n in range(10)))
        (span,) = source.search(start="oldest", count=500)[0].spans
        return span.empty > 0

    eventually(compacted, 120, "the cleaner leaves gaps")
    job = finished(begun(source, new_topic()))
    assert job.state == "succeeded", job.message
    assert 0 < job.result["copied"] < job.total
