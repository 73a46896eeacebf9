"""How a cluster is reached: its bootstrap servers, and what its listeners ask of a client."""

from __future__ import annotations

import ssl
import tempfile
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, cast

from console.gateway.sealing import unseal

SecurityProtocol = Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"]
SaslMechanism = Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]


@dataclass(frozen=True, slots=True)
class Connection:
    """All that a client needs, by value: of two that are equal one client serves both. Secrets are in no `repr`.

    `bootstrap_servers` is `host:port` with commas; certificates and key are PEM texts, empty where there are none.
    """

    bootstrap_servers: str
    security_protocol: SecurityProtocol = "PLAINTEXT"
    sasl_mechanism: SaslMechanism | None = None
    sasl_username: str = ""
    sasl_password: str = field(default="", repr=False)
    ca_pem: str = field(default="", repr=False)
    certificate_pem: str = field(default="", repr=False)
    key_pem: str = field(default="", repr=False)
    check_hostname: bool = True

    @property
    def servers(self) -> list[str]:
        return [server.strip() for server in self.bootstrap_servers.split(",") if server.strip()]

    @property
    def is_encrypted(self) -> bool:
        return self.security_protocol in ("SSL", "SASL_SSL")

    @property
    def is_authenticated(self) -> bool:
        return self.security_protocol in ("SASL_PLAINTEXT", "SASL_SSL")


class Registration(Protocol):
    """What of a registered cluster says how it is reached; `secrets` are sealed."""

    @property
    def bootstrap_servers(self) -> str: ...
    @property
    def security_protocol(self) -> str: ...
    @property
    def sasl_mechanism(self) -> str: ...
    @property
    def sasl_username(self) -> str: ...
    @property
    def ca_pem(self) -> str: ...
    @property
    def certificate_pem(self) -> str: ...
    @property
    def check_hostname(self) -> bool: ...
    @property
    def secrets(self) -> str: ...


def connection_of(cluster: Registration) -> Connection:
    """`SecretsUnreadable` where its password or key cannot be opened."""
    return Connection(
        cluster.bootstrap_servers,
        cast(SecurityProtocol, cluster.security_protocol),
        cast(SaslMechanism, cluster.sasl_mechanism) if cluster.sasl_mechanism else None,
        cluster.sasl_username,
        ca_pem=cluster.ca_pem,
        certificate_pem=cluster.certificate_pem,
        check_hostname=cluster.check_hostname,
        **unseal(cluster.secrets),
    )


def client_options(connection: Connection) -> dict[str, Any]:
    """What kafka-python's clients take; `ssl.SSLError` where a certificate or a key cannot be read."""
    options: dict[str, Any] = {"bootstrap_servers": connection.servers, "security_protocol": connection.security_protocol}
    if connection.is_encrypted:
        options |= {"ssl_context": tls_context(connection), "ssl_check_hostname": connection.check_hostname}
    if connection.is_authenticated:
        options |= {
            "sasl_mechanism": connection.sasl_mechanism,
            "sasl_plain_username": connection.sasl_username,
            "sasl_plain_password": connection.sasl_password,
        }
    return options


def tls_context(connection: Connection) -> ssl.SSLContext:
    """Trusts the connection's own authorities, or the machine's where it names none. A key must not be encrypted: nobody could be asked
    for its passphrase."""
    context = ssl.create_default_context(cadata=connection.ca_pem or None)
    context.check_hostname = connection.check_hostname
    if connection.certificate_pem:
        # The library reads it from a file only: one for us alone, gone before anything is sent.
        with tempfile.NamedTemporaryFile("w", suffix=".pem") as file:
            file.write(f"{connection.certificate_pem.strip()}\n{connection.key_pem.strip()}\n")
            file.flush()
            context.load_cert_chain(file.name, password=_no_passphrase)
    return context


def _no_passphrase() -> str:
    raise ssl.SSLError("the key is encrypted: give it without a passphrase")
