"""Users' SCRAM credentials as ZooKeeper has them (KIP-554): `/config/users/NAME`, beside the user's quotas.

    {"version": 1, "config": {"SCRAM-SHA-256": "salt=…,stored_key=…,server_key=…,iterations=4096"}}

A client sends its password salted and hashed; what is kept of it (RFC 5802) proves that somebody knows the password and does not let
anybody act as who does. Listeners of this broker ask nobody who he is; those of an Apache Kafka broker of the same cluster may.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import logging
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TypeVar
from urllib.parse import quote, unquote

from msgspec import Struct

from broker_core.admin.names import CONFIG_CHANGE_PREFIX
from broker_core.admin.topics import in_session, store_errors
from broker_core.config import ConfigHolder
from broker_core.coordination.layout import CONFIGS, config_path
from broker_core.coordination.store import BadVersion, Malformed, NodeExists, NoNode, NotEmpty, Stat
from broker_core.coordination.znode_data import decode_config, encode_config, encode_config_change
from broker_core.errors import ErrorCode, KafkaError
from broker_core.seams import Node

log = logging.getLogger(__name__)

USERS = "users"
MECHANISMS = {1: "SCRAM-SHA-256", 2: "SCRAM-SHA-512"}
_HASHES = {1: "sha256", 2: "sha512"}
ITERATIONS_MIN = 4096
ITERATIONS_MAX = 16384
WRITE_ATTEMPTS = 3
_ITERATIONS = re.compile(r"(?:^|,)iterations=(\d{1,10})(?:,|$)")

T = TypeVar("T", "Upsertion", "Deletion")

Described = Mapping[int, int]
"""Iterations by mechanism."""


class Upsertion(Struct, frozen=True):
    user: str
    mechanism: int
    iterations: int
    salt: bytes
    salted_password: bytes


class Deletion(Struct, frozen=True):
    user: str
    mechanism: int


class ScramAdmin:
    """Reads and changes credentials; each user's are changed together, or not at all."""

    def __init__(self, node: Node, config: ConfigHolder) -> None:
        self._node = node
        self._config = config

    async def describe(self, users: Sequence[str]) -> dict[str, Described | KafkaError]:
        """Of each user named, and an error for one that has none; without names of all that have some."""
        if not users:
            return await in_session(self._node, self._config, "the users' credentials", self._describe_all())
        found: dict[str, Described | KafkaError] = {}
        for user, count in Counter(users).items():
            if not user:
                found[user] = KafkaError(ErrorCode.RESOURCE_NOT_FOUND, "Username must not be empty")
            elif count > 1:
                message = f"Cannot describe SCRAM credentials for the same user twice in a single request: {user}"
                found[user] = KafkaError(ErrorCode.DUPLICATE_RESOURCE, message)
            else:
                found[user] = await self._described(user)
        return found

    async def _describe_all(self) -> dict[str, Described | KafkaError]:
        with store_errors("the users' credentials"):
            try:
                names = await self._node.store.children(f"{CONFIGS}/{USERS}")
            except NoNode:
                names = []
            found = {unquote(name): await self._credentials(name) for name in sorted(names)}
        return {user: told for user, told in sorted(found.items()) if told}

    async def _described(self, user: str) -> Described | KafkaError:
        try:
            with store_errors(f"user {user}"):
                told = await in_session(self._node, self._config, f"user {user}", self._credentials(znode_name(user)))
        except KafkaError as error:
            return error
        if told:
            return told
        return KafkaError(ErrorCode.RESOURCE_NOT_FOUND, f"Attempt to describe a user credential that does not exist: {user}")

    async def _credentials(self, name: str) -> Described:
        kept, _ = await self._read(name)
        found = {number: _ITERATIONS.search(kept[mechanism]) for number, mechanism in MECHANISMS.items() if mechanism in kept}
        return {number: int(match[1]) for number, match in found.items() if match is not None}

    async def alter(self, upsertions: Sequence[Upsertion], deletions: Sequence[Deletion]) -> dict[str, KafkaError | None]:
        """By user, None for one whose changes were made."""
        outcomes: dict[str, KafkaError | None] = dict(wrong_changes(upsertions, deletions))
        new, gone = _by_user(upsertions), _by_user(deletions)
        for user in [*new, *(user for user in gone if user not in new)]:
            if user not in outcomes:
                outcomes[user] = await self._altered(user, new.get(user, ()), gone.get(user, ()))
        return outcomes

    async def _altered(self, user: str, upsertions: Sequence[Upsertion], deletions: Sequence[Deletion]) -> KafkaError | None:
        try:
            await in_session(self._node, self._config, f"user {user}", self._alter(user, upsertions, deletions))
        except KafkaError as error:
            return error
        return None

    async def _alter(self, user: str, upsertions: Sequence[Upsertion], deletions: Sequence[Deletion]) -> None:
        name = znode_name(user)
        with store_errors(f"user {user}"):
            for _ in range(WRITE_ATTEMPTS):
                kept, stat = await self._read(name)
                wanted = changed_credentials(kept, upsertions, deletions)
                try:
                    await self._write(name, wanted, stat)
                    return
                except (BadVersion, NodeExists, NoNode, NotEmpty):
                    continue
        raise KafkaError(ErrorCode.REQUEST_TIMED_OUT, f"user {user} kept changing while credentials were written")

    async def _read(self, name: str) -> tuple[dict[str, str], Stat | None]:
        """UNKNOWN_SERVER_ERROR where the znode holds something else, or none could have that name."""
        if name in (".", ".."):
            raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, f"ZooKeeper can keep nothing of a user {name!r}")
        try:
            data, stat = await self._node.store.get(config_path(USERS, name))
        except NoNode:
            return {}, None
        try:
            return decode_config(data), stat
        except Malformed as error:
            log.error("settings in ZooKeeper are refused", extra={"entity": f"{USERS}/{name}", "error": str(error)})
            raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, f"what ZooKeeper has of user {unquote(name)} cannot be read") from None

    async def _write(self, name: str, wanted: Mapping[str, str], stat: Stat | None) -> None:
        """A user of whom nothing is kept any more goes, unless there are quotas of client ids below."""
        path, data = config_path(USERS, name), encode_config(wanted)
        if not wanted and stat is not None and not await self._node.store.children(path):
            await self._node.store.delete(path, stat.version)
        elif stat is None:
            await self._node.store.create(path, data)
        else:
            await self._node.store.set(path, data, stat.version)
        await self._node.store.create(CONFIG_CHANGE_PREFIX, encode_config_change(f"{USERS}/{name}"), sequence=True)


