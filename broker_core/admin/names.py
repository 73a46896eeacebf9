"""Rules for topic names (Kafka's `Topic` class), and the names that mean something."""

from __future__ import annotations

import re
from collections.abc import Iterable

from broker_core.coordination.layout import CONFIG_CHANGES
from broker_core.errors import ErrorCode, KafkaError

TOPIC_NAME_LENGTH_MAX = 249
DEFAULT_ENTITY = "<default>"
CONFIG_CHANGE_PREFIX = f"{CONFIG_CHANGES}/config_change_"
_LEGAL = re.compile(r"[a-zA-Z0-9._-]+")


def check_topic_name(name: str) -> None:
    """Raises INVALID_TOPIC_EXCEPTION unless the name may be a topic's (and so a folder's)."""
    if not name:
        raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, "Topic name is invalid: the empty string is not allowed")
    if name in (".", ".."):
        raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"Topic name is invalid: '{name}' is not allowed")
    if len(name) > TOPIC_NAME_LENGTH_MAX:
        raise KafkaError(
            ErrorCode.INVALID_TOPIC_EXCEPTION,
            f"Topic name is invalid: the length of '{name}' is longer than the max allowed length {TOPIC_NAME_LENGTH_MAX}",
        )
    if not _LEGAL.fullmatch(name):
        raise KafkaError(
            ErrorCode.INVALID_TOPIC_EXCEPTION,
            f"Topic name is invalid: '{name}' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'",
        )


def is_topic_name(name: str) -> bool:
    try:
        check_topic_name(name)
    except KafkaError:
        return False
    return True


def collisions(name: str, existing: Iterable[str]) -> list[str]:
    """Existing topics that differ from `name` only in '.' against '_': their metrics would have one name."""
    unified = name.replace(".", "_")
    return sorted(other for other in existing if other != name and other.replace(".", "_") == unified)
