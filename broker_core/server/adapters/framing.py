"""What both ends of a connection know of frames: a 4-byte big-endian signed size, then that many bytes."""

from __future__ import annotations

import struct

SIZE = struct.Struct(">i")
MAX_FRAME_BYTES = 256 * 1024 * 1024
"""Of an answer that a client takes; requests have `socket.request.max.bytes`."""
