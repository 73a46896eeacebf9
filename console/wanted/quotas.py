"""Quotas of clients as a wanted state has them: whose they are, what they limit, and what differs. Pure.

An entity is Kafka's: a user, a client id, both together, or an address (`ip`); `<default>` stands for all that have none of their own.
Written as `user=alice,client-id=app`, with names percent-encoded, so that any name can be told from `<default>` and from another part.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from urllib.parse import quote, unquote

import msgspec

from console.rules.words import counted
from console.wanted.model import Change, Drift, Limits, Steps, WantedQuota

OBJECT = "quota/"
DEFAULT = "<default>"
TYPES = ("user", "client-id", "ip")
OF_CLIENTS = ("producer_byte_rate", "consumer_byte_rate", "request_percentage", "controller_mutation_rate")
OF_ADDRESSES = ("connection_creation_rate",)
NOT_AVAILABLE = "Quotas of clients are not available from this cluster: its brokers do not serve AlterClientQuotas."
Entity = Mapping[str, str | None]
"""Names by type; None: the default."""


def written(entity: Entity) -> str:
    return ",".join(f"{kind}={DEFAULT if name is None else quote(name, safe='')}" for kind, name in sorted(entity.items(), key=_rank))


def _rank(part: tuple[str, str | None]) -> int:
    return TYPES.index(part[0]) if part[0] in TYPES else len(TYPES)


def entity_of(text: str) -> dict[str, str | None]:
    """The other way round."""
    parts = [part.partition("=") for part in text.split(",")]
    return {kind: None if name == DEFAULT else unquote(name) for kind, _, name in parts}


def in_words(text: str) -> str:
    """`user alice with client-id app`, `every ip`."""
    return " with ".join(f"every {kind}" if name is None else f"{kind} {name}" for kind, name in entity_of(text).items())


def keys_of(entity: Entity) -> tuple[str, ...]:
    """What can be limited of it."""
    return OF_ADDRESSES if "ip" in entity else OF_CLIENTS


def drifts(wanted: Mapping[str, WantedQuota], actual: Mapping[str, Limits] | None) -> Iterator[Drift]:
    """Of what is wanted, by entity; `actual` is None where the cluster has no quotas."""
    for text in sorted(wanted):
        if (drift := _drift(text, wanted[text], None if actual is None else actual.get(text, {}), is_told=actual is not None)) is not None:
            yield drift


def unwanted(wanted: Mapping[str, WantedQuota], actual: Mapping[str, Limits] | None) -> Iterator[Drift]:
    """Quotas that are there and in no file, where any are wanted."""
    for text in sorted((actual or {}).keys() - wanted.keys()):
        limits = (actual or {})[text]
        words = f"A quota of {in_words(text)} is there ({counted(len(limits), 'limit')}), and nobody wants it."
        yield Drift(f"{OBJECT}{text}", "unmanaged", words, None, [], [], [], _seen({}, limits))


def _drift(text: str, wanted: WantedQuota, actual: Limits | None, *, is_told: bool) -> Drift | None:
    name, place = f"{OBJECT}{text}", str(wanted.place)
    if not is_told or actual is None:
        words = f"Whether the quota of {in_words(text)} is as wanted cannot be told."
        return Drift(name, "impossible", words, place, [], [], [NOT_AVAILABLE], _seen(wanted.limits, {}))
    steps: dict[str, float | None] = {key: value for key, value in wanted.limits.items() if actual.get(key) != value}
    steps |= {key: None for key in actual if key not in wanted.limits}
    if not steps:
        return None
    changes = [Change(key, _figure(actual.get(key)), _figure(value)) for key, value in steps.items()]
    words = f"The quota of {in_words(text)} {'differs' if actual else 'is not there'}: {', '.join(steps)}."
    return Drift(name, "differs" if actual else "missing", words, place, changes, [], [], _seen(wanted.limits, actual), Steps(quota=steps))


def _figure(value: float | None) -> float | int | None:
    return int(value) if value is not None and value.is_integer() else value


def _seen(wanted: Limits, actual: Limits) -> str:
    return hashlib.sha256(msgspec.json.encode([wanted, actual], order="deterministic")).hexdigest()[:32]
