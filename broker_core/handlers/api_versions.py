"""ApiVersions v0–4: what this broker serves, computed from the registry.

A version we do not know is answered as version 0 with UNSUPPORTED_VERSION and the range of ApiVersions itself, so that the
client can ask again (KIP-511).
"""

from __future__ import annotations

import re
from typing import Any

from broker_core.errors import ErrorCode
from broker_core.handlers.registry import Answer, Registry, Request, handler, nothing
from broker_core.protocol.api import ApiKey
from broker_core.protocol.codec import field

UNKNOWN_EPOCH = -1
NO_FEATURES_EPOCH = 0
"""Of the `/feature` znode, which no one has written to since the cluster was made."""

_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")


@handler(ApiKey.API_VERSIONS, versions=range(0, 5), needs=nothing)
async def handle(request: Request) -> Answer:
    """The table, after noting the client's software (v3+)."""
    if request.version >= 3 and not _note_software(request):
        return payload(Registry(()), ErrorCode.INVALID_REQUEST)
    return payload(request.broker.registry, ErrorCode.NONE)


def payload(registry: Registry, error_code: ErrorCode) -> dict[str, Any]:
    """The response for all versions."""
    ranges = registry.advertised()
    if error_code is ErrorCode.UNSUPPORTED_VERSION:
        ranges = [row for row in ranges if row.key == ApiKey.API_VERSIONS]
    rows = [{"api_key": row.key, "min_version": row.min_version, "max_version": row.max_version} for row in ranges]
    epoch = UNKNOWN_EPOCH if error_code else NO_FEATURES_EPOCH
    return {"error_code": int(error_code), "api_keys": rows, "finalized_features_epoch": epoch}


def _note_software(request: Request) -> bool:
    name: str = field(request.body, "client_software_name", "")
    version: str = field(request.body, "client_software_version", "")
    if not (_SOFTWARE.fullmatch(name) and _SOFTWARE.fullmatch(version)):
        return False
    request.connection.software_name = name[:100]
    request.connection.software_version = version[:100]
    return True
