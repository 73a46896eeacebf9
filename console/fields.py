"""Text and JSON as any client may name things, in databases that refuse some of it.

PostgreSQL takes no NUL in a text and nothing longer than its column: one group that is called so would fail the whole batch of rows. A
NUL is written as `␀0` and `␀` as `␀␀`, so that different names stay different and are read as they were; what is too long ends with
a digest of the whole. SQLite, which takes all of it, is given the same.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from django.db import models

if TYPE_CHECKING:
    CharField = models.CharField[str, str]
else:
    CharField = models.CharField

MARK = "␀"
DIGEST_CHARACTERS = 16


def written(text: str, characters_max: int | None = None) -> str:
    """As it stands in the database; queries ask for this form, too."""
    text = text.replace(MARK, MARK + MARK).replace("\0", MARK + "0")
    if characters_max is None or len(text) <= characters_max:
        return text
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:DIGEST_CHARACTERS]
    room = max(characters_max - DIGEST_CHARACTERS - 1, 0)
    return (text[:room] + "…" + digest)[:characters_max]


def read(text: str) -> str:
    """What `written` was given, but for what was too long."""
    if MARK not in text:
        return text
    return MARK.join(part.replace(MARK + "0", "\0") for part in text.split(MARK + MARK))


class NameField(CharField):
    """A `CharField` for any text; to migrations it is no other."""

    def deconstruct(self) -> Any:
        name, _, arguments, keywords = super().deconstruct()
        return name, "django.db.models.CharField", arguments, keywords

    def get_prep_value(self, value: Any) -> Any:
        value = super().get_prep_value(value)
        return written(value, self.max_length) if isinstance(value, str) else value

    def from_db_value(self, value: str | None, *_: Any) -> str | None:
        return read(value) if value else value


class AnyJSONField(models.JSONField):
    """A `JSONField` whose texts may hold anything."""

    def deconstruct(self) -> Any:
        name, _, arguments, keywords = super().deconstruct()
        return name, "django.db.models.JSONField", arguments, keywords

    def get_db_prep_value(self, value: Any, connection: Any, prepared: bool = False) -> Any:
        return super().get_db_prep_value(_each(value, written), connection, prepared)

    def from_db_value(self, value: Any, expression: Any, connection: Any) -> Any:
        return _each(super().from_db_value(value, expression, connection), read)


def _each(value: Any, change: Any) -> Any:
    """The value with every text in it changed."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {_each(key, change): _each(item, change) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_each(item, change) for item in value]
    return value
