"""Limits of the coordinator that Kafka does not have a setting for. All guard memory against clients that invent names."""

from __future__ import annotations

from broker_core.errors import ErrorCode, KafkaError

MAX_STRING_BYTES = 32_767
"""The longest text that the records' int16 length can carry."""

MAX_UTF8_BYTES = 4
"""The most bytes of one character."""

MAX_INSTANCE_ID_CHARS = 249
"""As for topic names; Kafka's clients refuse longer ones."""

MAX_MEMBER_ID_PREFIX_CHARS = 249
"""How much of a client or instance id goes into a member id."""

MAX_GROUPS = 100_000
"""Groups of one coordinator."""

MAX_PENDING_MEMBERS = 10_000
"""Member ids of one group that were given out and have not joined yet; each lasts one session timeout."""

assert MAX_INSTANCE_ID_CHARS <= MAX_MEMBER_ID_PREFIX_CHARS < MAX_STRING_BYTES


def check_strings(*texts: str | None) -> None:
    """INVALID_REQUEST for a text that no record could carry."""
    for text in texts:
        if text is not None and len(text.encode()) > MAX_STRING_BYTES:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"a text of {len(text)} characters is too long: {text[:40]!r}…")


def check_instance_id(instance_id: str | None) -> None:
    """INVALID_CONFIG, as Kafka's clients report it, for an instance id that is not a legal name."""
    if instance_id is None:
        return
    legal = instance_id not in ("", ".", "..") and all(c.isascii() and (c.isalnum() or c in "._-") for c in instance_id)
    if not legal or len(instance_id) > MAX_INSTANCE_ID_CHARS:
        raise KafkaError(
            ErrorCode.INVALID_CONFIG,
            f"group instance id {instance_id[:40]!r} is not 1 to {MAX_INSTANCE_ID_CHARS} letters, digits, '.', '_' or '-'",
        )
