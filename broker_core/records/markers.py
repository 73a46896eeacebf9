"""The control batch that ends a producer's transaction in a partition (KIP-98).

key    version i16 (0), type i16: 0 abort, 1 commit
value  version i16 (0), the coordinator's epoch i32
"""

from __future__ import annotations

import struct

from broker_core.records.batch import Record, build_batch

_KEY = struct.Struct(">hh")
_VALUE = struct.Struct(">hi")
_VERSION = 0
ABORT, COMMIT = 0, 1


def end_marker(producer_id: int, producer_epoch: int, *, commit: bool, coordinator_epoch: int, now_ms: int) -> bytes:
    key, value = _KEY.pack(_VERSION, COMMIT if commit else ABORT), _VALUE.pack(_VERSION, coordinator_epoch)
    return build_batch(
        [Record(0, now_ms, key, value, ())],
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        transactional=True,
        control=True,
        timestamp_ms=now_ms,
    )
