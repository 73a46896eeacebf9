"""What one broker knows of its cluster. A client's library asks whichever it likes, and the others may not know it yet."""

from __future__ import annotations

import socket
import struct
from collections.abc import Sequence
from typing import Any

from broker_core.protocol.api import ApiKey
from broker_core.protocol.codec import decode_response
from broker_core.protocol.headers import encode_request_frame


def metadata_of(port: int, topics: Sequence[str] = ()) -> Any:
    """The answer of the broker at that port, None where it gives none."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=10) as connection, connection.makefile("rwb") as stream:
            asked = {"topics": [{"name": name} for name in topics], "allow_auto_topic_creation": False}
            frame = encode_request_frame(ApiKey.METADATA, 4, 1, "probe", asked)
            stream.write(struct.pack(">i", len(frame)) + frame)
            stream.flush()
            (size,) = struct.unpack(">i", stream.read(4))
            answer = stream.read(size)
            return decode_response(ApiKey.METADATA, 4, answer, 4) if len(answer) == size else None
    except (OSError, struct.error):
        return None
