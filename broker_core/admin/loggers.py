"""The levels of this process's loggers, read and changed while it runs: Kafka's resource BROKER_LOGGER (KIP-412).

Names are those of Python's loggers, and `root`; levels have Kafka's names. Nothing of it is kept: the next start has the levels that
it is started with.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator

from msgspec import Struct

from broker_core.errors import ErrorCode, KafkaError

log = logging.getLogger(__name__)

ROOT = "root"
LEVELS = {
    "FATAL": logging.CRITICAL,
    "ERROR": logging.ERROR,
    "WARN": logging.WARNING,
    "INFO": logging.INFO,
    "DEBUG": logging.DEBUG,
    "TRACE": logging.DEBUG // 2,
}
"""From the rarest lines to the most frequent; Python has no TRACE, so nothing more is written than for DEBUG."""


class LevelChange(Struct, frozen=True):
    """A level that a logger gets, or None: that of the one above it."""

    logger: str
    level: str | None


def levels() -> dict[str, str]:
    """Each logger's level, its own or the one that it has from above."""
    return {ROOT: _level_name(logging.getLogger()), **{one.name: _level_name(one) for one in _existing()}}


def check_levels(changes: Iterable[LevelChange]) -> None:
    """INVALID_CONFIG for a logger or level that there is not, INVALID_REQUEST for a root without a level."""
    known = levels()
    for change in changes:
        if change.logger not in known:
            raise KafkaError(ErrorCode.INVALID_CONFIG, f"Logger {change.logger} does not exist!")
        if change.level is None and change.logger == ROOT:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"Removing the log level of the {ROOT} logger is not allowed")
        if change.level is not None and change.level not in LEVELS:
            words = f"Cannot set the log level of {change.logger} to {change.level[:100]} as it is not a supported log level."
            raise KafkaError(ErrorCode.INVALID_CONFIG, f"{words} Valid log levels are {', '.join(sorted(LEVELS))}")


def set_levels(changes: Iterable[LevelChange]) -> None:
    """Takes effect with the next line; `changes` have been checked."""
    for change in changes:
        logger = logging.getLogger() if change.logger == ROOT else logging.getLogger(change.logger)
        logger.setLevel(logging.NOTSET if change.level is None else LEVELS[change.level])
        log.warning("a logger's level was changed", extra={"logger": change.logger, "level": change.level or "that of the one above"})


def _existing() -> Iterator[logging.Logger]:
    """What was asked for by name; names between two of them are no loggers."""
    known = logging.getLogger().manager.loggerDict
    return (known_as for _, known_as in sorted(known.items()) if isinstance(known_as, logging.Logger))


def _level_name(logger: logging.Logger) -> str:
    number = logger.getEffectiveLevel()
    return next((name for name, level in LEVELS.items() if level <= number), "TRACE")
