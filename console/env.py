"""Settings from the environment: each reader names the variable and what would be right when it is wrong."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from datetime import timedelta
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

LOOPBACK = "127.0.0.1"


def text(env: Mapping[str, str], name: str, default: str) -> str:
    value = env.get(name, "").strip()
    return value or default


def port(env: Mapping[str, str], name: str, default: int) -> int:
    value = env.get(name, "").strip()
    if not value:
        return default
    if not value.isdigit() or not 0 < int(value) < 65536:
        raise ImproperlyConfigured(f"{name}={value!r} is not a port: give a number from 1 to 65535")
    return int(value)


def minutes(env: Mapping[str, str], name: str, default: int) -> timedelta:
    """0 to a week."""
    value = env.get(name, "").strip() or str(default)
    if not value.isascii() or not value.isdigit() or int(value) > 7 * 24 * 60:
        raise ImproperlyConfigured(f"{name}={value!r} is not a number of minutes: give 0 (never) to 10080")
    return timedelta(minutes=int(value))


def count(env: Mapping[str, str], name: str, default: int) -> int:
    """0 to a million."""
    value = env.get(name, "").strip() or str(default)
    if not value.isascii() or not value.isdigit() or int(value) > 1_000_000:
        raise ImproperlyConfigured(f"{name}={value!r} is not a count: give 0 (never) to 1000000")
    return int(value)


def networks(env: Mapping[str, str], name: str) -> tuple[IPv4Network | IPv6Network, ...]:
    """Addresses and networks with commas: `10.0.0.5, 192.168.7.0/24`."""
    try:
        return tuple(ip_network(part.strip()) for part in env.get(name, "").split(",") if part.strip())
    except ValueError as error:
        raise ImproperlyConfigured(f"{name}: {error}: give addresses or networks, separated by commas") from error


def flag(env: Mapping[str, str], name: str) -> bool:
    value = env.get(name, "").strip().lower()
    if value in ("", "0", "false", "no", "off"):
        return False
    if value in ("1", "true", "yes", "on"):
        return True
    raise ImproperlyConfigured(f"{name}={value!r} is not a yes or no: give 1 or 0")


def bootstrap_servers(env: Mapping[str, str]) -> str:
    """`HIGHWATER_BOOTSTRAP_SERVERS`, else three loopback ports in a row from `HIGHWATER_BROKER_PORT`."""
    given = env.get("HIGHWATER_BOOTSTRAP_SERVERS", "").strip()
    if not given:
        first = port(env, "HIGHWATER_BROKER_PORT", 9092)
        return ",".join(f"{LOOPBACK}:{first + step}" for step in range(3))
    for server in given.split(","):
        host, _, number = server.strip().rpartition(":")
        if not host or not number.isdigit():
            raise ImproperlyConfigured(f"HIGHWATER_BOOTSTRAP_SERVERS has {server!r}: give host:port, separated by commas")
    return given


def redis_url(env: Mapping[str, str], data: Path) -> str:
    """`HIGHWATER_REDIS_URL`, else the local system's own Redis with the password it generated into the data folder."""
    given = env.get("HIGHWATER_REDIS_URL", "").strip()
    if given and not given.startswith(("redis://", "rediss://", "unix://")):
        raise ImproperlyConfigured(f"HIGHWATER_REDIS_URL={given!r}: give redis://host:port/number")
    secret = data / "secrets" / "redis"
    password = f":{secret.read_text().strip()}@" if not given and secret.exists() else ""
    return given or f"redis://{password}{LOOPBACK}:{port(env, 'HIGHWATER_REDIS_PORT', 6379)}/0"


def zookeeper(env: Mapping[str, str]) -> str:
    return text(env, "HIGHWATER_ZOOKEEPER", f"{LOOPBACK}:{port(env, 'HIGHWATER_ZOOKEEPER_PORT', 2181)}")


def data_folder(env: Mapping[str, str], base: Path) -> Path:
    return Path(text(env, "HIGHWATER_DATA", str(base / "data"))).resolve()


def secret_key(folder: Path) -> str:
    """The key in `<folder>/secret_key`, made with mode 0600 on first use."""
    path = folder / "secret_key"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return _existing_key(path)
    with os.fdopen(descriptor, "w") as file:
        file.write(secrets.token_urlsafe(50))
    return path.read_text()


def _existing_key(path: Path) -> str:
    if path.stat().st_mode & 0o077:
        raise ImproperlyConfigured(f"{path} can be read by others: chmod 600 it, or delete it to get a new one (all sessions end)")
    key = path.read_text().strip()
    if len(key) < 40:
        raise ImproperlyConfigured(f"{path} holds no key of 40 characters or more: delete it to get a new one (all sessions end)")
    return key
