"""What an append sees of records is seen in steps, within a budget, whatever makes the broker look."""

from __future__ import annotations

from typing import Any

import pytest

from broker_core.config import TopicConfig
from broker_core.errors import ErrorCode, KafkaError, RecordsRefused
from broker_core.records.batch import HEADER_BYTES, Codec, Record, build_batch, parse_header, read_records, seal_batch
from broker_core.records.budget import Budget
from broker_core.records.steps import RECORDS_PER_STEP, carry_on
from broker_core.records.swift import RECORDS_PER_PIECE
from broker_core.storage.validation.log_validator import must_validate, validating
from broker_core.storage.validation.record_rules import RECORD_ERRORS_MAX
from tests.support.bombs import PACKERS, many_records, uneven_records
from tests.support.log_world import START_MS, World

HOUR_MS = 3_600_000
REASONS: dict[str, dict[str, Any]] = {
    "keys": {"cleanup_policy": ("compact",)},
    "codec": {"compression_type": "snappy"},
    "uncompressed": {"compression_type": "uncompressed"},
    "old": {"message_timestamp_before_max_ms": HOUR_MS},
}


def validated(data: bytes, config: TopicConfig, budget: Budget | None = None) -> tuple[Any, int]:
    """The bytes to append, or the error, and how many steps it took."""
    steps, count, job = validating(data, config, START_MS, budget or Budget()), 0, None
    try:
        while True:
            job = next(steps) if job is None else carry_on(steps, job)
            count += 1
    except StopIteration as done:
        return done.value.data, count
    except KafkaError as error:
        return error, count


@pytest.mark.parametrize("reason", REASONS)
@pytest.mark.parametrize("codec", PACKERS, ids=lambda codec: codec.name)
def test_millions_of_records_are_refused_before_one_is_seen(codec: Codec, reason: str) -> None:
    config = World(**REASONS[reason]).topic_config
    if reason == "codec" and codec is Codec.SNAPPY:
        config = World(compression_type="gzip").topic_config
    data = many_records(4_790_000, codec, timestamp_ms=START_MS)
    if len(data) > config.max_message_bytes:
        data = many_records(2_100_000, codec, timestamp_ms=START_MS)
    error, steps = validated(data, config)
    assert error.code is ErrorCode.MESSAGE_TOO_LARGE
    assert steps < 2_100_000 / RECORDS_PER_STEP / 10, "some to unpack them"


@pytest.mark.parametrize("reason", REASONS)
@pytest.mark.parametrize("codec", PACKERS, ids=lambda codec: codec.name)
def test_records_that_are_looked_into_take_their_steps(codec: Codec, reason: str) -> None:
    config = World(**REASONS[reason]).topic_config
    data = uneven_records(20_000, codec, START_MS)
    found, steps = validated(data, config)
    wanted = {"codec": Codec.SNAPPY, "uncompressed": Codec.NONE}.get(reason, codec)
    if wanted == codec:
        assert found is data or bytes(found) == data
    else:
        header = parse_header(found)
        assert (header.compression, header.record_count, header.max_timestamp) == (wanted, 20_000, START_MS)
        assert read_records(found, 0, header) == read_records(data, 0, parse_header(data))
    assert steps >= 20_000 / RECORDS_PER_PIECE - 1


@pytest.mark.parametrize("reason", REASONS)
def test_too_many_bytes_are_refused(reason: str) -> None:
    data = many_records(64, Codec.ZSTD, timestamp_ms=START_MS, size=1 << 20)
    budget = Budget(8 << 20)
    error, _ = validated(data, World(**REASONS[reason]).topic_config, budget)
    assert error.code is ErrorCode.MESSAGE_TOO_LARGE
    assert budget.held_bytes <= 8 << 20


def test_one_budget_for_all_batches() -> None:
    config = World(**REASONS["keys"]).topic_config
    data = uneven_records(100, Codec.GZIP, START_MS)
    assert validated(data * 3, config, Budget(records_max=300))[0] == data * 3
    assert validated(data * 3, config, Budget(records_max=100))[0].code is ErrorCode.MESSAGE_TOO_LARGE


def test_only_so_many_records_are_named() -> None:
    config = World(**REASONS["keys"]).topic_config
    error, steps = validated(uneven_records(20_000, Codec.ZSTD, START_MS, key=None), config)
    assert isinstance(error, RecordsRefused) and error.code is ErrorCode.INVALID_RECORD
    assert [index for index, _ in error.records] == list(range(RECORD_ERRORS_MAX))
    assert steps <= (20_000 + RECORD_ERRORS_MAX) / RECORDS_PER_STEP + 4, "some to unpack them"


def test_the_newest_time_is_that_of_the_records() -> None:
    """A header may say anything: what is compressed anew says the truth."""
    records = [Record(n, START_MS + n, b"k", b"v") for n in range(3)]
    data = build_batch(records, compression=Codec.GZIP)
    found, _ = validated(data, World(compression_type="zstd").topic_config)
    assert parse_header(found).max_timestamp == START_MS + 2


def test_most_topics_ask_no_more_than_whole_records() -> None:
    assert not must_validate(World().topic_config)
    assert not must_validate(World(message_timestamp_type="LogAppendTime", message_timestamp_before_max_ms=1).topic_config)
    assert all(must_validate(World(**settings).topic_config) for settings in REASONS.values())


@pytest.mark.parametrize("codec", PACKERS, ids=lambda codec: codec.name)
def test_a_count_that_cannot_be_is_no_matter_of_the_budget(codec: Codec) -> None:
    """Kafka finds fewer records than there are said to be; a client must not take it for a batch that it may split."""
    header = parse_header(data := build_batch([Record(0, START_MS, b"k", b"v")], compression=codec))
    header.record_count, header.last_offset_delta = 2**31 - 1, 2**31 - 2
    error, _ = validated(seal_batch(header, data[HEADER_BYTES:]), World().topic_config)
    assert error.code is ErrorCode.INVALID_RECORD
