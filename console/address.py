"""Where a request comes from.

The rule: it is the socket's peer. Only where that peer is one of `HIGHWATER_TRUSTED_PROXIES` is its `X-Forwarded-For` read, from the
right, past further trusted ones: what stands left of the first stranger is the stranger's own claim. (uvicorn is started with
`--no-proxy-headers`: by itself it believes the header of whoever comes from the loopback.)
"""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Any

from django.conf import settings

Network = IPv4Network | IPv6Network
HOPS_LIMIT = 20
HEADER_CHARS_LIMIT = 1_000


def address_of(request: Any) -> str:
    """Of a Django request; empty where the server does not say."""
    return source(request.META.get("REMOTE_ADDR", ""), request.headers.get("X-Forwarded-For", ""), settings.TRUSTED_PROXIES)


def source(peer: str, forwarded: str, trusted: Sequence[Network]) -> str:
    """The nearest address that is no trusted proxy; the last proxy's own where what it forwards is no address."""
    found = _parsed(peer)
    if found is None:
        return ""
    for text in reversed(forwarded[-HEADER_CHARS_LIMIT:].split(",")[-HOPS_LIMIT:]):
        if not any(found in network for network in trusted):
            break
        before = _parsed(text)
        if before is None:
            break
        found = before
    return str(found)


def _parsed(text: str) -> IPv4Address | IPv6Address | None:
    """IPv4 in IPv6's clothes is IPv4."""
    try:
        found = ip_address(text.strip())
    except ValueError:
        return None
    return found.ipv4_mapped or found if isinstance(found, IPv6Address) else found


def neighbourhood(address: str) -> str:
    """What tries are counted by: an IPv4 address; of IPv6 the /64, which is one household's."""
    found = _parsed(address)
    if isinstance(found, IPv6Address):
        return str(IPv6Network((found, 64), strict=False))
    return address
