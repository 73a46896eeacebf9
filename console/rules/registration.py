"""What may be entered for a cluster: each wrong value is refused at its field, in words. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from console.errors import Invalid

PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
ENCRYPTED, AUTHENTICATED = ("SSL", "SASL_SSL"), ("SASL_PLAINTEXT", "SASL_SSL")
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
OF_SIGN_IN = ("sasl_mechanism", "sasl_username", "sasl_password")
OF_TLS = ("ca_pem", "certificate_pem", "key_pem")
SECRET = ("sasl_password", "key_pem")
ANSWERING = ("bootstrap_servers", "security_protocol", "sasl_mechanism", "ca_pem", "check_hostname")
"""Who is given the password: with one of these changed it must be entered again, or it could be sent to somebody else."""
TAKEN = ("all", "new", "test")
"""Words that addresses need."""
ID = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?")
HOST = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9_.-]{0,251}[A-Za-z0-9_])?\.?|\[[0-9A-Fa-f:.]{2,45}\]")
CHROOT = re.compile(r"(?:/[A-Za-z0-9_.-]{1,100}){1,5}")
SERVERS_LIMIT, NAME_LIMIT, USER_LIMIT, PASSWORD_LIMIT, PEM_LIMIT, TEXT_LIMIT = 20, 60, 255, 1_000, 50_000, 1_000
Values = dict[str, Any]


def check_id(text: str) -> str:
    if not ID.fullmatch(text):
        raise Invalid("id", "An id has 1 to 40 of a-z, 0-9 and -, and begins and ends with a letter or digit: it is part of addresses.")
    if text in TAKEN:
        raise Invalid("id", f"{text} cannot be an id: addresses need the word.")
    return text


def check_name(text: str) -> str:
    name = text.strip()
    if not name or len(name) > NAME_LIMIT or not name.isprintable():
        raise Invalid("name", f"Give a name of 1 to {NAME_LIMIT} characters, without line ends.")
    return name


def servers_of(field: str, text: str) -> list[str]:
    """`host:port` apart by commas, spaces or line ends; each once."""
    if len(text) > TEXT_LIMIT:
        raise Invalid(field, f"This is too long: {TEXT_LIMIT} characters are the most.")
    found = list(dict.fromkeys(text.replace(",", " ").split()))
    if len(found) > SERVERS_LIMIT:
        raise Invalid(field, f"{SERVERS_LIMIT} servers are enough: each tells of all brokers.")
    for server in found:
        _check_server(field, server)
    return found


def _check_server(field: str, server: str) -> None:
    host, _, port = server.rpartition(":")
    if not HOST.fullmatch(host):
        raise Invalid(field, f"{server[:80]!r} is not host:port, as kafka1.example.org:9092 or [::1]:9092.")
    if not (port.isascii() and port.isdigit() and len(port) <= 5 and 0 < int(port) < 65_536):
        raise Invalid(field, f"{server[:80]!r}: a port is a number from 1 to 65535.")


def _bootstrap(text: str) -> str:
    found = servers_of("bootstrap_servers", text)
    if not found:
        raise Invalid("bootstrap_servers", "Name one server at least, as kafka1.example.org:9092.")
    return ",".join(found)


def _zookeeper(text: str) -> str:
    """With a path at its end where Kafka's znodes have a chroot."""
    hosts, slash, rest = text.strip().partition("/")
    if slash and not CHROOT.fullmatch(slash + rest):
        raise Invalid("zookeeper", f"{(slash + rest)[:80]!r} is no path of znodes, as /kafka.")
    found = servers_of("zookeeper", hosts)
    if slash and not found:
        raise Invalid("zookeeper", "Name a server before the path.")
    return ",".join(found) + slash + rest


def _one_of(field: str, choices: Sequence[str]) -> Callable[[str], str]:
    def check(text: str) -> str:
        if text not in choices:
            raise Invalid(field, f"Give one of {', '.join(choices)}.")
        return text

    return check


def _at_most(field: str, limit: int) -> Callable[[str], str]:
    def check(text: str) -> str:
        if len(text) > limit or "\0" in text:
            raise Invalid(field, f"Give {limit} characters at most, none of them a NUL.")
        return text

    return check


def _pem(field: str) -> Callable[[str], str]:
    check_length = _at_most(field, PEM_LIMIT)

    def check(text: str) -> str:
        text = check_length(text.strip())
        if text and "-----BEGIN " not in text:
            raise Invalid(field, "Paste PEM text: it begins with -----BEGIN.")
        return text

    return check


_CHECKS: dict[str, Callable[[Any], Any]] = {
    "name": check_name,
    "bootstrap_servers": _bootstrap,
    "zookeeper": _zookeeper,
    "security_protocol": _one_of("security_protocol", PROTOCOLS),
    "sasl_username": _at_most("sasl_username", USER_LIMIT),
    "sasl_password": _at_most("sasl_password", PASSWORD_LIMIT),
    "ca_pem": _pem("ca_pem"),
    "certificate_pem": _pem("certificate_pem"),
    "key_pem": _pem("key_pem"),
}


def checked(now: Mapping[str, Any], changes: Mapping[str, Any], colours: Sequence[str]) -> Values:
    """All values, as they are to be: `now` with the changes. What a protocol has no use for goes, or is refused where it was given."""
    found = {**now, **{name: _CHECKS[name](value) if name in _CHECKS else value for name, value in changes.items()}}
    _one_of("colour", colours)(found["colour"])
    _refuse_unused(now, changes, found["security_protocol"])
    _drop_unused(found)
    _complete(found)
    _refuse_kept_password(now, changes, found)
    return found


def _unused(protocol: str) -> tuple[str, ...]:
    return (() if protocol in AUTHENTICATED else OF_SIGN_IN) + (() if protocol in ENCRYPTED else OF_TLS)


def _refuse_unused(now: Mapping[str, Any], changes: Mapping[str, Any], protocol: str) -> None:
    for name in _unused(protocol):
        if changes.get(name) and changes[name] != now[name]:
            wanted = "SASL_PLAINTEXT or SASL_SSL" if name in OF_SIGN_IN else "SSL or SASL_SSL"
            raise Invalid(name, f"{protocol} has no use for this: choose {wanted}, or leave it empty.")


def _drop_unused(found: Values) -> None:
    found.update(dict.fromkeys(_unused(found["security_protocol"]), ""))
    if found["security_protocol"] not in ENCRYPTED:
        found["check_hostname"] = True


def _complete(found: Values) -> None:
    if found["security_protocol"] in AUTHENTICATED:
        _one_of("sasl_mechanism", MECHANISMS)(found["sasl_mechanism"])
        for name, what in (("sasl_username", "user"), ("sasl_password", "password")):
            if not found[name]:
                raise Invalid(name, f"{found['security_protocol']} wants a {what}.")
    if found["certificate_pem"] and not found["key_pem"]:
        raise Invalid("key_pem", "A certificate of the client goes with its key: paste that too.")
    if found["key_pem"] and not found["certificate_pem"]:
        raise Invalid("certificate_pem", "A key goes with its certificate: paste that too.")


def _refuse_kept_password(now: Mapping[str, Any], changes: Mapping[str, Any], found: Mapping[str, Any]) -> None:
    if not found["sasl_password"] or changes.get("sasl_password") or not now["sasl_password"]:
        return
    if changed := [name for name in ANSWERING if found[name] != now[name]]:
        said = f"Enter the password again: with another {changed[0].replace('_', ' ')} it would be given to somebody else."
        raise Invalid("sasl_password", said)
