"""Reads and changes the quotas of clients in ZooKeeper, as Kafka's `ZkAdminManager` does (KIP-546).

Both go to the store itself, so any broker can be asked, right after a change through another one. Brokers enforce what their
watch on `/config/changes` tells them (`quotas/client_quotas.py`).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import suppress
from ipaddress import ip_address
from math import isinf, isnan

from msgspec import Struct

from broker_core.admin.names import CONFIG_CHANGE_PREFIX
from broker_core.admin.topics import in_session, store_errors
from broker_core.config import ConfigHolder
from broker_core.config.key import INT_MAX, LONG_MAX
from broker_core.coordination import layout
from broker_core.coordination.store import BadVersion, NodeExists, NoNode, NotEmpty, Stat
from broker_core.coordination.znode_data import decode_config, encode_config, encode_config_change
from broker_core.errors import ErrorCode, KafkaError
from broker_core.quotas.entities import (
    CLIENT_ID,
    CLIENTS,
    CONNECTION_CREATION_RATE,
    CONSUMER_BYTE_RATE,
    IP,
    IPS,
    KEYS_OF_ADDRESSES,
    KEYS_OF_CLIENTS,
    PRODUCER_BYTE_RATE,
    USER,
    USERS,
    Entity,
    entity_at,
    path_of,
    sanitized,
)
from broker_core.seams import Node

WRITE_ATTEMPTS = 5
EPSILON = 1e-6
"""Doubles that stand for whole numbers may miss them by so much."""
_WHOLE = {PRODUCER_BYTE_RATE: ("LONG", LONG_MAX), CONSUMER_BYTE_RATE: ("LONG", LONG_MAX), CONNECTION_CREATION_RATE: ("INT", INT_MAX)}
_CREDENTIALS = ("SCRAM-SHA-256", "SCRAM-SHA-512")
"""Stand beside a user's quotas."""
_FILTER_WORDS = {USER: "user", CLIENT_ID: "client", IP: "ip"}

Described = list[tuple[Entity, Mapping[str, float]]]


class Wanted(Struct, frozen=True):
    """What a filter says of one type: `name` is that of one entity (None: the default's), unless `any` of the type will do."""

    name: str | None
    any: bool = False

    def takes(self, entity: Entity, kind: str) -> bool:
        return kind in entity and (self.any or entity[kind] == self.name)


Filter = Mapping[str, Wanted]


class QuotaAdmin:
    """Of one broker."""

    def __init__(self, node: Node, config: ConfigHolder) -> None:
        self._node = node
        self._config = config

    async def describe(self, wanted: Filter, *, strict: bool) -> Described:
        """What is set for the entities that the filter takes; `strict`: for those that have no type besides the filter's."""
        check_filter(wanted)
        return await in_session(self._node, self._config, "quotas", self._describe(wanted, strict))

    async def _describe(self, wanted: Filter, strict: bool) -> Described:
        found: Described = []
        with store_errors("quotas"):
            async for path in self._paths(wanted, strict):
                entity = entity_at(path)
                if entity is None or not _is_taken(entity, wanted, strict):
                    continue
                values, _ = await self._read(path)
                limits = {key: _double(path, values[key]) for key in _keys_of(entity) if key in values}
                if limits:
                    found.append((entity, limits))
        return found

    async def _paths(self, wanted: Filter, strict: bool) -> AsyncIterator[str]:
        """Those that the filter may take. What it names is looked up, and nothing else is listed for it."""
        user, client, address = (wanted.get(kind) for kind in (USER, CLIENT_ID, IP))
        if address is not None:
            for name in await self._named(IPS, address):
                yield f"{IPS}/{name}"
            return
        if not (strict and user is None):
            for name in await self._named(USERS, user):
                if client is None:
                    yield f"{USERS}/{name}"
                if not (strict and client is None):
                    for inner in await self._named(f"{USERS}/{name}/{CLIENTS}", client):
                        yield f"{USERS}/{name}/{CLIENTS}/{inner}"
        if user is None and not (strict and client is None):
            for name in await self._named(CLIENTS, client):
                yield f"{CLIENTS}/{name}"
        if not wanted and not strict:
            for name in await self._children(IPS):
                yield f"{IPS}/{name}"

    async def _named(self, folder: str, wanted: Wanted | None) -> list[str]:
        if wanted is not None and not wanted.any:
            return [sanitized(wanted.name)]
        return await self._children(folder)

    async def _children(self, folder: str) -> list[str]:
        try:
            return await self._node.store.children(f"{layout.CONFIGS}/{folder}")
        except NoNode:
            return []

    async def alter(self, entity: Entity, changes: Sequence[tuple[str, float | None]], *, validate_only: bool) -> None:
        """Sets the limits of an entity, one after the other; None takes one away. INVALID_REQUEST for what cannot be one."""
        check_entity(entity)
        path = path_of(entity)
        await in_session(self._node, self._config, f"the quota of {path}", self._alter(entity, path, changes, validate_only))

    async def _alter(self, entity: Entity, path: str, changes: Sequence[tuple[str, float | None]], validate_only: bool) -> None:
        with store_errors(f"the quota of {path}"):
            for _ in range(WRITE_ATTEMPTS):
                present, stat = await self._read(path)
                limits = altered(entity, present, changes)
                if validate_only:
                    return
                try:
                    await self._write(path, limits, stat)
                except (BadVersion, NodeExists, NoNode, NotEmpty):
                    continue
                await self._node.store.create(CONFIG_CHANGE_PREFIX, encode_config_change(path), sequence=True)
                return
        raise KafkaError(ErrorCode.REQUEST_TIMED_OUT, f"the quota of {path} kept changing while it was written")

    async def _read(self, path: str) -> tuple[dict[str, str], Stat | None]:
        try:
            data, stat = await self._node.store.get(f"{layout.CONFIGS}/{path}")
        except NoNode:
            return {}, None
        return decode_config(data), stat

    async def _write(self, path: str, limits: Mapping[str, str], stat: Stat | None) -> None:
        """What has nothing set any more goes, and with it what was there for it alone."""
        full = f"{layout.CONFIGS}/{path}"
        if not limits and not await self._children(path):
            if stat is not None:
                await self._node.store.delete(full, stat.version)
            await self._drop_parents(path)
        elif stat is not None:
            await self._node.store.set(full, encode_config(limits), stat.version)
        else:
            await self._make_parents(path)
            await self._node.store.create(full, encode_config(limits))

    async def _make_parents(self, path: str) -> None:
        parts = path.split("/")
        for length in range(1, len(parts)):
            with suppress(NodeExists):
                await self._node.store.create(f"{layout.CONFIGS}/{'/'.join(parts[:length])}", b"")

    async def _drop_parents(self, path: str) -> None:
        """Of a user's client id: the folder of them if that was the last, and the user if that has no limits of its own."""
        parts = path.split("/")
        if len(parts) < 4:
            return
        user = "/".join(parts[:2])
        with suppress(NotEmpty, NoNode, BadVersion):
            await self._node.store.delete(f"{layout.CONFIGS}/{user}/{CLIENTS}")
            values, stat = await self._read(user)
            if not values and stat is not None:
                await self._node.store.delete(f"{layout.CONFIGS}/{user}", stat.version)


