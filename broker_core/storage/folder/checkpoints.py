"""The small text files of a data folder, as Kafka writes them.

    *-offset-checkpoint       0 \\n count \\n then one line `topic partition offset` each
    leader-epoch-checkpoint   0 \\n count \\n then one line `epoch start-offset` each
    partition.metadata        `version: 0` \\n `topic_id: ` + 22 characters of URL-safe base64
    meta.properties           `version=0`, `broker.id=…`, `cluster.id=…`
    .kafka_cleanshutdown      `{"version":0,"brokerEpoch":…}` (older ones are empty)

All are replaced atomically (temporary file, fsync, rename), so a crash leaves the old or the new one.
"""

from __future__ import annotations

import base64
import binascii
import json
import uuid
from collections.abc import Iterable, Mapping

from broker_core.errors import ConfigError, CorruptData
from broker_core.model import TopicPartition
from broker_core.records.steps import Steps

CHECKPOINT_LIMIT_BYTES = 64 * 1024 * 1024
_VERSION = "0"
LINES_PER_STEP = 256


def _rows(text: str, path: str) -> list[list[str]]:
    lines = text.splitlines()
    try:
        version, count = lines[0].strip(), int(lines[1])
    except (IndexError, ValueError) as error:
        raise CorruptData(f"{path}: no version and count in its first two lines") from error
    if version != _VERSION:
        raise CorruptData(f"{path}: version {version!r}, known is {_VERSION}")
    rows = [line.split() for line in lines[2:] if line.strip()]
    if len(rows) != count:
        raise CorruptData(f"{path}: {count} entries announced, {len(rows)} found")
    return rows


def _text(rows: Iterable[str]) -> bytes:
    lines = list(rows)
    return "".join(f"{line}\n" for line in (_VERSION, str(len(lines)), *lines)).encode()


def encode_offsets(offsets: Mapping[TopicPartition, int]) -> Steps[bytes]:
    """In the order of the mapping."""
    lines = [f"{_VERSION}\n{len(offsets)}\n"]
    for number, (tp, offset) in enumerate(offsets.items(), 1):
        lines.append(f"{tp.topic} {tp.partition} {offset}\n")
        if number % LINES_PER_STEP == 0:
            yield
    return "".join(lines).encode()


def decode_offsets(data: bytes, path: str) -> dict[TopicPartition, int]:
    """`CorruptData` names the file and what is wrong."""
    offsets = {}
    for row in _rows(data.decode(errors="replace"), path):
        try:
            topic, partition, offset = row
            offsets[TopicPartition(topic, int(partition))] = int(offset)
        except ValueError as error:
            raise CorruptData(f"{path}: malformed line {' '.join(row)!r}") from error
    return offsets


def encode_epochs(entries: Iterable[tuple[int, int]]) -> bytes:
    return _text(f"{epoch} {start_offset}" for epoch, start_offset in entries)


def decode_epochs(data: bytes, path: str) -> list[tuple[int, int]]:
    """(epoch, start offset) in the file's order; `CorruptData` names the file and what is wrong."""
    entries = []
    for row in _rows(data.decode(errors="replace"), path):
        try:
            epoch, start_offset = row
            entries.append((int(epoch), int(start_offset)))
        except ValueError as error:
            raise CorruptData(f"{path}: malformed line {' '.join(row)!r}") from error
    return entries


def encode_topic_id(topic_id: uuid.UUID) -> str:
    """A topic id in Kafka's text form: 22 characters of URL-safe base64."""
    return base64.urlsafe_b64encode(topic_id.bytes).decode().rstrip("=")


def decode_topic_id(text: str) -> uuid.UUID:
    """`ValueError` unless the text is 16 bytes of URL-safe base64."""
    try:
        return uuid.UUID(bytes=base64.urlsafe_b64decode(text + "=="))
    except binascii.Error as error:
        raise ValueError(f"{text!r} is not a topic id") from error


def encode_partition_metadata(topic_id: uuid.UUID) -> bytes:
    return f"version: 0\ntopic_id: {encode_topic_id(topic_id)}".encode()


def decode_partition_metadata(data: bytes, path: str) -> uuid.UUID:
    fields = dict(line.split(": ", 1) for line in data.decode(errors="replace").splitlines() if ": " in line)
    if fields.get("version") != "0":
        raise CorruptData(f"{path}: version {fields.get('version')!r}, known is 0")
    try:
        return decode_topic_id(fields["topic_id"].strip())
    except (KeyError, ValueError) as error:
        raise CorruptData(f"{path}: no valid topic_id") from error


def encode_meta_properties(broker_id: int, cluster_id: str) -> bytes:
    return f"#\ncluster.id={cluster_id}\nversion=0\nbroker.id={broker_id}\n".encode()


def check_meta_properties(data: bytes, path: str, broker_id: int, cluster_id: str) -> None:
    """`ConfigError` when the folder is another broker's, another cluster's or of an unknown format."""
    lines = [line.strip() for line in data.decode(errors="replace").splitlines()]
    fields = dict(line.split("=", 1) for line in lines if "=" in line and not line.startswith(("#", "!")))
    fields = {key.strip(): value.strip().replace("\\", "") for key, value in fields.items()}
    if fields.get("version") != "0":
        raise ConfigError(f"{path}: format version {fields.get('version')!r}, this broker reads version 0")
    if fields.get("broker.id") != str(broker_id):
        raise ConfigError(f"{path} belongs to broker {fields.get('broker.id')}, this is broker {broker_id}: wrong log.dirs or broker.id")
    if fields.get("cluster.id", cluster_id) != cluster_id:
        raise ConfigError(f"{path} belongs to cluster {fields['cluster.id']}, not to {cluster_id}: wrong log.dirs or zookeeper.connect")


def encode_clean_shutdown(broker_epoch: int) -> bytes:
    return json.dumps({"version": 0, "brokerEpoch": broker_epoch}, separators=(",", ":")).encode()
