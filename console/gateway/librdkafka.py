"""A connection in librdkafka's terms."""

from __future__ import annotations

from typing import Any

from console.gateway.connection import Connection

RECONNECT_MAX_MS = 1_000
SOCKET_TIMEOUT_MS = 10_000


def options(connection: Connection) -> dict[str, Any]:
    """What every client of librdkafka takes to reach the cluster."""
    found: dict[str, Any] = {
        "bootstrap.servers": connection.bootstrap_servers,
        "security.protocol": connection.security_protocol,
        "client.id": "highwater-console",
        "socket.timeout.ms": SOCKET_TIMEOUT_MS,
        "reconnect.backoff.max.ms": RECONNECT_MAX_MS,
        "log_level": 0,
    }
    if connection.is_encrypted:
        found["enable.ssl.certificate.verification"] = True
        found["ssl.endpoint.identification.algorithm"] = "https" if connection.check_hostname else "none"
        pems = {"ssl.ca.pem": connection.ca_pem, "ssl.certificate.pem": connection.certificate_pem, "ssl.key.pem": connection.key_pem}
        found |= {name: pem for name, pem in pems.items() if pem}
    if connection.is_authenticated:
        found |= {
            "sasl.mechanism": connection.sasl_mechanism,
            "sasl.username": connection.sasl_username,
            "sasl.password": connection.sasl_password,
        }
    return found
