"""ApiVersions v0–4: what this broker serves, computed from the registry.

A version we do not know is answered as version 0 with UNSUPPORTED_VERSION and the whole table, so that the client can
choose again (KIP-511).
"""

from __future__ import annotations

import re
from typing import Any

from broker_core.errors import ErrorCode
from broker_core.handlers.registry import Answer, Registry, Request, handler
from broker_core.protocol.api import ApiKey
from broker_core.protocol.codec import field

_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")


@handler(ApiKey.API_VERSIONS, versions=range(0, 5))
async def handle(request: Request) -> Answer:
    """The table, after noting the client's software (v3+)."""
    if request.version >= 3 and not _note_software(request):
        return payload(Registry(()), ErrorCode.INVALID_REQUEST)
    return payload(request.broker.registry, ErrorCode.NONE)


def payload(registry: Registry, error_code: ErrorCode) -> dict[str, Any]:
    """The response for all versions."""
    rows = [{"api_key": row.key, "min_version": row.min_version, "max_version": row.max_version} for row in registry.advertised()]
    return {"error_code": int(error_code), "api_keys": rows, "throttle_time": 0}


def _note_software(request: Request) -> bool:
    name: str = field(request.body, "client_software_name", "")
    version: str = field(request.body, "client_software_version", "")
    if not (_SOFTWARE.fullmatch(name) and _SOFTWARE.fullmatch(version)):
        return False
    request.connection.software_name = name[:100]
    request.connection.software_version = version[:100]
    return True