def check_filter(wanted: Filter) -> None:
    """Raises for a filter of types that no entity has, or has together."""
    for kind in wanted:
        if not kind:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "Unexpected empty filter component entity type")
        if kind not in _FILTER_WORDS:
            raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, f"Custom entity type '{kind}' not supported")
    if IP in wanted and len(wanted) > 1:
        text = "Invalid entity filter component combination, IP filter component should not be used with user or clientId filter component."
        raise KafkaError(ErrorCode.INVALID_REQUEST, text)


def filter_of(components: Iterable[tuple[str, Wanted]]) -> Filter:
    """INVALID_REQUEST where a type is named twice."""
    wanted: dict[str, Wanted] = {}
    for kind, one in components:
        if kind in wanted and kind in _FILTER_WORDS:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"Duplicate {_FILTER_WORDS[kind]} filter component entity type")
        wanted[kind] = one
        check_filter({kind: one})
    return wanted


def _is_taken(entity: Entity, wanted: Filter, strict: bool) -> bool:
    """Addresses are beside users and client ids: a filter of these takes none."""
    if any(not one.takes(entity, kind) for kind, one in wanted.items()):
        return False
    return not strict or entity.keys() == wanted.keys()


def check_entity(entity: Entity) -> None:
    """INVALID_REQUEST for what is nobody's quota."""
    if not entity:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "Invalid empty client quota entity")
    for kind, name in entity.items():
        if kind not in _FILTER_WORDS:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"Unhandled client quota entity type: {kind}")
        if name == "":
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"Empty {kind} not supported")
    if IP not in entity:
        return
    if len(entity) > 1:
        text = "Invalid quota entity combination, IP entity should not be used with user/client ID entity."
        raise KafkaError(ErrorCode.INVALID_REQUEST, text)
    if entity[IP] is not None:
        _check_address(sanitized(entity[IP]))


def _check_address(address: str) -> None:
    """As it is written into the path: no IPv6 address gets past that, in Kafka either. No name is looked up here."""
    try:
        ip_address(address)
    except ValueError:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"{address} is not a valid IP or resolvable host.") from None


def _keys_of(entity: Entity) -> tuple[str, ...]:
    return KEYS_OF_ADDRESSES if IP in entity else KEYS_OF_CLIENTS


def altered(entity: Entity, present: Mapping[str, str], changes: Iterable[tuple[str, float | None]]) -> dict[str, str]:
    """All that is set after the changes, as it is written."""
    limits = dict(present)
    for key, value in changes:
        if value is None:
            limits.pop(key, None)
        elif key in _keys_of(entity):
            limits[key] = _text(key, value)
        elif USER in entity and key in _CREDENTIALS:
            raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, f"{key} is no quota")
        else:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"Invalid configuration key {key}")
    return limits


def _text(key: str, value: float) -> str:
    if key not in _WHOLE:
        return java_double(value)
    name, most = _WHOLE[key]  # a negative one is cut to what is above it, and so never whole, as in Kafka
    whole = 0 if isnan(value) else int(min(max(value + EPSILON, -most - 1), most))
    if abs(float(whole) - value) > EPSILON:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"Configuration {key} must be a {name} value")
    return str(whole)


def java_double(value: float) -> str:
    """As Java writes a double: 100.0, 1.0E7, 1.0E-4."""
    if isnan(value):
        return "NaN"
    if isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return repr(float(value))
    digits, _, exponent = _scientific(value).partition("e")
    return f"{digits if '.' in digits else digits + '.0'}E{int(exponent)}"


def _scientific(value: float) -> str:
    """The shortest digits that are the value, with an exponent."""
    for precision in range(17):
        text = f"{value:.{precision}e}"
        if float(text) == value:
            return text
    return f"{value:.17e}"


def _double(path: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, f"{path} has {text[:100]!r} where a number is due") from None
