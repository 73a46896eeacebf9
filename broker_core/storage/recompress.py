"""A topic's own `compression.type` and level: batches in another codec are compressed anew when they arrive."""

from __future__ import annotations

from broker_core.config import TopicConfig
from broker_core.errors import CorruptData, ErrorCode, KafkaError
from broker_core.records.batch import check_batch, parse_header, read_records
from broker_core.records.compression import Codec
from broker_core.storage.rewrite import rewrite_batch

AS_PRODUCED = "producer"
_CODECS = {"uncompressed": Codec.NONE, "gzip": Codec.GZIP, "snappy": Codec.SNAPPY, "lz4": Codec.LZ4, "zstd": Codec.ZSTD}
_CODEC_MASK = 0x07


def in_codec(data: bytes | bytearray | memoryview, config: TopicConfig) -> bytes | bytearray | memoryview:
    """The batches, each in the topic's codec; `KafkaError` CORRUPT_MESSAGE when one cannot be read."""
    if config.compression_type == AS_PRODUCED:
        return data
    codec = _CODECS[config.compression_type]
    found, position = bytearray(), 0
    try:
        while position < len(data):
            header = parse_header(data, position)
            check_batch(data, position, header)
            if header.magic < 2 or header.compression == codec or header.is_control:
                found += data[position : position + header.size_bytes]
            else:
                records = read_records(data, position, header)
                header.attributes = header.attributes & ~_CODEC_MASK | codec
                found += rewrite_batch(header, records, None, _level(codec, config))
            position += header.size_bytes
    except CorruptData as error:
        raise KafkaError(ErrorCode.CORRUPT_MESSAGE, str(error)) from error
    return found


def _level(codec: Codec, config: TopicConfig) -> int | None:
    levels = {
        Codec.GZIP: config.compression_gzip_level,
        Codec.LZ4: config.compression_lz4_level,
        Codec.ZSTD: config.compression_zstd_level,
    }
    return levels.get(codec)
