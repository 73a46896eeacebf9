"""A topic's own `compression.type` and level."""

from __future__ import annotations

from broker_core.config import TopicConfig
from broker_core.records.batch import BatchHeader
from broker_core.records.compression import Codec

AS_PRODUCED = "producer"
_CODECS = {"uncompressed": Codec.NONE, "gzip": Codec.GZIP, "snappy": Codec.SNAPPY, "lz4": Codec.LZ4, "zstd": Codec.ZSTD}


def wanted_codec(config: TopicConfig, header: BatchHeader) -> int:
    """The codec in which a batch is stored."""
    return header.compression if config.compression_type == AS_PRODUCED else _CODECS[config.compression_type]


def level_for(codec: int, config: TopicConfig) -> int | None:
    levels = {
        Codec.GZIP: config.compression_gzip_level,
        Codec.LZ4: config.compression_lz4_level,
        Codec.ZSTD: config.compression_zstd_level,
    }
    return levels.get(Codec(codec))
