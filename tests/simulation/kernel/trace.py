"""What happened, as a digest: two runs with the same digest made the same steps with the same bytes in the same order."""

from __future__ import annotations

import hashlib
import zlib
from collections import Counter, deque

LINES_KEPT = 2000


class Trace:
    """`lines` are the last events as text, `counts` all of them by kind, `steps` the callbacks run."""

    def __init__(self) -> None:
        self.lines: deque[str] = deque(maxlen=LINES_KEPT)
        self.counts: Counter[str] = Counter()
        self.steps = 0
        self._events = hashlib.blake2b(digest_size=16)
        self._schedule = 0

    def step(self, now_us: int, node_number: int) -> None:
        self.steps += 1
        self._schedule = hash((self._schedule, now_us, node_number))

    def record(self, now_us: int, node: str, kind: str, detail: str = "", data: bytes | bytearray | memoryview = b"") -> None:
        """`data` enters the digest by its CRC and length."""
        line = f"{now_us / 1000:.3f} {node} {kind} {detail}"
        if len(data):
            line += f" {len(data)}B {zlib.crc32(data):08x}"
        self.counts[kind] += 1
        self.lines.append(line)
        self._events.update(line.encode())

    def digest(self) -> str:
        return f"{self._events.hexdigest()}-{self._schedule & (2**64 - 1):016x}-{self.steps}"
