"""The bytes of `__transaction_state`."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_core.errors import CorruptData
from broker_core.model import TopicPartition
from broker_core.transactions.records import decode_key, decode_value, encode_key, encode_value, tombstone
from broker_core.transactions.replay import TransactionReplay
from broker_core.transactions.states import NUMBERS, TransactionState
from broker_core.transactions.transaction import Target

pytestmark = pytest.mark.spec("G5")

A, B, C = TopicPartition("t", 0), TopicPartition("t", 2), TopicPartition("u", 1)


def target(state: TransactionState = TransactionState.ONGOING, partitions: tuple[TopicPartition, ...] = (A, C, B)) -> Target:
    return Target(state, 7, 3, -1, 60_000, partitions, 1_000, 2_000)


def test_the_bytes_are_kafkas() -> None:
    assert encode_key("id").hex() == "0000" + "0002" + b"id".hex()
    assert encode_value(target(partitions=(C,))).hex() == (
        "0000" + "0000000000000007" + "0003" + "0000ea60" + "01" + "00000001" + "0001" + b"u".hex() + "00000001" + "00000001"
        "00000000000007d0" + "00000000000003e8"
    )
    assert encode_value(target(TransactionState.EMPTY, ()))[17:21] == b"\xff\xff\xff\xff"
    assert [NUMBERS[state] for state in TransactionState] == list(range(8))


@pytest.mark.parametrize(
    "state", [one for one in TransactionState if one not in (TransactionState.DEAD, TransactionState.PREPARE_EPOCH_FENCE)]
)
def test_what_is_written_is_read(state: TransactionState) -> None:
    partitions = () if state is TransactionState.EMPTY else (A, C, B)
    found = decode_value("id", encode_value(target(state, partitions)))
    assert (found.state, found.producer_id, found.epoch, found.timeout_ms) == (state, 7, 3, 60_000)
    assert (set(found.partitions), found.started_ms, found.updated_ms) == (set(partitions), 1_000, 2_000)


def test_the_flexible_version_is_read() -> None:
    topic = b"\x02u" + b"\x02" + struct.pack(">i", 1) + b"\0"
    tagged = b"\x01\x00\x08" + struct.pack(">q", 5)
    value = struct.pack(">hqhib", 1, 7, 3, 60_000, 1) + b"\x02" + topic + struct.pack(">qq", 2_000, 1_000) + tagged
    found = decode_value("id", value)
    assert (found.producer_id, list(found.partitions), found.started_ms) == (7, [C], 1_000)


@pytest.mark.parametrize("state", [6, 7, 8, -1])
def test_a_state_that_no_record_has_is_refused(state: int) -> None:
    value = bytearray(encode_value(target()))
    value[16:17] = struct.pack(">b", state)
    with pytest.raises(CorruptData, match=f"state {state}"):
        decode_value("id", bytes(value))


@given(st.binary(max_size=80))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    replay = TransactionReplay()
    replay.batch(0, None, [(data, data), (encode_key("id"), data)])
    assert replay.skipped + len(replay.transactions) >= 1


def test_the_last_record_of_an_id_counts() -> None:
    replay = TransactionReplay()
    first, last = encode_value(target()), encode_value(target(TransactionState.PREPARE_COMMIT))
    replay.batch(0, None, [(encode_key("a"), first), (encode_key("b"), first)])
    replay.batch(2, None, [(encode_key("a"), last), tombstone("b"), (struct.pack(">h", 9), b"of later")])
    assert [(name, txn.state) for name, txn in replay.transactions.items()] == [("a", TransactionState.PREPARE_COMMIT)]
    assert replay.skipped == 1
    assert decode_key(struct.pack(">h", 9)) is None
