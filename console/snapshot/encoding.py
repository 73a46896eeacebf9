"""Values as JSON, as Redis has them: written from their types and read back into them."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import TypeVar

import msgspec

log = logging.getLogger(__name__)
T = TypeVar("T")
_encoder = msgspec.json.Encoder()


def encode(value: object) -> str:
    return _encoder.encode(value).decode()


def decode(text: str | bytes | None, kind: type[T]) -> T | None:
    """None where there is nothing, or nothing of this type: what another version wrote is as good as absent."""
    try:
        return msgspec.json.decode(text, type=kind) if text else None
    except msgspec.DecodeError as error:
        log.warning("a value of the snapshot is no %s and is left out: %s", kind.__name__, error)
        return None


def decode_all(texts: Iterable[str | bytes | None], kind: type[T]) -> list[T]:
    """Without those that are gone."""
    return [found for text in texts if (found := decode(text, kind)) is not None]
