"""Settings from the environment: each reader names the variable and what would be right when it is wrong."""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Mapping
from datetime import timedelta
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured

LOOPBACK = "127.0.0.1"
KEY_CHARACTERS_MIN = 40
METRICS_TOKEN_CHARACTERS_MIN = 20
FOLDER_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
HOST_NAME = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?")


def text(env: Mapping[str, str], name: str, default: str) -> str:
    value = env.get(name, "").strip()
    return value or default


def secret(env: Mapping[str, str], name: str, default: str = "") -> str:
    """The variable's value, or what the file holds that `<name>_FILE` names: so a secret is in no process's environment."""
    value, path = env.get(name, "").strip(), env.get(f"{name}_FILE", "").strip()
    if value and path:
        raise ImproperlyConfigured(f"{name} and {name}_FILE are both set: give one of them")
    if not path:
        return value or default
    try:
        value = Path(path).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ImproperlyConfigured(f"{name}_FILE={path!r} cannot be read: {error}") from error
    if not value:
        raise ImproperlyConfigured(f"{name}_FILE={path!r} is empty")
    return value


def origins(env: Mapping[str, str], name: str) -> list[str]:
    """What browsers have before the path, with commas: `https://kafka.example.org, http://localhost:8000`."""
    found = [part.strip().rstrip("/").lower() for part in env.get(name, "").split(",") if part.strip()]
    for origin in found:
        parts = urlsplit(origin)
        if parts.scheme not in ("http", "https") or not parts.hostname or origin != f"{parts.scheme}://{parts.netloc}" or "@" in origin:
            raise ImproperlyConfigured(f"{name} has {origin!r}: give http://host:port or https://host, separated by commas")
    return found


def hosts(found: list[str]) -> list[str]:
    """The host names of origins, as Django compares them."""
    names = [urlsplit(origin).hostname or "" for origin in found]
    return [f"[{name}]" if ":" in name else name for name in names]


def names(env: Mapping[str, str], name: str) -> list[str]:
    """Names of hosts with commas, in small letters: `console, metrics.example.org`."""
    found = [part.strip().lower() for part in env.get(name, "").split(",") if part.strip()]
    for host in found:
        if not HOST_NAME.fullmatch(host):
            raise ImproperlyConfigured(f"{name} has {host!r}: give names of hosts, without ports, separated by commas")
    return found


def folders(env: Mapping[str, str], name: str) -> dict[str, Path]:
    """Folders by name, with commas: `billing=/data/checkpoints/billing, clicks=/data/checkpoints/clicks`."""
    found: dict[str, Path] = {}
    for part in filter(None, (part.strip() for part in env.get(name, "").split(","))):
        called, equals, path = part.partition("=")
        if not equals or not FOLDER_NAME.fullmatch(called) or not Path(path).is_absolute():
            raise ImproperlyConfigured(f"{name} has {part!r}: give name=/absolute/path, separated by commas")
        if called in found:
            raise ImproperlyConfigured(f"{name} names {called!r} twice")
        found[called] = Path(path)
    return found


def metrics_token(env: Mapping[str, str]) -> str:
    """What opens `/metrics` and nothing else, and never ends: for a Prometheus that nobody signs in for. Empty: nothing does."""
    given = secret(env, "HIGHWATER_METRICS_TOKEN")
    if given and (len(given) < METRICS_TOKEN_CHARACTERS_MIN or not given.isascii()):
        raise ImproperlyConfigured(f"HIGHWATER_METRICS_TOKEN: give {METRICS_TOKEN_CHARACTERS_MIN} random ASCII characters or more")
    return given


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


def one_of(env: Mapping[str, str], name: str, choices: tuple[str, ...]) -> str:
    """One of these words; the first where nothing is said."""
    value = env.get(name, "").strip() or choices[0]
    if value not in choices:
        raise ImproperlyConfigured(f"{name}={value!r}: give one of {', '.join(choices)}")
    return value


def hour(env: Mapping[str, str], name: str, default: int) -> int | None:
    """0 to 23, or None for `never`."""
    value = env.get(name, "").strip() or str(default)
    if value == "never":
        return None
    if not value.isascii() or not value.isdigit() or int(value) > 23:
        raise ImproperlyConfigured(f"{name}={value!r} is not an hour: give 0 to 23 (UTC), or never")
    return int(value)


def seconds(env: Mapping[str, str], name: str, default: int) -> int:
    """1 to 300."""
    value = env.get(name, "").strip() or str(default)
    if not value.isascii() or not value.isdigit() or not 1 <= int(value) <= 300:
        raise ImproperlyConfigured(f"{name}={value!r} is not a number of seconds: give 1 to 300")
    return int(value)


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


def flag(env: Mapping[str, str], name: str, *, default: bool = False) -> bool:
    value = env.get(name, "").strip().lower()
    if not value:
        return default
    if value in ("0", "false", "no", "off"):
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
    given = secret(env, "HIGHWATER_REDIS_URL")
    if given and not given.startswith(("redis://", "rediss://", "unix://")):
        raise ImproperlyConfigured(f"HIGHWATER_REDIS_URL begins with {given.partition(':')[0][:20]!r}: give redis://host:port/number")
    own = data / "secrets" / "redis"
    password = f":{own.read_text().strip()}@" if not given and own.exists() else ""
    return given or f"redis://{password}{LOOPBACK}:{port(env, 'HIGHWATER_REDIS_PORT', 6379)}/0"


def zookeeper(env: Mapping[str, str]) -> str:
    return text(env, "HIGHWATER_ZOOKEEPER", f"{LOOPBACK}:{port(env, 'HIGHWATER_ZOOKEEPER_PORT', 2181)}")


def data_folder(env: Mapping[str, str], base: Path) -> Path:
    return Path(text(env, "HIGHWATER_DATA", str(base / "data"))).resolve()


def secret_key(env: Mapping[str, str], folder: Path) -> str:
    """`HIGHWATER_SECRET_KEY`, else the key in `<folder>/secret_key`, made with mode 0600 on first use."""
    given = secret(env, "HIGHWATER_SECRET_KEY")
    if given:
        if len(given) < KEY_CHARACTERS_MIN:
            raise ImproperlyConfigured(f"HIGHWATER_SECRET_KEY is too short: give {KEY_CHARACTERS_MIN} random characters or more")
        return given
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
    if len(key) < KEY_CHARACTERS_MIN:
        raise ImproperlyConfigured(
            f"{path} holds no key of {KEY_CHARACTERS_MIN} characters or more: delete it to get a new one (all sessions end)"
        )
    return key
