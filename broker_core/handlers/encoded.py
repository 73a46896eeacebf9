"""Encoded responses that stay right until the cluster's metadata changes (the Metadata answer of a big cluster is dear to build)."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable

CACHED_RESPONSES_MAX = 256
CACHED_BYTES_MAX = 16 * 1024 * 1024


class EncodedCache:
    """Response bodies by request shape, all of one metadata version; least recently used ones go first."""

    def __init__(self) -> None:
        self._version = -1
        self._bodies: OrderedDict[Hashable, bytes] = OrderedDict()
        self._bytes = 0

    def get(self, version: int, shape: Hashable) -> bytes | None:
        """The body of a request of this shape, if it was encoded from this metadata version."""
        if version != self._version:
            return None
        body = self._bodies.get(shape)
        if body is not None:
            self._bodies.move_to_end(shape)
        return body

    def put(self, version: int, shape: Hashable, body: bytes) -> None:
        """Keeps a body; those of older versions are dropped."""
        if version != self._version:
            self._version = version
            self._bodies.clear()
            self._bytes = 0
        if shape not in self._bodies and len(body) <= CACHED_BYTES_MAX:
            self._bodies[shape] = body
            self._bytes += len(body)
            self._trim()

    def _trim(self) -> None:
        while len(self._bodies) > CACHED_RESPONSES_MAX or self._bytes > CACHED_BYTES_MAX:
            _, body = self._bodies.popitem(last=False)
            self._bytes -= len(body)
