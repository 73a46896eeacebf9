"""The text files of a data folder, as Kafka writes them."""

from __future__ import annotations

import uuid

import pytest

from broker_core.errors import ConfigError, CorruptData
from broker_core.model import TopicPartition
from broker_core.records.steps import finish
from broker_core.storage.folder import names
from broker_core.storage.folder.checkpoints import (
    check_meta_properties,
    decode_epochs,
    decode_offsets,
    decode_partition_metadata,
    encode_clean_shutdown,
    encode_epochs,
    encode_meta_properties,
    encode_offsets,
    encode_partition_metadata,
)

pytestmark = pytest.mark.spec("S6")

TOPIC_ID = uuid.UUID("f7d1a5c2-0b3e-4f6a-9c8d-7e6f5a4b3c2d")


def test_offset_checkpoint() -> None:
    offsets = {TopicPartition("b", 10): 7, TopicPartition("a", 2): 0}
    data = finish(encode_offsets(offsets))
    assert data == b"0\n2\nb 10 7\na 2 0\n"
    assert decode_offsets(data, "x") == offsets
    assert finish(encode_offsets({})) == b"0\n0\n"


@pytest.mark.parametrize("data", [b"", b"0\n", b"1\n0\n", b"0\n2\na 2 0\n", b"0\n1\na 2\n", b"0\n1\na b 3\n", b"\xff\xfe\n1\n"])
def test_a_broken_checkpoint_is_named(data: bytes) -> None:
    with pytest.raises(CorruptData, match="some-file"):
        decode_offsets(data, "some-file")


def test_epoch_checkpoint() -> None:
    assert encode_epochs([(0, 0), (3, 17)]) == b"0\n2\n0 0\n3 17\n"
    assert decode_epochs(b"0\n2\n0 0\n3 17\n", "x") == [(0, 0), (3, 17)]


def test_partition_metadata() -> None:
    data = encode_partition_metadata(TOPIC_ID)
    assert data == b"version: 0\ntopic_id: 99Glwgs-T2qcjX5vWks8LQ"
    assert decode_partition_metadata(data, "x") == TOPIC_ID
    for broken in (b"", b"version: 1\ntopic_id: 99Glwgs-T2qcjX5vWks8LQ", b"version: 0\ntopic_id: xx"):
        with pytest.raises(CorruptData):
            decode_partition_metadata(broken, "x")


def test_meta_properties_guard_the_folder() -> None:
    kafkas = b"#\n#Fri Nov 20 20:00:00 UTC 2026\ncluster.id=abc-DEF\nversion=0\nbroker.id=1\ndirectory.id=xyz\n"
    for data in (encode_meta_properties(1, "abc-DEF"), kafkas):
        check_meta_properties(data, "x", 1, "abc-DEF")
        with pytest.raises(ConfigError, match="broker 1, this is broker 2"):
            check_meta_properties(data, "x", 2, "abc-DEF")
        with pytest.raises(ConfigError, match="cluster abc-DEF"):
            check_meta_properties(data, "x", 1, "other")
    with pytest.raises(ConfigError, match="format version '9'"):
        check_meta_properties(b"version=9\nbroker.id=1\n", "x", 1, "abc")


def test_clean_shutdown_mark() -> None:
    assert encode_clean_shutdown(42) == b'{"version":0,"brokerEpoch":42}'


@pytest.mark.spec("S1")
def test_names() -> None:
    """Folders `topic-N`, files of 20 digits."""
    assert names.segment_path("/d/t-0", 170410, names.LOG) == "/d/t-0/00000000000000170410.log"
    assert names.parse_file("00000000000000170410.timeindex.swap") == (170410, ".timeindex", ".swap")
    assert names.parse_file("leader-epoch-checkpoint") is None
    assert names.parse_folder("a-b-3") == TopicPartition("a-b", 3)
    assert names.parse_folder("__consumer_offsets-49") == TopicPartition("__consumer_offsets", 49)
    deleted = names.deleted_folder_name(TopicPartition("a" * 249, 12), bytes(16))
    assert len(deleted) == 255
    assert names.parse_folder(deleted) is None
