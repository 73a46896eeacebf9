"""Whose a quota is, and where ZooKeeper has it: Kafka's `ClientQuotaEntity`, `Sanitizer` and config paths.

    user alice                      /config/users/alice
    client id app                   /config/clients/app
    user alice with client id app   /config/users/alice/clients/app
    address 192.0.2.1               /config/ips/192.0.2.1
    all that have none of their own: <default> in place of the name, as /config/users/<default>/clients/app

Names are percent-encoded, so that any of them can be told from `<default>` and is one part of a path.
"""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import quote, unquote_plus

USER, CLIENT_ID, IP = "user", "client-id", "ip"
USERS, CLIENTS, IPS = "users", "clients", "ips"
QUOTA_KINDS = (USERS, CLIENTS, IPS)
"""The folders below `/config` that hold quotas."""
DEFAULT = "<default>"

PRODUCER_BYTE_RATE = "producer_byte_rate"
CONSUMER_BYTE_RATE = "consumer_byte_rate"
REQUEST_PERCENTAGE = "request_percentage"
CONTROLLER_MUTATION_RATE = "controller_mutation_rate"
CONNECTION_CREATION_RATE = "connection_creation_rate"
KEYS_OF_CLIENTS = (PRODUCER_BYTE_RATE, CONSUMER_BYTE_RATE, REQUEST_PERCENTAGE, CONTROLLER_MUTATION_RATE)
KEYS_OF_ADDRESSES = (CONNECTION_CREATION_RATE,)

Entity = Mapping[str, str | None]
"""Names by type; None: the default."""


def sanitized(name: str | None) -> str:
    """As Java's URLEncoder writes it, with %20 and %2A for what that leaves."""
    return DEFAULT if name is None else quote(name, safe="", errors="replace").replace("~", "%7E")


def desanitized(name: str) -> str | None:
    """As Java's URLDecoder reads it: anybody may have written the znode."""
    return None if name == DEFAULT else unquote_plus(name)


def path_of(entity: Entity) -> str:
    """Below `/config`, of one of the four kinds of entities."""
    if IP in entity:
        return f"{IPS}/{sanitized(entity[IP])}"
    if USER not in entity:
        return f"{CLIENTS}/{sanitized(entity[CLIENT_ID])}"
    user = f"{USERS}/{sanitized(entity[USER])}"
    return f"{user}/{CLIENTS}/{sanitized(entity[CLIENT_ID])}" if CLIENT_ID in entity else user


def entity_at(path: str) -> dict[str, str | None] | None:
    """The other way round; None for what is no quota's path."""
    match path.split("/"):
        case ["users", user]:
            return {USER: desanitized(user)}
        case ["users", user, "clients", client]:
            return {USER: desanitized(user), CLIENT_ID: desanitized(client)}
        case ["clients", client]:
            return {CLIENT_ID: desanitized(client)}
        case ["ips", address]:
            return {IP: desanitized(address)}
    return None
