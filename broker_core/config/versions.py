"""The versions that Apache Kafka 3.9 knows by name (its `MetadataVersion`): releases, and the steps between them as `3.0-IV1`."""

from __future__ import annotations

_STEPS = {
    "0.10.0": 2, "0.10.1": 3, "0.10.2": 1, "0.11.0": 3, "1.0": 1, "1.1": 1, "2.0": 2, "2.1": 3, "2.2": 2, "2.3": 2, "2.4": 2, "2.5": 1,
    "2.6": 1, "2.7": 3, "2.8": 2, "3.0": 2, "3.1": 1, "3.2": 1, "3.3": 4, "3.4": 1, "3.5": 3, "3.6": 3, "3.7": 5, "3.8": 1, "3.9": 1,
}  # fmt: skip
"""Releases and how many steps led to each, counted from IV0."""
_WITHOUT_STEPS = ("0.8.0", "0.8.1", "0.8.2", "0.9.0")
_TO_COME = ("4.0-IV0", "4.0-IV1")

_IN_ORDER = (*_WITHOUT_STEPS, *(f"{release}-IV{step}" for release, steps in _STEPS.items() for step in range(steps)), *_TO_COME)
_RANKS = {name: rank for rank, name in enumerate(_IN_ORDER)}
_RANKS |= {release: _RANKS[f"{release}-IV{steps - 1}"] for release, steps in _STEPS.items()}


def is_version(text: str) -> bool:
    """Whether Kafka takes it for a version: what follows a release's own numbers (2.8.1, 0.10.0.0) does not count."""
    return _name(text) in _RANKS


def rank(text: str) -> int:
    """Where a version stands among all: greater is later, a release is its last step. `KeyError` for what is no version."""
    return _RANKS[_name(text)]


def _name(text: str) -> str:
    parts = text.rstrip(".").split(".") if text.strip(".") else [text]
    numbers = 3 if text.startswith("0.") else 2
    return text if len(parts) <= numbers else ".".join(parts[:numbers])
