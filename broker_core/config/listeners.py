"""Where a broker listens and what it tells of that: `NAME://host:port` items, names mapped to protocols (KIP-103).

A broker may have several listeners, each with an address of its own to be told: one for the other brokers inside a network of
containers, one for the host's clients. A client is told the addresses of the listener that it came by.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Sequence

from broker_core.errors import ConfigError
from broker_core.model import Endpoint

ANYWHERE = ("0.0.0.0", "::")
"""Addresses that can be listened on and not be connected to."""


def parse_listeners(name: str, items: Iterable[str], protocols: Iterable[str]) -> tuple[Endpoint, ...]:
    """`NAME://host:port` items as endpoints; `ConfigError` names what is wrong. `protocols` has `NAME:PROTOCOL` items."""
    known = _protocols(protocols)
    return tuple(_endpoint(name, item, known) for item in items)


def check_listeners(listeners: Sequence[Endpoint], advertised: Sequence[Endpoint], inter_broker: str | None) -> None:
    """`ConfigError` where they contradict each other."""
    names = [endpoint.listener for endpoint in listeners]
    ports = [endpoint.port for endpoint in listeners if endpoint.port]
    told = [endpoint.listener for endpoint in advertised]
    if not names:
        raise ConfigError("listeners must name at least one listener")
    if len(set(names)) < len(names) or len(set(ports)) < len(ports):
        raise ConfigError("listeners: each listener must have a name and a port of its own")
    if len(set(told)) < len(told) or not set(told) <= set(names):
        raise ConfigError("advertised.listeners: each must have the name of a listener, once")
    for endpoint in advertised:
        if endpoint.host in ANYWHERE:
            raise ConfigError(f"advertised.listeners: nobody can connect to {endpoint.host}; name an address that {endpoint.listener} has")
    if inter_broker is not None and inter_broker.upper() not in told:
        raise ConfigError(f"inter.broker.listener.name {inter_broker!r} is no advertised listener")


def check_control_plane(name: str, advertised: Sequence[Endpoint], inter_broker: str | None) -> None:
    """`ConfigError` unless the controller's listener is one, and another than the brokers'."""
    if name.upper() not in [endpoint.listener for endpoint in advertised]:
        raise ConfigError(f"control.plane.listener.name {name!r} is no advertised listener")
    if name.upper() == (inter_broker or "PLAINTEXT").upper():
        raise ConfigError(f"control.plane.listener.name {name!r} must be another listener than that of inter.broker.listener.name")


def check_overrides(overrides: Iterable[str]) -> None:
    """`ConfigError` unless each of `max.connections.per.ip.overrides` is `address:count`."""
    for override in overrides:
        address, _, count = override.rpartition(":")
        try:
            ipaddress.ip_address(address)
        except ValueError:
            raise ConfigError(
                f"max.connections.per.ip.overrides: {override[:100]!r} is not address:count; names are not looked up"
            ) from None
        if not re.fullmatch(r"[0-9]{1,10}", count):
            raise ConfigError(f"max.connections.per.ip.overrides: {override[:100]!r} is not address:count")


def _protocols(items: Iterable[str]) -> dict[str, str]:
    found = {}
    for item in items:
        listener, colon, protocol = item.partition(":")
        if not listener or not colon or not protocol:
            raise ConfigError(f"listener.security.protocol.map: {item!r} is not NAME:PROTOCOL")
        found[listener.strip().upper()] = protocol.strip().upper()
    return found


def _endpoint(name: str, item: str, protocols: dict[str, str]) -> Endpoint:
    listener, separator, address = item.partition("://")
    host, colon, port = address.rpartition(":")
    if not separator or not colon or not port.isdigit() or int(port) > 65535 or not listener or not host:
        raise ConfigError(f"{name}: {item!r} is not NAME://host:port")
    protocol = protocols.get(listener.upper())
    if protocol is None:
        raise ConfigError(f"{name}: listener {listener!r} has no protocol in listener.security.protocol.map")
    if protocol != "PLAINTEXT":
        raise ConfigError(f"{name}: listener {listener!r} is not supported with {protocol}; PLAINTEXT is")
    return Endpoint(listener.upper(), host.strip("[]"), int(port), protocol)
