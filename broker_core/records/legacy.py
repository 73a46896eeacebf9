"""Conversion between record batches and the message sets before them.

Stored are batches only: what Produce v0–2 brings is converted up, what Fetch v0–3 asks for is converted down (magic 0 for
v0 and v1, magic 1 for v2 and v3). Both walk every record, and are meant for old clients and segments only.
"""

from __future__ import annotations

from broker_core.errors import CorruptData, ErrorCode, KafkaError
from broker_core.records.batch import build_batch, read_records
from broker_core.records.compression import MAX_OUTPUT_BYTES, Codec
from broker_core.records.header import MAGIC_POSITION, Buffer, check_batch, iter_headers
from broker_core.records.message_set import build_message_set, parse_messages, records_of

__all__ = ["build_message_set", "down_convert", "is_legacy", "up_convert"]


def is_legacy(data: Buffer) -> bool:
    """Whether the bytes of a Produce request start with a message of magic 0 or 1."""
    return len(data) > MAGIC_POSITION and data[MAGIC_POSITION] < 2


def up_convert(data: Buffer, limit_bytes: int = MAX_OUTPUT_BYTES) -> bytes:
    """A message set as one batch with offsets from 0, compressed as its first message is; `CorruptData` if unreadable."""
    messages = parse_messages(bytes(data))
    if not messages:
        raise CorruptData("a message set without messages")
    records = []
    for message in messages:
        records += records_of(message, limit_bytes)
    numbered = [record._replace(offset=index) for index, record in enumerate(records)]
    return build_batch(numbered, compression=messages[0].codec)


def down_convert(data: Buffer, magic: int, first_offset: int, limit_bytes: int = MAX_OUTPUT_BYTES) -> bytes:
    """The whole batches of `data` as messages of `magic` 0 or 1.

    Control batches are left out, and of uncompressed batches the records below `first_offset` (some versions of librdkafka
    rely on it). `KafkaError` UNSUPPORTED_COMPRESSION_TYPE for zstd, which the old formats do not know.
    """
    out = bytearray()
    for position, header in iter_headers(data):
        if header.is_control:
            continue
        if header.compression == Codec.ZSTD:
            raise KafkaError(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, f"the zstd batch at offset {header.base_offset} needs Fetch v10")
        if header.magic <= magic:
            out += memoryview(data)[position : position + header.size_bytes]
            continue
        check_batch(data, position, header)
        records = read_records(data, position, header, limit_bytes)
        if header.compression == Codec.NONE:
            records = [record for record in records if record.offset >= first_offset]
        out += build_message_set(records, magic, header.compression, header.timestamp_type)
    return bytes(out)
