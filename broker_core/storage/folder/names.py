"""File and folder names inside a data folder.

    <topic>-<partition>/                     one replica's log
        00000000000000170410.log             segment whose first offset is 170410 (20 digits)
        00000000000000170410.index           offset index         .timeindex    time index
        00000000000000170410.txnindex        aborted transactions, only where there are some
        00000000000000170410.snapshot        producer state before offset 170410
        leader-epoch-checkpoint  partition.metadata
    <topic>-<partition>.<32 hex digits>-future/   the same replica's log to be, while it moves here from another data folder
    <topic>-<partition>.<32 hex digits>-delete/   deleted, to be removed

Suffixes on a segment's files: `.deleted` (to be removed), `.cleaned` (not in the log yet: a compaction's unfinished output),
`.swap` (its finished output, about to take the place of what it was made from).
"""

from __future__ import annotations

import re

from broker_core.model import TopicPartition

LOG = ".log"
OFFSET_INDEX = ".index"
TIME_INDEX = ".timeindex"
TXN_INDEX = ".txnindex"
SNAPSHOT = ".snapshot"
SEGMENT_SUFFIXES = (LOG, OFFSET_INDEX, TIME_INDEX, TXN_INDEX)

DELETED = ".deleted"
CLEANED = ".cleaned"
SWAP = ".swap"
DELETED_FOLDER = "-delete"
FUTURE_FOLDER = "-future"
NAME_CHARS_MAX = 255
"""Of a folder: what file systems take."""

EPOCH_CHECKPOINT = "leader-epoch-checkpoint"
PARTITION_METADATA = "partition.metadata"
CLEAN_SHUTDOWN = ".kafka_cleanshutdown"
META_PROPERTIES = "meta.properties"
RECOVERY_POINT_CHECKPOINT = "recovery-point-offset-checkpoint"
LOG_START_CHECKPOINT = "log-start-offset-checkpoint"
REPLICATION_CHECKPOINT = "replication-offset-checkpoint"
CLEANER_CHECKPOINT = "cleaner-offset-checkpoint"

_FOLDER = re.compile(r"(?P<topic>[a-zA-Z0-9._-]{1,249})-(?P<partition>[0-9]{1,10})")
_FUTURE = re.compile(_FOLDER.pattern + r"\.[^.]+-future")
_FILE = re.compile(r"(?P<offset>[0-9]{20})(?P<kind>\.(?:log|index|timeindex|txnindex|snapshot))(?P<suffix>\.(?:deleted|cleaned|swap))?")


def segment_path(directory: str, base_offset: int, kind: str, suffix: str = "") -> str:
    return f"{directory}/{base_offset:020d}{kind}{suffix}"


def parse_file(name: str) -> tuple[int, str, str] | None:
    """(offset, kind, suffix) of a segment's or snapshot's file name, None for any other file."""
    match = _FILE.fullmatch(name)
    if match is None:
        return None
    return int(match["offset"]), match["kind"], match["suffix"] or ""


def folder_name(topic_partition: TopicPartition) -> str:
    return f"{topic_partition.topic}-{topic_partition.partition}"


def parse_folder(name: str) -> TopicPartition | None:
    """The partition whose log a folder holds, None for a folder of any other kind (a deleted log's too)."""
    match = _FOLDER.fullmatch(name)
    return TopicPartition(match["topic"], int(match["partition"])) if match else None


def future_folder_name(topic_partition: TopicPartition, unique: bytes) -> str:
    """The name of a log that is to take its partition's place; it may be longer than `NAME_CHARS_MAX`."""
    return f"{folder_name(topic_partition)}.{unique.hex()}{FUTURE_FOLDER}"


def parse_future_folder(name: str) -> TopicPartition | None:
    """The partition whose future log a folder holds, None for any other folder."""
    match = _FUTURE.fullmatch(name)
    return TopicPartition(match["topic"], int(match["partition"])) if match else None


def deleted_folder_name(topic_partition: TopicPartition, unique: bytes) -> str:
    """The name a deleted log's folder gets: at most 255 characters, so a long topic is cut."""
    tail = f"-{topic_partition.partition}.{unique.hex()}{DELETED_FOLDER}"
    return topic_partition.topic[: NAME_CHARS_MAX - len(tail)] + tail
