"""What a setting of a topic, of a broker or of all brokers is, and whose it is."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Annotated, Literal, NamedTuple

import msgspec
from msgspec import Meta, Struct

HIDDEN = "hidden"
_SECRET = ("password", "secret", "jaas", "keystore.key", "credential")
SetFor = Literal["topic", "this broker", "all brokers", "in its file", ""]


class Owner(NamedTuple):
    """Whose settings: of the topic or the broker of that name, or (kind `brokers`, no name) those of all brokers together."""

    kind: Literal["topic", "broker", "brokers"]
    name: str = ""

    @property
    def words(self) -> str:
        return {"topic": self.name, "broker": f"broker {self.name}", "brokers": "all brokers"}[self.kind]

    @property
    def set_for(self) -> SetFor:
        """What `Setting.set_for` is where the owner has a value of its own."""
        own: dict[str, SetFor] = {"topic": "topic", "broker": "this broker", "brokers": "all brokers"}
        return own[self.kind]


class Setting(Struct, frozen=True, kw_only=True):
    """Secrets have no values."""

    name: str
    value: Annotated[str | None, Meta(description="in force")]
    set_for: Annotated[SetFor, Meta(description="where the value in force is set; empty: nowhere, it is the default")]
    own: Annotated[str | None, Meta(description="what is set here; null: nothing")]
    otherwise: Annotated[str | None, Meta(description="what is in force here where nothing is set here")]
    otherwise_for: Annotated[SetFor, Meta(description="where that is set")]
    default: Annotated[str | None, Meta(description="the broker's default, where it tells one")]
    read_only: bool
    sensitive: bool
    doc: str
    type: Annotated[str, Meta(description="boolean, string, int, short, long, double, list, class, password; empty: unknown")]
    choices: list[str]
    group: Annotated[str, Meta(description="of the form: retention, replication, cleaning, …")]
    told: Annotated[str, Meta(description="the value with its units")]

    @property
    def is_own(self) -> bool:
        return self.own is not None


def without_secrets(values: Mapping[str, str | None], settings: Iterable[Setting] = ()) -> dict[str, str | None]:
    """For the audit. By the names, too: the brokers may not have told yet which of them are secret."""
    secret = {one.name for one in settings if one.sensitive}
    return {
        name: HIDDEN if value is not None and (name in secret or any(word in name for word in _SECRET)) else value
        for name, value in values.items()
    }


def etag(settings: Iterable[Setting]) -> str:
    """Of what is set here, whatever is in force otherwise."""
    own = sorted((one.name, one.own) for one in settings if one.own is not None)
    return f'"{hashlib.sha256(msgspec.json.encode(own)).hexdigest()[:32]}"'