def _by_user(changes: Sequence[T]) -> dict[str, list[T]]:
    found: dict[str, list[T]] = {}
    for change in changes:
        found.setdefault(change.user, []).append(change)
    return found


def znode_name(user: str) -> str:
    """The user's name in ZooKeeper, as Kafka escapes it (its `Sanitizer`)."""
    return quote(user, safe="").replace("~", "%7E")


def wrong_changes(upsertions: Sequence[Upsertion], deletions: Sequence[Deletion]) -> dict[str, KafkaError]:
    """Users whose changes are refused whatever is kept of them, and why."""
    wrong: dict[str, KafkaError] = {}
    changes: list[Upsertion | Deletion] = [*deletions, *upsertions]
    for change in changes:
        error = _wrong(change)
        if error is not None:
            wrong[change.user] = error
    pairs = Counter((change.user, change.mechanism) for change in changes if change.user not in wrong)
    for (user, _), count in pairs.items():
        if count > 1:
            wrong[user] = KafkaError(ErrorCode.DUPLICATE_RESOURCE, "A user credential cannot be altered twice in the same request")
    return wrong


def _wrong(change: Upsertion | Deletion) -> KafkaError | None:
    if not change.user:
        return KafkaError(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Username must not be empty")
    if change.mechanism not in MECHANISMS:
        return KafkaError(ErrorCode.UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism")
    if isinstance(change, Upsertion) and change.iterations < ITERATIONS_MIN:
        return KafkaError(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too few iterations")
    if isinstance(change, Upsertion) and change.iterations > ITERATIONS_MAX:
        return KafkaError(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too many iterations")
    return None


def changed_credentials(kept: Mapping[str, str], upsertions: Sequence[Upsertion], deletions: Sequence[Deletion]) -> dict[str, str]:
    """All that is set for the user afterwards, quotas too; RESOURCE_NOT_FOUND where something to be deleted is not there."""
    wanted = dict(kept)
    for gone in deletions:
        if wanted.pop(MECHANISMS[gone.mechanism], None) is None:
            raise KafkaError(ErrorCode.RESOURCE_NOT_FOUND, "Attempt to delete a user credential that does not exist")
    for new in upsertions:
        wanted[MECHANISMS[new.mechanism]] = credential(new)
    return wanted


def credential(change: Upsertion) -> str:
    """What is kept of a salted password; the keys are those of RFC 5802. UNKNOWN_SERVER_ERROR, as in Kafka, for an empty one."""
    if not change.salted_password:
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, "the salted password is empty")
    algorithm = _HASHES[change.mechanism]
    stored = hashlib.new(algorithm, hmac.digest(change.salted_password, b"Client Key", algorithm)).digest()
    server = hmac.digest(change.salted_password, b"Server Key", algorithm)
    salt, stored_key, server_key = (base64.b64encode(part).decode() for part in (change.salt, stored, server))
    return f"salt={salt},stored_key={stored_key},server_key={server_key},iterations={change.iterations}"
